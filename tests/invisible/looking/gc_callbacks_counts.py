"""Generations, thresholds, callbacks and stats around plain work."""
import gc

log = []
gc.callbacks.append(lambda phase, info: log.append((phase, info["generation"], info["collected"] if phase == "stop" else None)))
gc.collect()
log.clear()


class Node:
    pass


def rings(n):
    for _ in range(n):
        a, b = Node(), Node()
        a.b, b.a = b, a


before = gc.get_count()
rings(1000)
print(log[:20], len(log), gc.get_threshold(), gc.isenabled(), len(gc.callbacks))
gc.disable()
rings(100)
print(gc.collect(), gc.garbage, log[-1])
gc.enable()
gc.set_threshold(50, 2, 2)
log.clear()
rings(500)
print(len(log), log[:12])
gc.freeze()
print(gc.get_freeze_count() > 0)
gc.unfreeze()
gc.set_debug(gc.DEBUG_SAVEALL)
rings(3)
gc.collect()
print(len(gc.garbage))
