import torch
cell = torch.nn.GRUCell(4, 8)
opt = torch.optim.SGD(cell.parameters(), 0.1)
class Store:
    def __init__(self): self._data = {}
    def load(self, key): return self._data.get(key, torch.zeros(1, 8))
    def save(self, key, value): self._data[key] = value.detach()
store = Store()
for t, x in enumerate(torch.randn(4, 1, 4)):
    out = cell(x, store.load("h"))
    store.save("h", out)
    loss = out.sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(round(loss.item(), 4))
