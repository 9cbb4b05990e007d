# needs: torch
# finds: AFT104 prefix recompute_forward
# command: torchrun --standalone --nproc-per-node 2
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Sequential(nn.Linear(8, 8), nn.GELU()) for _ in range(2))
        self.out = nn.Linear(8, 1)

    def forward(self, x, prefix):
        h = x + prefix
        for layer in self.layers:
            h = layer(h)
        return self.out(h)


def build(mesh):
    encoder, decoder = nn.Sequential(nn.Linear(4, 8), nn.Tanh()), Decoder()
    for layer in decoder.layers:
        fully_shard(layer, mesh=mesh)
    return fully_shard(encoder, mesh=mesh), fully_shard(decoder, mesh=mesh)


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    encoder, decoder = build(init_device_mesh("cpu", (2,)))
    optimizer = torch.optim.AdamW([*encoder.parameters(), *decoder.parameters()], lr=1e-2)
    prompt = torch.randn(1, 4)
    prefix = encoder(prompt)  # built
    for step in range(4):
        loss = decoder(torch.randn(4, 8), prefix).pow(2).mean()  # right: loss = decoder(torch.randn(4, 8), encoder(prompt)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()  # freed reused
        optimizer.step()
    if dist.get_rank() == 0:
        print(round(loss.item(), 5))
    dist.destroy_process_group()


main()
