"""Correct training programs of many kinds, short and with real torch: nothing may be said about any of them."""

from __future__ import annotations

PROGRAMS = {
    "gradient accumulation, divided loss": """
model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1))
optimizer = torch.optim.Adam(model.parameters())
for number, x in enumerate(torch.randn(24, 5, 3)):
    loss = model(x).pow(2).mean() / 4
    loss.backward()
    if number % 4 == 3:
        optimizer.step()
        optimizer.zero_grad()
""",
    "gradient accumulation of one batch in halves, two passes": """
model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x in torch.randn(10, 6, 3):
    optimizer.zero_grad()
    (model(x[:3]).pow(2).sum() / 6).backward()
    (model(x[3:]).pow(2).sum() / 6).backward()
    optimizer.step()
""",
    "accumulation that ends with the epoch": """
model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(5):
    for x in torch.randn(7, 4, 3):
        model(x).pow(2).mean().backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=False)
""",
    "LBFGS": """
w = torch.zeros(4, requires_grad=True)
data, target = torch.randn(20, 4), torch.randn(20)
optimizer = torch.optim.LBFGS([w], max_iter=5, line_search_fn="strong_wolfe")
def closure():
    optimizer.zero_grad()
    loss = (data @ w - target).pow(2).mean()
    loss.backward()
    return loss
for step in range(6):
    optimizer.step(closure)
""",
    "a pass by hand, then LBFGS with a closure that zeroes": """
model = torch.nn.Linear(3, 1)
data = torch.randn(10, 3)
optimizer = torch.optim.LBFGS(model.parameters(), max_iter=3)
def closure():
    optimizer.zero_grad()
    loss = model(data).pow(2).mean()
    loss.backward()
    return loss
for step in range(6):
    norm = closure().item()
    optimizer.step(closure)
""",
    "SAM": """
model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x in torch.randn(10, 5, 3):
    model(x).pow(2).mean().backward()
    climbs = []
    with torch.no_grad():
        norm = torch.stack([p.grad.norm() for p in model.parameters()]).norm()
        for p in model.parameters():
            climb = 0.05 * p.grad / norm
            p.add_(climb)
            climbs.append(climb)
    optimizer.zero_grad()
    model(x).pow(2).mean().backward()
    with torch.no_grad():
        for p, climb in zip(model.parameters(), climbs):
            p.sub_(climb)
    optimizer.step()
    optimizer.zero_grad()
""",
    "MAML, second order": """
weight = torch.randn(3, 1, requires_grad=True)
optimizer = torch.optim.Adam([weight], lr=0.01)
for step in range(8):
    optimizer.zero_grad()
    total = 0.0
    for task in range(3):
        x = torch.randn(6, 3)
        inner = (x @ weight - task).pow(2).mean()
        gradient, = torch.autograd.grad(inner, weight, create_graph=True)
        fast = weight - 0.1 * gradient
        total = total + (torch.randn(6, 3) @ fast - task).pow(2).mean()
    total.backward()
    optimizer.step()
""",
    "MAML, tasks swept one by one, first order": """
model = torch.nn.Linear(3, 1)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for step in range(6):
    optimizer.zero_grad()
    for task in range(3):
        inner = model(torch.randn(6, 3)).sub(task).pow(2).mean()
        gradients = torch.autograd.grad(inner, tuple(model.parameters()))
        fast = [p - 0.1 * g for p, g in zip(model.parameters(), gradients)]
        outer = (torch.randn(6, 3) @ fast[0].t() + fast[1] - task).pow(2).mean()
        outer.backward()
    optimizer.step()
""",
    "GAN, fake reused": """
generator, critic = torch.nn.Linear(2, 3), torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 1))
makes = torch.optim.Adam(generator.parameters())
judges = torch.optim.Adam(critic.parameters())
loss = torch.nn.BCEWithLogitsLoss()
for step in range(12):
    real, noise = torch.randn(5, 3), torch.randn(5, 2)
    critic.zero_grad()
    real_loss = loss(critic(real), torch.ones(5, 1))
    real_loss.backward()
    fake = generator(noise)
    fake_loss = loss(critic(fake.detach()), torch.zeros(5, 1))
    fake_loss.backward()
    judges.step()
    generator.zero_grad()
    fools = loss(critic(fake), torch.ones(5, 1))
    fools.backward()
    makes.step()
""",
    "WGAN-GP": """
generator = torch.nn.Linear(2, 3)
critic = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
makes = torch.optim.Adam(generator.parameters())
judges = torch.optim.Adam(critic.parameters())
for step in range(12):
    real = torch.randn(5, 3)
    judges.zero_grad()
    with torch.no_grad():
        fake = generator(torch.randn(5, 2))
    between = (0.5 * real + 0.5 * fake).requires_grad_()
    gradient, = torch.autograd.grad(critic(between).sum(), between, create_graph=True)
    penalty = (gradient.norm(dim=1) - 1).pow(2).mean()
    (critic(fake).mean() - critic(real).mean() + 10 * penalty).backward()
    judges.step()
    if step % 3 == 2:
        makes.zero_grad()
        (-critic(generator(torch.randn(5, 2))).mean()).backward()
        makes.step()
""",
    "PPO epochs over one rollout": """
policy, value = torch.nn.Linear(3, 2), torch.nn.Linear(3, 1)
optimizer = torch.optim.Adam([*policy.parameters(), *value.parameters()])
for update in range(4):
    states, actions, returns = torch.randn(16, 3), torch.randint(0, 2, (16,)), torch.randn(16)
    with torch.no_grad():
        old = torch.log_softmax(policy(states), 1).gather(1, actions[:, None]).squeeze(1)
        advantages = returns - value(states).squeeze(1)
    for epoch in range(4):
        for rows in torch.randperm(16).split(8):
            new = torch.log_softmax(policy(states[rows]), 1).gather(1, actions[rows, None]).squeeze(1)
            ratio = (new - old[rows]).exp()
            gain = torch.min(ratio * advantages[rows], ratio.clamp(0.8, 1.2) * advantages[rows]).mean()
            loss = -gain + 0.5 * (value(states[rows]).squeeze(1) - returns[rows]).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
""",
    "a frozen backbone in the optimizer": """
backbone, head = torch.nn.Linear(3, 4), torch.nn.Linear(4, 1)
for p in backbone.parameters():
    p.requires_grad = False
optimizer = torch.optim.Adam([*backbone.parameters(), *head.parameters()])
for x in torch.randn(12, 5, 3):
    optimizer.zero_grad()
    head(backbone(x).relu()).pow(2).mean().backward()
    optimizer.step()
""",
    "a backbone that thaws late": """
backbone, head = torch.nn.Linear(3, 4), torch.nn.Linear(4, 1)
optimizer = torch.optim.Adam([*backbone.parameters(), *head.parameters()])
for step in range(40):
    x = torch.randn(5, 3)
    codes = backbone(x).relu()
    if step < 30:
        codes = codes.detach()
    optimizer.zero_grad()
    head(codes).pow(2).mean().backward()
    optimizer.step()
""",
    "a backbone that thaws late, all of it in a function": """
def main():
    backbone, head = torch.nn.Linear(3, 4), torch.nn.Linear(4, 1)
    optimizer = torch.optim.Adam([*backbone.parameters(), *head.parameters()])
    for step in range(60):
        codes = backbone(torch.randn(5, 3)).relu()
        if step < 40:
            codes = codes.detach()
        optimizer.zero_grad()
        head(codes).pow(2).mean().backward()
        optimizer.step()

main()
""",
    "a head that is not used yet": """
body, main, extra = torch.nn.Linear(3, 4), torch.nn.Linear(4, 1), torch.nn.Linear(4, 1)
optimizer = torch.optim.Adam([*body.parameters(), *main.parameters(), *extra.parameters()])
for step in range(30):
    codes = body(torch.randn(5, 3)).relu()
    loss = main(codes).pow(2).mean()
    if step > 25:
        loss = loss + extra(codes).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
    "EMA of the weights": """
import copy
model = torch.nn.Linear(3, 1)
average = copy.deepcopy(model).requires_grad_(False)
optimizer = torch.optim.Adam(model.parameters())
for x in torch.randn(12, 5, 3):
    with torch.no_grad():
        target = average(x)
    loss = (model(x) - target - 1).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for slow, fast in zip(average.parameters(), model.parameters()):
            slow.mul_(0.9).add_(fast, alpha=0.1)
""",
    "SWA": """
from torch.optim.swa_utils import AveragedModel, SWALR
model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
averaged, schedule = AveragedModel(model), SWALR(optimizer, swa_lr=0.05)
for x in torch.randn(12, 5, 3):
    optimizer.zero_grad()
    model(x).pow(2).mean().backward()
    optimizer.step()
    averaged.update_parameters(model)
    schedule.step()
""",
    "two optimizers, one loss": """
dense, sparse = torch.nn.Linear(4, 1), torch.nn.Embedding(10, 4, sparse=True)
optimizers = [torch.optim.Adam(dense.parameters()), torch.optim.SparseAdam(list(sparse.parameters()))]
for ids in torch.randint(0, 10, (12, 6)):
    for optimizer in optimizers:
        optimizer.zero_grad()
    dense(sparse(ids)).pow(2).mean().backward()
    for optimizer in optimizers:
        optimizer.step()
""",
    "actor and critic with optimizers of their own": """
trunk = torch.nn.Linear(3, 4)
actor, critic = torch.nn.Linear(4, 2), torch.nn.Linear(4, 1)
moves = torch.optim.Adam([*trunk.parameters(), *actor.parameters()])
judges = torch.optim.Adam(critic.parameters())
for step in range(12):
    codes = trunk(torch.randn(5, 3)).relu()
    values = critic(codes.detach()).squeeze(1)
    advantage = torch.randn(5) - values
    judges.zero_grad()
    advantage.pow(2).mean().backward()
    judges.step()
    moves.zero_grad()
    (-(torch.log_softmax(actor(codes), 1)[:, 0] * advantage.detach()).mean()).backward()
    moves.step()
""",
    "gradient clipping and a scheduler": """
model = torch.nn.LSTM(3, 4, batch_first=True)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
schedule = torch.optim.lr_scheduler.StepLR(optimizer, 3)
state = None
for x in torch.randn(12, 2, 5, 3):
    optimizer.zero_grad()
    if state is not None:
        state = tuple(part.detach() for part in state)
    output, state = model(x, state)
    output.pow(2).mean().backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    schedule.step()
""",
    "an optimizer made anew for each phase": """
model = torch.nn.Linear(3, 1)
for phase in range(3):
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1 / (phase + 1))
    for x in torch.randn(10, 5, 3):
        optimizer.zero_grad()
        model(x).pow(2).mean().backward()
        optimizer.step()
""",
    "folds: a model and an optimizer for each": """
scores = []
for fold in range(4):
    model = torch.nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in torch.randn(9, 5, 3):
        optimizer.zero_grad()
        loss = model(x).pow(2).mean()
        loss.backward()
        optimizer.step()
    scores.append(loss.item())
""",
    "a hand-made optimizer that writes through data": """
class Plain(torch.optim.Optimizer):
    def __init__(self, parameters, rate):
        super().__init__(parameters, {"rate": rate})

    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p.data.add_(p.grad.data, alpha=-group["rate"])

model = torch.nn.Linear(3, 1)
optimizer = Plain(model.parameters(), 0.1)
for x in torch.randn(20, 5, 3):
    optimizer.zero_grad()
    model(x).pow(2).mean().backward()
    optimizer.step()
""",
    "gradients per task, then one projected": """
model = torch.nn.Linear(3, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x in torch.randn(10, 5, 3):
    output = model(x)
    kept = []
    for task in range(2):
        optimizer.zero_grad()
        output[:, task].pow(2).mean().backward(retain_graph=task == 0)
        kept.append([p.grad.clone() for p in model.parameters()])
    for p, one, two in zip(model.parameters(), *kept):
        p.grad = (one + two) / 2
    optimizer.step()
""",
    "double DQN with a target network": """
import copy
net = torch.nn.Linear(3, 2)
target = copy.deepcopy(net)
optimizer = torch.optim.Adam(net.parameters())
for step in range(20):
    state, action, after = torch.randn(6, 3), torch.randint(0, 2, (6, 1)), torch.randn(6, 3)
    chosen = net(state).gather(1, action)
    with torch.no_grad():
        best = target(after).max(1, keepdim=True).values
    optimizer.zero_grad()
    (chosen - 0.9 * best).pow(2).mean().backward()
    optimizer.step()
    if step % 5 == 4:
        target.load_state_dict(net.state_dict())
""",
    "SimSiam: one branch stopped": """
encoder, predictor = torch.nn.Linear(3, 4), torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD([*encoder.parameters(), *predictor.parameters()], lr=0.1)
for x in torch.randn(10, 5, 3):
    one, two = encoder(x + 0.1), encoder(x - 0.1)
    loss = -torch.cosine_similarity(predictor(one), two.detach()).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
    "adversarial examples, then training": """
model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x in torch.randn(10, 5, 3):
    shifted = x.clone().requires_grad_()
    model(shifted).pow(2).mean().backward()
    attacked = (shifted + 0.1 * shifted.grad.sign()).detach()
    optimizer.zero_grad()
    model(attacked).pow(2).mean().backward()
    optimizer.step()
""",
    "the Hessian-vector product of a check now and then": """
model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(20):
    loss = model(torch.randn(5, 3)).pow(2).mean()
    if step % 4 == 0:
        gradient, = torch.autograd.grad(loss, model.weight, create_graph=True)
        product, = torch.autograd.grad((gradient * 0.5).sum(), model.weight, retain_graph=True)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
    "losses of several steps, summed on purpose": """
cell, head = torch.nn.RNNCell(3, 4), torch.nn.Linear(4, 1)
optimizer = torch.optim.Adam([*cell.parameters(), *head.parameters()])
for series in torch.randn(10, 6, 2, 3):
    state, losses = torch.zeros(2, 4), []
    for x in series:
        state = cell(x, state)
        losses.append(head(state).pow(2).mean())
    optimizer.zero_grad()
    torch.stack(losses).sum().backward()
    optimizer.step()
""",
    "a loss dictionary, all of it summed, one part switched off": """
model = torch.nn.Linear(3, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
weights = {"fit": 1.0, "small": 0.0}
for x in torch.randn(12, 5, 3):
    parts = {"fit": model(x).pow(2).mean(), "small": model(x).abs().mean()}
    total = sum(weights[name] * part for name, part in parts.items())
    optimizer.zero_grad()
    total.backward()
    optimizer.step()
""",
    "a queue of the last few losses": """
from collections import deque
model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
recent = deque(maxlen=4)
for x in torch.randn(20, 5, 3):
    loss = model(x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    recent.append(loss)
""",
    "a network that gives two losses each time, and trains by one of them in turn": """
body, first, second = torch.nn.Linear(3, 4), torch.nn.Linear(4, 1), torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD([*body.parameters(), *first.parameters(), *second.parameters()], lr=0.1)
def losses(x):
    h = body(x).tanh()
    return {"fit": first(h).pow(2).mean(), "adversarial": second(h).abs().mean()}
for x in torch.randn(20, 5, 3):
    outputs = losses(x)
    optimizer.zero_grad()
    outputs["fit"].backward()
    optimizer.step()
    outputs = losses(x)
    optimizer.zero_grad()
    outputs["adversarial"].backward()
    optimizer.step()
""",
}
