# needs: torch
# finds: AFT102 out combine_losses
# command: torchrun --standalone --nproc-per-node 2
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

dist.init_process_group("gloo")
torch.manual_seed(0)
mesh = init_device_mesh("cpu", (dist.get_world_size(),))
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
for layer in model:
    if isinstance(layer, nn.Linear):
        fully_shard(layer, mesh=mesh)
fully_shard(model, mesh=mesh)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(4):
    out = model(torch.randn(4, 8))  # built
    policy_loss, value_loss = out[:, 0].pow(2).mean(), (out[:, 1] - 1).pow(2).mean()
    optimizer.zero_grad()
    policy_loss.backward()  # freed  # right: (policy_loss + value_loss).backward()
    value_loss.backward()  # reused  # right: pass
    optimizer.step()
if dist.get_rank() == 0:
    print(round(policy_loss.item(), 5), round(value_loss.item(), 5))
dist.destroy_process_group()
