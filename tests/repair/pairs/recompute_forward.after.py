import torch

table = torch.nn.Embedding(10, 4)
mix = torch.nn.Linear(4, 4)
opt = torch.optim.Adam([*table.parameters(), *mix.parameters()])

for epoch in range(2):
    # every batch of the epoch uses these
    seen = 0
    for batch in torch.randint(0, 10, (3, 5)):
        vectors = torch.tanh(mix(table.weight))
        scale = vectors.norm()
        loss = (vectors[batch] / scale).pow(2).sum()
        opt.zero_grad()
        loss.backward()
        opt.step()
        seen += len(batch)
