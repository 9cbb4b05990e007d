# needs: lightning
# finds: AFT301 self.features item_for_logging
import warnings
import lightning as L
import torch
from torch import nn

warnings.filterwarnings("ignore")
torch.manual_seed(0)


class KeepFeatures(L.Callback):
    def __init__(self):
        self.features = []

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        self.features.append(pl_module.last_features)  # built  # right: self.features.append(pl_module.last_features.detach())

    def on_train_end(self, trainer, pl_module):
        print(len(self.features), round(float(torch.cat(self.features).std()), 4))


class Classifier(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(6, 12), nn.Tanh())
        self.head = nn.Linear(12, 3)

    def training_step(self, batch, batch_idx):
        x, y = batch
        self.last_features = self.backbone(x)
        return nn.functional.cross_entropy(self.head(self.last_features), y)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=1e-2)


data = torch.utils.data.TensorDataset(torch.randn(160, 6), torch.randint(0, 3, (160,)))
trainer = L.Trainer(max_epochs=1, callbacks=[KeepFeatures()], accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
trainer.fit(Classifier(), torch.utils.data.DataLoader(data, batch_size=4))
