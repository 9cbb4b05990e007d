import torch
from torch import nn


class Model(nn.Module):
	"""Tabs, and a prior that is computed once."""

	def __init__(self, width):
		super().__init__()
		self.encode = nn.Linear(3, width)
		self.log_scale = nn.Parameter(torch.zeros(width))
		self.prior = torch.distributions.Normal(  # learned
			torch.zeros(2), self.log_scale.exp()
		)

	def forward(self, x):
		return -self.prior.log_prob(self.encode(x)).mean()


torch.manual_seed(0)
model = Model(2)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for x in torch.randn(5, 4, 3):
	opt.zero_grad()
	model(x).backward()
	opt.step()
