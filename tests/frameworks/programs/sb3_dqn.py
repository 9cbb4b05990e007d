# needs: stable_baselines3
# finds: AFT103 self.h detach_state
import gymnasium as gym
import torch
from stable_baselines3 import DQN
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from torch import nn


class RecurrentExtractor(BaseFeaturesExtractor):
    def __init__(self, observation_space, features_dim=16):
        super().__init__(observation_space, features_dim)
        self.gru = nn.GRU(observation_space.shape[0], features_dim)
        self.h = None

    def forward(self, observations):
        h = self.h
        out, self.h = self.gru(observations, h)  # built  # right: out, self.h = self.gru(observations, h if h is None else h.detach())
        return out


env = gym.make("CartPole-v1")
kwargs = dict(features_extractor_class=RecurrentExtractor, net_arch=[16])
model = DQN("MlpPolicy", env, policy_kwargs=kwargs, learning_starts=32, batch_size=8, train_freq=4, gradient_steps=2, seed=0, device="cpu")
model.learn(80)
print(round(float(sum(p.sum() for p in model.q_net.parameters())), 4))
