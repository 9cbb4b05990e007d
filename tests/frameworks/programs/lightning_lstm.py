# needs: lightning
# finds: AFT103 self.hidden detach_state
import warnings
import lightning as L
import torch
from torch import nn

warnings.filterwarnings("ignore")
torch.manual_seed(0)


class LanguageModel(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 8)
        self.lstm = nn.LSTM(8, 16, batch_first=True)
        self.decoder = nn.Linear(16, 20)
        self.hidden = None

    def training_step(self, batch, batch_idx):
        text, target = batch[:, :-1], batch[:, 1:]
        out, self.hidden = self.lstm(self.embed(text), self.hidden)  # built  # right: out, self.hidden = self.lstm(self.embed(text), self.hidden and tuple(h.detach() for h in self.hidden))
        loss = nn.functional.cross_entropy(self.decoder(out).flatten(0, 1), target.flatten())
        self.log("train_loss", loss)
        return loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-2)


data = torch.utils.data.DataLoader(torch.randint(0, 20, (24, 6)), batch_size=4)
model = LanguageModel()
trainer = L.Trainer(max_epochs=2, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
trainer.fit(model, data)
print(round(float(trainer.callback_metrics["train_loss"]), 5))
