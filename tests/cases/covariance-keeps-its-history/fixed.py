import torch

torch.manual_seed(7)


class Kalman(torch.nn.Module):
    def __init__(self, n=2):
        super().__init__()
        self.A = torch.nn.Parameter(torch.eye(n))
        self.logq = torch.nn.Parameter(torch.zeros(n))
        self.n = n
        self.reset()

    def reset(self):
        self.x, self.P = torch.zeros(self.n), torch.eye(self.n)

    def step(self, z):
        Q = torch.diag(self.logq.exp())
        x = self.A @ self.x
        P = self.A @ self.P @ self.A.T + Q
        S = P + torch.eye(self.n)
        K = P @ torch.linalg.inv(S)
        r = z - x
        self.x, self.P = (x + K @ r).detach(), ((torch.eye(self.n) - K) @ P).detach()
        return r @ torch.linalg.solve(S, r) + torch.logdet(S)


kf = Kalman()
opt = torch.optim.Adam(kf.parameters(), 1e-2)
for z in torch.randn(5, 2):
    opt.zero_grad()
    kf.step(z).backward()
    opt.step()
