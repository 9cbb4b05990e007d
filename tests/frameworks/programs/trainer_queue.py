# needs: transformers accelerate
# finds: AFT103 self.queue detach_state
import torch
from torch import nn
from transformers import Trainer, TrainingArguments

torch.manual_seed(0)


class MoCo(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
        self.queue = nn.functional.normalize(torch.randn(16, 4), dim=1)

    def forward(self, view1, view2):
        q = nn.functional.normalize(self.encoder(view1), dim=1)
        k = nn.functional.normalize(self.encoder(view2), dim=1)
        logits = torch.cat([(q * k).sum(1, keepdim=True), q @ self.queue.T], dim=1) / 0.2
        loss = nn.functional.cross_entropy(logits, torch.zeros(len(q), dtype=torch.long))
        self.queue = torch.cat([k, self.queue])[:16]  # right: self.queue = torch.cat([k.detach(), self.queue])[:16]
        return {"loss": loss, "logits": logits}


data = [{"view1": torch.randn(8), "view2": torch.randn(8)} for _ in range(40)]
args = TrainingArguments("out", use_cpu=True, max_steps=8, per_device_train_batch_size=4, learning_rate=1e-2, report_to=[], disable_tqdm=True, save_strategy="no", logging_strategy="no")
result = Trainer(model=MoCo(), args=args, train_dataset=data).train()
print(round(result.training_loss, 5))
