# needs: lightning
# finds: AFT111 projector.weight use_parameters
# unproven
import warnings
import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")


class Model(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(6, 16), nn.ReLU())
        self.projector = nn.Linear(16, 8)
        self.classifier = nn.Linear(16, 3)

    def forward(self, x):
        h = self.backbone(x)
        return self.classifier(h), self.projector(h)

    def training_step(self, batch, batch_idx):
        x, y = batch
        logits, projected = self(x)
        return nn.functional.cross_entropy(logits, y)  # right: return nn.functional.cross_entropy(logits, y) + 0.1 * projected.pow(2).mean()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.05)


if __name__ == "__main__":
    L.seed_everything(0)
    data = DataLoader(TensorDataset(torch.randn(64, 6), torch.randint(0, 3, (64,))), batch_size=8)
    L.Trainer(max_epochs=2, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False, devices=2, strategy="ddp").fit(Model(), data)
    print("done")
