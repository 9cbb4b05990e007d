"""https://github.com/Project-MONAI/MONAI/issues/1178"""
import copy, torch, torch.nn as nn
class CopyItems:
    def __init__(self, keys, names):
        self.keys, self.names = keys, names
    def __call__(self, data):
        for key, name in zip(self.keys, self.names):
            data[name] = copy.deepcopy(data[key])  # raises AFT503: data[key]
        return data
net = nn.Conv2d(1, 2, 3)
after = CopyItems(["pred"], ["pred_copy"])
image = torch.randn(1, 1, 8, 8)
data = {"image": image, "pred": net(image)}
after(data)
