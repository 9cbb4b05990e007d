# needs: lightning
# finds: AFT103 self.memory detach_state
import warnings
import lightning as L
import torch
from torch import nn

warnings.filterwarnings("ignore")


class Memory(nn.Module):
    def __init__(self):
        super().__init__()
        self.write = nn.Linear(4, 8)
        self.memory = torch.zeros(8)

    def forward(self, x):
        self.memory = 0.9 * self.memory + self.write(x).tanh().mean(0)  # built  # right: self.memory = 0.9 * self.memory.detach() + self.write(x).tanh().mean(0)
        return self.memory


class Model(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.remember, self.read = Memory(), nn.Linear(8, 4)

    def training_step(self, batch, batch_idx):
        (x,) = batch
        return (self.read(self.remember(x)) - x).pow(2).mean()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


if __name__ == "__main__":
    torch.manual_seed(0)
    data = torch.utils.data.TensorDataset(torch.randn(32, 4))
    trainer = L.Trainer(max_epochs=1, accelerator="cpu", devices=2, strategy="ddp", logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
    model = Model()
    trainer.fit(model, torch.utils.data.DataLoader(data, batch_size=4))
    if trainer.is_global_zero:
        print(round(float(model.read.weight.sum()), 5))
