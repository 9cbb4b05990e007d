# needs: torchrl tensordict
# finds: AFT102 loss_vals["loss_entropy"] combine_losses
import torch
from tensordict import TensorDict
from tensordict.nn import ProbabilisticTensorDictModule as Prob, TensorDictModule, TensorDictSequential
from torch import nn
from torchrl.data import Categorical
from torchrl.modules import ProbabilisticActor, ValueOperator
from torchrl.objectives import ClipPPOLoss

torch.manual_seed(0)
spec = Categorical(2)
actor = ProbabilisticActor(TensorDictModule(nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 2)), in_keys=["observation"], out_keys=["logits"]), in_keys=["logits"], spec=spec, distribution_class=torch.distributions.Categorical, return_log_prob=True)
critic = ValueOperator(nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1)), in_keys=["observation"])
loss_module = ClipPPOLoss(actor, critic, entropy_bonus=True)
optimizer = torch.optim.Adam(loss_module.parameters(), lr=3e-4)
for step in range(3):
    data = TensorDict({"observation": torch.randn(16, 4)}, [16])
    with torch.no_grad():
        data = actor(data)
    data["advantage"], data["value_target"] = torch.randn(16, 1), torch.randn(16, 1)
    loss_vals = loss_module(data)  # built
    optimizer.zero_grad()
    loss_vals["loss_objective"].backward()  # freed  # right: (loss_vals["loss_objective"] + loss_vals["loss_entropy"] + loss_vals["loss_critic"]).backward()
    loss_vals["loss_entropy"].backward()  # reused  # right: pass
    loss_vals["loss_critic"].backward()  # right: pass
    optimizer.step()
print(round(loss_vals["loss_critic"].item(), 6))
