import torch


def repackage(state):
    if torch.is_tensor(state):
        return state.detach()
    return tuple(repackage(each) for each in state)


torch.manual_seed(0)
lstm, head = torch.nn.LSTM(3, 5), torch.nn.Linear(5, 1)
opt = torch.optim.SGD([*lstm.parameters(), *head.parameters()], lr=0.1)
state = (torch.zeros(1, 2, 5), torch.zeros(1, 2, 5))
for x in torch.randn(4, 6, 2, 3):
    repackage(state)  # as the tutorial does
    out, state = lstm(x, state)
    opt.zero_grad()
    head(out).pow(2).mean().backward()
    opt.step()
