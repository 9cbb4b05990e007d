# needs: lightning
# finds: AFT301 self.training_step_outputs item_for_logging
import warnings
import lightning as L
import torch
from torch import nn

warnings.filterwarnings("ignore")


class BaseModel(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.training_step_outputs = []
        self.loss = nn.L1Loss()

    def step(self, x, y, batch_idx):
        out = self(x)
        loss = self.loss(out, y)
        log = {"loss": loss, "n_samples": len(x)}  # right: log = {"loss": loss.detach(), "n_samples": len(x)}
        return log, loss

    def training_step(self, batch, batch_idx):
        x, y = batch
        log, loss = self.step(x, y, batch_idx)
        self.training_step_outputs.append(log)
        return loss

    def on_train_epoch_end(self):
        total = sum(one["n_samples"] for one in self.training_step_outputs)
        self.mean = float(sum(one["loss"].item() * one["n_samples"] for one in self.training_step_outputs) / total)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.05)


class MLP(BaseModel):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, x):
        return self.layers(x)


torch.manual_seed(3)
data = torch.utils.data.TensorDataset(torch.randn(80, 5), torch.randn(80, 1))
model = MLP()
L.Trainer(max_epochs=2, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False).fit(model, torch.utils.data.DataLoader(data, batch_size=8))
print(round(model.mean, 6))
