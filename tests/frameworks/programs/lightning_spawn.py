# needs: lightning
# finds: AFT103 self.state detach_state
import warnings
import lightning as L
import torch
from torch import nn

warnings.filterwarnings("ignore")


class Recurrent(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.cell, self.head = nn.GRUCell(4, 8), nn.Linear(8, 1)
        self.state = None

    def training_step(self, batch, batch_idx):
        (x,) = batch
        if self.state is None:
            self.state = x.new_zeros(len(x), 8)
        self.state = self.cell(x, self.state)  # built  # right: self.state = self.cell(x, self.state.detach())
        return self.head(self.state).pow(2).mean()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


if __name__ == "__main__":
    torch.manual_seed(0)
    data = torch.utils.data.TensorDataset(torch.randn(32, 4))
    trainer = L.Trainer(max_epochs=1, accelerator="cpu", devices=2, strategy="ddp_spawn", logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
    model = Recurrent()
    trainer.fit(model, torch.utils.data.DataLoader(data, batch_size=4))
    print(round(float(model.head.weight.sum()), 5))
