import torch, functools, unittest.mock as mock
n = {"b": 0, "g": 0, "e": 0}
ob = torch.Tensor.backward
@functools.wraps(ob)
def nb(self, *a, **k): n["b"] += 1; return ob(self, *a, **k)
torch.Tensor.backward = nb
og = torch.autograd.grad
torch.autograd.grad = lambda *a, **k: (n.__setitem__("g", n["g"] + 1), og(*a, **k))[1]
x = torch.ones(2, requires_grad=True)
for i in range(9): (x * x).sum().backward(); torch.autograd.grad((x * x).sum(), x)
print(n, torch.Tensor.backward.__name__, torch.Tensor.backward.__wrapped__ is ob)
with mock.patch("torch.autograd.graph._engine_run_backward") as e:
    (x * x).sum().backward(); print(e.call_count)
with mock.patch.object(torch.nn.Linear, "forward", autospec=True, side_effect=lambda self, v: v * 3) as f:
    print(torch.nn.Linear(2, 2)(x), f.call_count)
m = mock.MagicMock(wraps=torch.nn.Linear(2, 1)); keep = m
for i in range(12): m(x).sum().backward()
print(len(m.mock_calls), m.method_calls)
print(torch.autograd.backward.__module__, torch.Tensor.__module__, type(torch._C._get_tracing_state()))
l = (x * x).sum(); l.backward()
with mock.patch("builtins.print") as p:
    try: l.backward()
    except RuntimeError: pass
    c = p.call_count
print(c)
