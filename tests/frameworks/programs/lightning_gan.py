# needs: lightning
# finds: AFT105 fake detach_input
import warnings
import lightning as L
import torch
from torch import nn

warnings.filterwarnings("ignore")
torch.manual_seed(0)


class GAN(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.automatic_optimization = False
        self.generator = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 4))
        self.discriminator = nn.Sequential(nn.Linear(4, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))

    def adversarial_loss(self, y_hat, y):
        return nn.functional.binary_cross_entropy_with_logits(y_hat, y)

    def training_step(self, batch, batch_idx):
        opt_g, opt_d = self.optimizers()
        fake = self.generator(torch.randn(len(batch), 4))  # built
        real_label, fake_label = torch.ones(len(batch), 1), torch.zeros(len(batch), 1)

        d_real = self.adversarial_loss(self.discriminator(batch), real_label)
        d_fake = self.adversarial_loss(self.discriminator(fake), fake_label)  # right: d_fake = self.adversarial_loss(self.discriminator(fake.detach()), fake_label)
        d_loss = (d_real + d_fake) / 2
        opt_d.zero_grad()
        self.manual_backward(d_loss)  # freed
        opt_d.step()

        g_loss = self.adversarial_loss(self.discriminator(fake), real_label)
        opt_g.zero_grad()
        self.manual_backward(g_loss)  # reused
        opt_g.step()
        self.last = d_loss.item(), g_loss.item()

    def configure_optimizers(self):
        g = torch.optim.Adam(self.generator.parameters(), lr=1e-3)
        d = torch.optim.Adam(self.discriminator.parameters(), lr=1e-3)
        return [g, d], []


data = torch.utils.data.DataLoader(torch.randn(32, 4), batch_size=8)
model = GAN()
L.Trainer(max_epochs=2, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False).fit(model, data)
print([round(value, 5) for value in model.last])
