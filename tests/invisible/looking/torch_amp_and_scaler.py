"""autocast on cpu in bfloat16, GradScaler's states, inference mode, anomaly mode, set_grad_enabled, detect of modes at each point."""
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 1))
opt = torch.optim.Adam(net.parameters(), 1e-2)
scaler = torch.amp.GradScaler("cpu", init_scale=8.0, growth_interval=2)
states = []
for i in range(6):
    opt.zero_grad(set_to_none=i % 2 == 0)
    with torch.autocast("cpu", torch.bfloat16):
        out = net(torch.randn(5, 4))
        states.append((out.dtype, torch.is_autocast_enabled("cpu"), torch.is_autocast_cache_enabled()))
        loss = out.float().pow(2).mean()
    scaler.scale(loss * (float("inf") if i == 3 else 1)).backward()
    scaler.unscale_(opt)
    norm = nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    scaler.step(opt)
    scaler.update()
    states.append((scaler.get_scale(), norm.item()))
print(states, loss.item())
with torch.inference_mode():
    y = net(torch.ones(1, 4))
print(y.is_inference(), torch.is_inference_mode_enabled(), torch.is_grad_enabled(), torch.is_anomaly_enabled())
with torch.autograd.set_detect_anomaly(True):
    try:
        z = torch.tensor([-1.0], requires_grad=True)
        torch.sqrt(z).backward()
    except RuntimeError as e:
        print(e)
torch.set_grad_enabled(False)
print(net(torch.ones(1, 4)).requires_grad, torch.is_grad_enabled())
print(torch.are_deterministic_algorithms_enabled(), torch.get_num_threads(), torch.get_default_dtype(), torch.get_float32_matmul_precision(), torch.is_warn_always_enabled(), torch._C._get_tracing_state())
