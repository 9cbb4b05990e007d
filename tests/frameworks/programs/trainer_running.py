# needs: transformers accelerate
# finds: AFT301 trainer.running|self.running item_for_logging
import torch
from torch import nn
from transformers import Trainer, TrainingArguments

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.a, self.b = nn.Linear(4, 16), nn.Linear(16, 1), nn.Linear(16, 2)

    def forward(self, x, labels=None):
        h = torch.relu(self.body(x))
        return {"a": self.a(h).squeeze(-1), "b": self.b(h)}


class TwoTasks(Trainer):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.running = 0.0

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        labels = inputs.pop("labels")
        out = model(**inputs)
        loss = (out["a"] - labels).pow(2).mean() + 0.1 * out["b"].pow(2).mean()
        self.running += loss  # built  # right: self.running += loss.item()
        return (loss, out) if return_outputs else loss


data = [{"x": torch.randn(4), "labels": torch.randn(())} for _ in range(80)]
args = TrainingArguments("out", use_cpu=True, max_steps=40, per_device_train_batch_size=2, report_to=[], disable_tqdm=True, save_strategy="no", logging_strategy="no")
trainer = TwoTasks(model=Net(), args=args, train_dataset=data)
trainer.train()
print(round(float(trainer.running), 4))
