import torch
def repackage(h):
    if isinstance(h, torch.Tensor):
        return h.detach()
    return tuple(repackage(v) for v in h)
rnn = torch.nn.LSTM(4, 8)
opt = torch.optim.SGD(rnn.parameters(), 0.1)
hidden = (torch.zeros(1, 1, 8), torch.zeros(1, 1, 8))
for x in torch.randn(4, 5, 1, 4):
    hidden = repackage(hidden)
    out, hidden = rnn(x, hidden)
    opt.zero_grad()
    out.sum().backward()
    opt.step()
print(round(out.sum().item(), 4))
