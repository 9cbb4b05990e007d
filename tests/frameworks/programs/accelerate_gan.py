# needs: accelerate
# finds: AFT105 fakes detach_input
import torch
from accelerate import Accelerator
from torch import nn

torch.manual_seed(0)


def main():
    accelerator = Accelerator(cpu=True)
    netG = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 4))
    netD = nn.Sequential(nn.Linear(4, 16), nn.LeakyReLU(), nn.Linear(16, 1))
    optG, optD = torch.optim.Adam(netG.parameters(), lr=2e-3), torch.optim.Adam(netD.parameters(), lr=2e-3)
    loader = torch.utils.data.DataLoader(torch.randn(40, 4), batch_size=8)
    netG, netD, optG, optD, loader = accelerator.prepare(netG, netD, optG, optD, loader)
    criterion = nn.BCEWithLogitsLoss()
    for epoch in range(2):
        for real in loader:
            ones, zeros = torch.ones(len(real), 1), torch.zeros(len(real), 1)
            fakes = netG(torch.randn(len(real), 4))  # built

            optD.zero_grad()
            lossD = criterion(netD(real), ones) + criterion(netD(fakes), zeros)  # right: lossD = criterion(netD(real), ones) + criterion(netD(fakes.detach()), zeros)
            accelerator.backward(lossD)  # freed
            optD.step()

            optG.zero_grad()
            lossG = criterion(netD(fakes), ones)
            accelerator.backward(lossG)  # reused
            optG.step()
    print(round(lossD.item(), 5), round(lossG.item(), 5))


main()
