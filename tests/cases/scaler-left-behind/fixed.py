import torch
from torch import nn

torch.manual_seed(17)


class Conv1dTagger(nn.Module):
    def __init__(self, channels=6, tags=4):
        super().__init__()
        self.body = nn.Sequential(nn.Conv1d(3, channels, 3, padding=1), nn.GELU())
        self.tags = nn.Conv1d(channels, tags, 1)

    def forward(self, wave):
        return self.tags(self.body(wave))


class Runner:
    def __init__(self, use_amp=True):
        self.net = Conv1dTagger()
        self.opt = torch.optim.AdamW(self.net.parameters(), lr=2e-3)
        self.scaler = torch.amp.GradScaler("cpu", enabled=use_amp, init_scale=128.0)

    def losses(self, wave, tag):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            score = self.net(wave)
        return nn.functional.cross_entropy(score.float(), tag)

    def step(self, wave, tag):
        self.opt.zero_grad(set_to_none=True)
        loss = self.losses(wave, tag)
        self.scaler.scale(loss).backward()
        self.scaler.unscale_(self.opt)
        nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)
        self.scaler.step(self.opt)
        self.scaler.update()
        return loss.item()


runner = Runner()
for k in range(3):
    value = runner.step(torch.randn(4, 3, 20), torch.randint(0, 4, (4, 20)))
    print(k, round(value, 3))
