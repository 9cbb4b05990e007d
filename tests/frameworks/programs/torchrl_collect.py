# needs: torchrl tensordict
# finds: AFT104 data["action_log_prob"] detach_input
import torch
from tensordict import TensorDict
from tensordict.nn import TensorDictModule
from torch import nn
from torchrl.data import Categorical
from torchrl.modules import ProbabilisticActor

torch.manual_seed(0)
actor = ProbabilisticActor(TensorDictModule(nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 2)), in_keys=["observation"], out_keys=["logits"]), in_keys=["logits"], spec=Categorical(2), distribution_class=torch.distributions.Categorical, return_log_prob=True)
optimizer = torch.optim.Adam(actor.parameters(), lr=3e-4)
for update in range(2):
    data = TensorDict({"observation": torch.randn(16, 4)}, [16])
    data = actor(data)  # built
    data["advantage"] = torch.randn(16)
    for epoch in range(3):
        dist = actor.get_dist(data.select("observation"))
        ratio = (dist.log_prob(data["action"]) - data["action_log_prob"]).exp()  # right: ratio = (dist.log_prob(data["action"]) - data["action_log_prob"].detach()).exp()
        loss = -(ratio * data["advantage"]).mean()
        optimizer.zero_grad()
        loss.backward()  # freed reused
        optimizer.step()
print(round(loss.item(), 6))
