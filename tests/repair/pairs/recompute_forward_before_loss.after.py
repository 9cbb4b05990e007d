import torch
from torch import nn

torch.manual_seed(0)
enc, dec, clf = nn.Sequential(nn.Linear(8, 4), nn.Tanh(), nn.Linear(4, 4)), nn.Linear(4, 8), nn.Linear(4, 2)
opt_ae = torch.optim.SGD([*enc.parameters(), *dec.parameters()], lr=0.1)
opt_cl = torch.optim.SGD([*enc.parameters(), *clf.parameters()], lr=0.1)
for x in torch.randn(4, 6, 8):
    z = enc(x)
    opt_ae.zero_grad()
    nn.functional.mse_loss(dec(z), x).backward()
    opt_ae.step()

    z = enc(x)
    loss = nn.functional.cross_entropy(clf(z), (x[:, 0] > 0).long())
    opt_cl.zero_grad()
    loss.backward()
    opt_cl.step()
