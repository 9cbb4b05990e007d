import copy
import pickle
import sys

import torch

weight = torch.ones(2, requires_grad=True)
loss = weight.exp().sum()
loss.backward()
try:
    loss.backward()
except RuntimeError as error:
    print(vars(error), dir(error) == dir(RuntimeError("x")), sys.getsizeof(error))
    print(len(pickle.dumps(error)), vars(copy.copy(error)), len(error.args))
    error.args = (error.args[0][:20] + " in the second step",)
    raise
