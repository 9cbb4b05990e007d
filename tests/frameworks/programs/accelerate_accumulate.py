# needs: accelerate
# finds: AFT104 condition combine_losses|recompute_forward
import torch
from accelerate import Accelerator
from torch import nn

torch.manual_seed(0)
accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
text_encoder, unet = nn.Linear(6, 8), nn.Sequential(nn.Linear(12, 16), nn.SiLU(), nn.Linear(16, 4))
optimizer = torch.optim.AdamW([*text_encoder.parameters(), *unet.parameters()], lr=1e-2)
loader = torch.utils.data.DataLoader(torch.randn(32, 4), batch_size=4)
text_encoder, unet, optimizer, loader = accelerator.prepare(text_encoder, unet, optimizer, loader)
prompt = torch.randn(1, 6)
condition = text_encoder(prompt)  # built  # right: pass

for latents in loader:
    noise = torch.randn_like(latents)  # right: noise, condition = torch.randn_like(latents), text_encoder(prompt)
    with accelerator.accumulate(unet):
        pred = unet(torch.cat([latents + noise, condition.expand(len(latents), -1)], dim=1))
        loss = nn.functional.mse_loss(pred, noise)
        accelerator.backward(loss)  # freed reused
        optimizer.step()
        optimizer.zero_grad()
print(round(loss.item(), 5))
