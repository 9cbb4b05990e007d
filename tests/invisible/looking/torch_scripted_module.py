import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(3, 2)

    def forward(self, x):
        for i in range(2):
            if i == 1:
                x = x + 1
            else:
                x = x * 2
        return self.helper(self.fc(x))

    @torch.jit.export
    def helper(self, y):
        return y.relu()


torch.manual_seed(0)
net = Net()
scripted = torch.jit.script(net)
print(scripted.code, scripted.graph_for(torch.ones(1, 3)) is not None)
loss = scripted(torch.ones(4, 3)).sum()
loss.backward()
print(net.fc.weight.grad.tolist(), scripted(torch.ones(1, 3)).tolist())
try:

    @torch.jit.script
    def bad(x):
        return undefined_name(x)

except RuntimeError as e:
    print(e)
