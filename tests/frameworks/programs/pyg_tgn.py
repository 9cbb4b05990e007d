# needs: torch_geometric
# light
# finds: AFT201 memory.memory detach_state
import torch
from torch import nn
from torch_geometric.nn import TGNMemory
from torch_geometric.nn.models.tgn import IdentityMessage, LastAggregator

torch.manual_seed(0)
memory = TGNMemory(10, 4, 8, 8, message_module=IdentityMessage(4, 8, 8), aggregator_module=LastAggregator())
link = nn.Linear(16, 1)
optimizer = torch.optim.Adam([*memory.parameters(), *link.parameters()], lr=1e-3)
memory.train()
for step in range(6):
    src, dst = torch.randint(0, 10, (5,)), torch.randint(0, 10, (5,))
    t, msg = torch.full((5,), step), torch.randn(5, 4)
    optimizer.zero_grad()
    z, last_update = memory(torch.arange(10))
    out = link(torch.cat([z[src], z[dst]], dim=1))
    loss = nn.functional.binary_cross_entropy_with_logits(out, torch.ones_like(out))
    memory.update_state(src, dst, t, msg)
    loss.backward()  # reused
    optimizer.step()  # right: optimizer.step(); memory.detach()
print(round(loss.item(), 5))
