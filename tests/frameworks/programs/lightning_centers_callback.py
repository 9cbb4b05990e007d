# needs: lightning
# finds: AFT103 self.z detach_state
import warnings
import lightning as L
import torch
from torch import nn

warnings.filterwarnings("ignore")
torch.manual_seed(0)


class CenterCallback(L.Callback):
    def __init__(self, dim):
        self.centers = torch.zeros(dim)

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        self.centers = 0.9 * self.centers + 0.1 * pl_module.z.mean(0)  # right: self.centers = 0.9 * self.centers + 0.1 * pl_module.z.mean(0).detach()


class Encoder(L.LightningModule):
    def __init__(self, centers):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 4))
        self.keeper = centers

    def training_step(self, batch, batch_idx):
        (x,) = batch
        self.z = self.net(x)  # built
        return (self.z - self.keeper.centers - 1).pow(2).mean()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.05)


keeper = CenterCallback(4)
data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(32, 8)), batch_size=8)
model = Encoder(keeper)
trainer = L.Trainer(max_epochs=2, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False, callbacks=[keeper])
trainer.fit(model, data)
print(round(float(sum(p.sum() for p in model.parameters())), 5))
