import copy
import random
import torch
import torch.nn as nn

torch.manual_seed(97)
random.seed(97)


class PCGrad:
    def __init__(self, optimizer):
        self._optim = optimizer

    def zero_grad(self):
        return self._optim.zero_grad(set_to_none=True)

    def step(self):
        return self._optim.step()

    def pc_backward(self, objectives):
        grads, shapes = self._pack_grad(objectives)
        pc_grad = self._project_conflicting(grads)
        self._set_grad(self._unflatten(pc_grad, shapes))

    def _project_conflicting(self, grads):
        pc_grad = copy.deepcopy(grads)
        for g_i in pc_grad:
            random.shuffle(grads)
            for g_j in grads:
                dot = torch.dot(g_i, g_j)
                if dot < 0:
                    g_i -= dot * g_j / (g_j.norm() ** 2)
        return torch.stack(pc_grad).mean(dim=0)

    def _pack_grad(self, objectives):
        grads = []
        for obj in objectives:
            self._optim.zero_grad(set_to_none=True)
            obj.backward(retain_graph=True)
            grad, shapes = self._retrieve_grad()
            grads.append(torch.cat([g.flatten() for g in grad]))
        return grads, shapes

    def _retrieve_grad(self):
        grad, shapes = [], []
        for group in self._optim.param_groups:
            for p in group["params"]:
                shapes.append(p.shape)
                grad.append(torch.zeros_like(p) if p.grad is None else p.grad.clone())
        return grad, shapes

    def _unflatten(self, flat, shapes):
        out, i = [], 0
        for shape in shapes:
            out.append(flat[i:i + shape.numel()].view(shape))
            i += shape.numel()
        return out

    def _set_grad(self, grads):
        params = [p for group in self._optim.param_groups for p in group["params"]]
        for p, g in zip(params, grads):
            p.grad = g


class MultiHead(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(5, 20), nn.ReLU())
        self.seg, self.depth = nn.Linear(20, 3), nn.Linear(20, 1)

    def forward(self, x):
        h = self.trunk(x)
        return self.seg(h), self.depth(h)


net = MultiHead()
opt = PCGrad(torch.optim.Adam(net.parameters(), lr=1e-3))
for step in range(4):
    x = torch.randn(12, 5)
    seg, depth = net(x)
    losses = [nn.functional.cross_entropy(seg, torch.randint(0, 3, (12,))), (depth - x.mean(1, keepdim=True)).abs().mean()]
    opt.zero_grad()
    opt.pc_backward(losses)
    opt.step()
    print(step, [round(l.item(), 5) for l in losses])
