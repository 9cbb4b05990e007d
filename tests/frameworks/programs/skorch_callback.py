# needs: skorch
# finds: AFT301 callback.batch_losses item_for_logging
import numpy as np
import torch
from skorch import NeuralNetClassifier
from skorch.callbacks import Callback
from torch import nn

torch.manual_seed(0)


class BatchLosses(Callback):
    def initialize(self):
        self.batch_losses = []
        return self


class Net(NeuralNetClassifier):
    def get_loss(self, y_pred, y_true, X=None, training=False):
        loss = super().get_loss(y_pred, y_true, X, training)
        if training:
            for _, callback in self.callbacks_:
                if isinstance(callback, BatchLosses):
                    callback.batch_losses.append(loss)  # right: callback.batch_losses.append(loss.item())
        return loss


module = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3), nn.Softmax(-1))
X, y = np.random.RandomState(0).randn(60, 6).astype("float32"), np.random.RandomState(1).randint(0, 3, 60)
net = Net(module, max_epochs=3, lr=0.1, batch_size=6, train_split=None, verbose=0, callbacks=[BatchLosses])
net.fit(X, y)
print(round(net.history[-1]["train_loss"], 6))
