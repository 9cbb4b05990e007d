import torch, torch.nn as nn
backbone = nn.Linear(4, 8)
head = nn.Linear(8, 2)
@torch.inference_mode()  # made
def encode(x):
    return backbone(x)
opt = torch.optim.SGD(head.parameters(), lr=0.1)
for _ in range(2):
    f = encode(torch.randn(3, 4))  # made
    loss = head(f).pow(2).mean()  # raises AFT509: f
    opt.zero_grad(); loss.backward(); opt.step()
