# needs: lightning
# finds: AFT102 z combine_losses
import torch
from lightning.fabric import Fabric
from torch import nn

torch.manual_seed(0)
fabric = Fabric(accelerator="cpu", devices=1)
encoder = nn.Sequential(nn.Linear(6, 16), nn.Tanh())
classifier, decoder = nn.Linear(16, 3), nn.Linear(16, 6)
model = nn.ModuleDict(dict(encoder=encoder, classifier=classifier, decoder=decoder))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for module in (encoder, classifier, decoder):
    fabric.to_device(module)
optimizer = fabric.setup_optimizers(optimizer)
data = torch.utils.data.TensorDataset(torch.randn(40, 6), torch.randint(0, 3, (40,)))
loader = fabric.setup_dataloaders(torch.utils.data.DataLoader(data, batch_size=4))

for x, y in loader:
    optimizer.zero_grad()
    z = encoder(x)  # built
    class_loss = nn.functional.cross_entropy(classifier(z), y)
    rec_loss = nn.functional.mse_loss(decoder(z), x)
    fabric.backward(class_loss)  # freed  # right: fabric.backward(class_loss + rec_loss)
    fabric.backward(rec_loss)  # reused  # right: pass
    optimizer.step()
print(round(class_loss.item(), 5), round(rec_loss.item(), 5))
