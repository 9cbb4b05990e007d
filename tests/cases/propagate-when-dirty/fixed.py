import torch
from recsys.data import interactions, triples
from recsys.graph import LightGraph

torch.manual_seed(64)
pairs = interactions(users=12, items=9)
model = LightGraph(12, 9, pairs)
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(2):
    model.train()
    for user, liked, other in triples(pairs, items=9, size=16):
        model.dirty = True
        loss = model.bpr(user, liked, other)
        opt.zero_grad()
        loss.backward()
        opt.step()
    model.eval()
    print("epoch", epoch, round(loss.item(), 4), "best", model.best(0))
