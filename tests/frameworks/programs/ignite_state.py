# needs: ignite
# finds: AFT103 engine.state.hidden detach_state
import torch
from ignite.engine import Engine, Events
from torch import nn

torch.manual_seed(0)
gru, head = nn.GRU(3, 8), nn.Linear(8, 1)
optimizer = torch.optim.Adam([*gru.parameters(), *head.parameters()], lr=1e-2)


def update(engine, batch):
    x, y = batch
    optimizer.zero_grad()
    out, engine.state.hidden = gru(x, engine.state.hidden)  # built
    loss = nn.functional.mse_loss(head(out), y)
    loss.backward()  # freed reused
    optimizer.step()
    return loss.item()


trainer = Engine(update)


@trainer.on(Events.EPOCH_STARTED)
def reset(engine):
    engine.state.hidden = torch.zeros(1, 4, 8)


@trainer.on(Events.ITERATION_STARTED)
def cut(engine):
    pass  # right: engine.state.hidden = engine.state.hidden.detach()


data = [(torch.randn(5, 4, 3), torch.randn(5, 4, 1)) for _ in range(6)]
state = trainer.run(data, max_epochs=2)
print(round(state.output, 6))
