"""tracemalloc: which lines of this file hold memory, exact blocks for large ones; snapshot differences."""
import tracemalloc

tracemalloc.start(4)


def build(n):
    kept = []
    for i in range(n):
        kept.append(bytearray(10_000))
    return kept


first = tracemalloc.take_snapshot()
held = build(20)
second = tracemalloc.take_snapshot()
mine = [tracemalloc.Filter(True, __file__)]
for stat in second.filter_traces(mine).compare_to(first.filter_traces(mine), "lineno"):
    if stat.size_diff > 5000:
        print(stat.traceback[0].lineno, stat.size_diff // 1000, stat.count_diff)
trace = tracemalloc.get_object_traceback(held[0])
print([line.strip() for line in trace.format()], tracemalloc.get_traceback_limit())
print([f.lineno for f in trace])
