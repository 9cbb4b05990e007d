import tracemalloc

tracemalloc.start(5)
kept = []
for i in range(500):
    kept.append(bytearray(1000))
snapshot = tracemalloc.take_snapshot().filter_traces([tracemalloc.Filter(True, __file__)])
top = snapshot.statistics("lineno")[0]
print(top.count, top.traceback[0].lineno, top.size // 1000)
frames = max(snapshot.traces, key=lambda t: t.size).traceback
print(len(frames), [f.lineno for f in frames])
tracemalloc.stop()
