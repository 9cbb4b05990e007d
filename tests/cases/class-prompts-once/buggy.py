import torch
from model.clip import ZeroShot

torch.manual_seed(50)
clf = ZeroShot(["cat", "dog", "elk", "owl"])
optimizer = torch.optim.AdamW(clf.parameters(), lr=1e-3)
for epoch in range(2):
    for _ in range(3):
        pixels, label = torch.randn(10, 16), torch.randint(0, 4, (10,))
        loss = clf.loss(pixels, label)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
    print("epoch", epoch, round(loss.item(), 4))
