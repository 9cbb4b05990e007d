# needs: lightning
# finds: AFT103 self.previous detach_state
import warnings
import lightning as L
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")
L.seed_everything(0)


class Consistency(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.save_hyperparameters()
        self.encoder = nn.Sequential(nn.Linear(6, 16), nn.GELU(), nn.Linear(16, 8))
        self.classifier = nn.Linear(8, 3)
        self.previous = None

    def smoothness(self, feats):
        if self.previous is None:
            return feats.new_zeros(())
        return F.mse_loss(feats.mean(0), self.previous.mean(0))

    def training_step(self, batch, batch_idx):
        x, y = batch
        feats = self.encoder(x)  # built
        loss = F.cross_entropy(self.classifier(feats), y) + 0.1 * self.smoothness(feats)
        self.previous = feats  # right: self.previous = feats.detach()
        self.log("loss", loss)
        return loss

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-2)


data = TensorDataset(torch.randn(40, 6), torch.randint(0, 3, (40,)))
model = Consistency()
L.Trainer(max_epochs=2, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False, accumulate_grad_batches=2, gradient_clip_val=1.0).fit(model, DataLoader(data, batch_size=8))
print(round(model.classifier.weight.sum().item(), 6))
