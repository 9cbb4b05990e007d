import torch

shown = []


class Loud:
    def __init__(self, value):
        self.value = value

    def __repr__(self):
        shown.append("repr")
        return "loud"

    def __eq__(self, other):
        shown.append("eq")
        return NotImplemented

    def __hash__(self):
        shown.append("hash")
        return 1

    def __getattr__(self, name):
        shown.append(name)
        raise AttributeError(name)

    def __len__(self):
        shown.append("len")
        return 2

    def __bool__(self):
        shown.append("bool")
        return True

    def __iter__(self):
        shown.append("iter")
        return iter(())


torch.manual_seed(0)
w = torch.rand(2, requires_grad=True)
loud = Loud(w)
carried = Loud(torch.zeros(2))
for i in range(12):
    carried.value = (carried.value.detach() + w).tanh()
    loss = carried.value.sum()
    loss.backward()
try:
    loss.backward()
except RuntimeError:
    print("caught")
print(shown)
