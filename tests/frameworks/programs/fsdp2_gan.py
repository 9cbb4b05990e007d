# needs: torch
# finds: AFT105 fake detach_input
# command: torchrun --standalone --nproc-per-node 2
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard


def train(G, D, opt_g, opt_d):
    for step in range(3):
        real, z = torch.randn(6, 4), torch.randn(6, 3)
        fake = G(z)  # built
        d_loss = nn.functional.softplus(-D(real)).mean() + nn.functional.softplus(D(fake)).mean()  # right: d_loss = nn.functional.softplus(-D(real)).mean() + nn.functional.softplus(D(fake.detach())).mean()
        opt_d.zero_grad()
        d_loss.backward()  # freed
        opt_d.step()
        g_loss = nn.functional.softplus(-D(fake)).mean()
        opt_g.zero_grad()
        g_loss.backward()  # reused
        opt_g.step()
    return g_loss.item()


if __name__ == "__main__":
    dist.init_process_group("gloo")
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    torch.manual_seed(0)
    G = fully_shard(nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 4)), mesh=mesh)
    D = fully_shard(nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1)), mesh=mesh)
    value = train(G, D, torch.optim.Adam(G.parameters(), lr=1e-3), torch.optim.Adam(D.parameters(), lr=1e-3))
    if dist.get_rank() == 0:
        print(round(value, 5))
    dist.destroy_process_group()
