import logging
import sys
import traceback

import torch

logging.basicConfig(stream=sys.stdout)
torch.manual_seed(0)
w = torch.rand(3, requires_grad=True)


def attempt(i):
    y = (w * w).sum()
    y.backward()
    if i % 2:
        y.backward()


for i in range(6):
    try:
        attempt(i)
    except RuntimeError as e:
        logging.exception("attempt %d", i)
        print(
            getattr(e, "__notes__", None),
            len(traceback.extract_tb(e.__traceback__)),
            e.args == (str(e),),
            e.__context__,
        )
        traceback.print_exc()
print(w.grad.tolist())
