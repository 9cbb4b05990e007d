import torch

cell = torch.nn.RNNCell(4, 8)
opt = torch.optim.SGD(cell.parameters(), lr=0.1)
hidden = torch.zeros(1, 8)

for x in torch.randn(6, 1, 4):
    hidden = cell(x, hidden)  # the state of the step before
    loss = hidden.pow(2).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
