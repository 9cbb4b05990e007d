# needs: transformers accelerate
# finds: AFT103 self.centers detach_state
import torch
from torch import nn
from transformers import Trainer, TrainingArguments

torch.manual_seed(0)


class CenterLoss(nn.Module):
    def __init__(self, classes, dim, momentum=0.9):
        super().__init__()
        self.register_buffer("centers", torch.zeros(classes, dim))
        self.momentum = momentum

    def forward(self, feats, labels):
        one_hot = nn.functional.one_hot(labels, len(self.centers)).float()
        means = one_hot.t() @ feats / one_hot.sum(0).clamp(min=1).unsqueeze(1)
        self.centers = self.momentum * self.centers + (1 - self.momentum) * means  # built  # right: self.centers = self.momentum * self.centers.detach() + (1 - self.momentum) * means
        return (feats - self.centers[labels]).pow(2).sum(1).mean()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(6, 8), nn.Linear(8, 3)

    def forward(self, x, labels=None):
        h = torch.tanh(self.body(x))
        return {"logits": self.head(h), "hidden": h}


center_loss = CenterLoss(3, 8)


def compute_loss(outputs, labels, num_items_in_batch=None):
    return nn.functional.cross_entropy(outputs["logits"], labels) + 0.1 * center_loss(outputs["hidden"], labels)


data = [{"x": torch.randn(6), "labels": i % 3} for i in range(24)]
args = TrainingArguments("out", use_cpu=True, max_steps=5, per_device_train_batch_size=6, report_to=[], disable_tqdm=True, save_strategy="no", logging_strategy="no")
net = Net()
Trainer(model=net, args=args, train_dataset=data, compute_loss_func=compute_loss).train()
print(round(float(sum(p.sum() for p in net.parameters())), 4))
