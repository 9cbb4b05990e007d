import time


class Stopwatch:
    def on_batch_start(self, trainer):
        self.t0 = time.perf_counter()

    def on_batch_end(self, trainer):
        self.spent = time.perf_counter() - self.t0


class GradNorm:
    """Prints the gradient norm now and then."""

    def __init__(self, every):
        self.every = every

    def on_batch_end(self, trainer):
        if trainer.state.step % self.every:
            return
        trainer.net.zero_grad()
        trainer.state.loss.backward()
        total = sum(float(p.grad.norm()) ** 2 for p in trainer.net.parameters()) ** 0.5
        trainer.state.logs.append(total)
        print("step", trainer.state.step, "grad norm", round(total, 4))
