# needs: accelerate
# finds: AFT103 state detach_state
# command: accelerate launch --cpu
import torch
from accelerate import Accelerator
from torch import nn


class Cell(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.out = nn.LSTMCell(4, 8), nn.Linear(8, 1)

    def forward(self, x, state):
        state = self.lstm(x, state)
        return self.out(state[0]), state


def main():
    accelerator = Accelerator(cpu=True)
    torch.manual_seed(0)
    model = Cell()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = torch.utils.data.DataLoader(torch.randn(32, 4), batch_size=4)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    state = None
    for batch in loader:
        out, state = model(batch, state)  # built  # right: out, state = model(batch, state and tuple(s.detach() for s in state))
        loss = out.pow(2).mean()
        optimizer.zero_grad()
        accelerator.backward(loss)  # freed reused
        optimizer.step()
    accelerator.print(round(loss.item(), 5))
    accelerator.end_training()


main()
