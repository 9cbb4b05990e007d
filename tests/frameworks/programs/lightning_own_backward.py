# needs: lightning
# finds: AFT101 loss remove_duplicate
import warnings
import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")
L.seed_everything(0)


class Enhancer(L.LightningModule):
    def __init__(self, width=16):
        super().__init__()
        self.model = nn.Sequential(nn.Linear(6, width), nn.ReLU(), nn.Linear(width, 6))
        self.mse = nn.MSELoss()

    def forward(self, x):
        return torch.sigmoid(self.model(x))

    def training_step(self, batch, batch_idx):
        image, target = batch
        enhanced = self(image)
        loss = self.mse(enhanced, target)
        loss.backward()  # freed  # right: pass
        self.log("train_loss", loss, prog_bar=True)
        return loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


def main():
    data = TensorDataset(torch.rand(32, 6), torch.rand(32, 6))
    model = Enhancer()
    trainer = L.Trainer(max_epochs=2, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
    trainer.fit(model, DataLoader(data, batch_size=8))
    print(round(model.model[0].weight.sum().item(), 6))


if __name__ == "__main__":
    main()
