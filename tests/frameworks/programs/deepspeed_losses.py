# needs: deepspeed
# finds: AFT102 z combine_losses
# command: deepspeed --num_accelerators 1
import deepspeed
import torch
from torch import nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.policy, self.value = nn.Linear(6, 16), nn.Linear(16, 3), nn.Linear(16, 1)

    def forward(self, x):
        z = torch.tanh(self.body(x))  # built
        return self.policy(z), self.value(z)


net = Net()
config = {"train_micro_batch_size_per_gpu": 4, "optimizer": {"type": "Adam", "params": {"lr": 1e-2, "torch_adam": True}}}
engine, optimizer, _, _ = deepspeed.initialize(model=net, model_parameters=net.parameters(), config=config)
for step in range(5):
    logits, value = engine(torch.randn(4, 6))
    policy_loss, value_loss = logits.pow(2).mean(), (value - 1).pow(2).mean()
    engine.backward(policy_loss)  # freed  # right: engine.backward(policy_loss + value_loss)
    engine.backward(value_loss)  # reused  # right: pass
    engine.step()
print(round(policy_loss.item(), 5), round(value_loss.item(), 5))
