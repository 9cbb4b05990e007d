# needs: lightning
# finds: AFT301 self.training_step_outputs item_for_logging
import warnings
import lightning as L
import torch
from torch import nn

warnings.filterwarnings("ignore")
torch.manual_seed(0)


class Regressor(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
        self.training_step_outputs = []

    def training_step(self, batch, batch_idx):
        loss = self.net(batch).pow(2).mean()
        self.training_step_outputs.append(loss)  # built  # right: self.training_step_outputs.append(loss.detach())
        return loss

    def on_train_epoch_end(self):
        print(len(self.training_step_outputs), round(float(torch.stack(self.training_step_outputs).mean()), 5))
        self.training_step_outputs.clear()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=1e-2)


data = torch.utils.data.DataLoader(torch.randn(160, 4), batch_size=4)
trainer = L.Trainer(max_epochs=2, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
trainer.fit(Regressor(), data)
