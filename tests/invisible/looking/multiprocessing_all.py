import multiprocessing as mp
import os
import sys


def work(n):
    total = 0
    for i in range(n):
        total += i
    if n == 3:
        raise ValueError(f"no {n}")
    return total, mp.current_process().name.split("-")[0], len(sys.argv)


def child(queue):
    queue.put([os.path.basename(sys.argv[0]), __name__, sorted(k for k in os.environ if "AFTER" in k)])
    sys.exit(6)


if __name__ == "__main__":
    for method in ("fork", "spawn", "forkserver"):
        context = mp.get_context(method)
        with context.Pool(1) as pool:
            print(method, pool.map(work, [1, 2, 4]))
            try:
                pool.apply(work, (3,))
            except ValueError as e:
                print(type(e.__cause__).__name__, str(e.__cause__).count("File"), "work.py" in str(e.__cause__))
        queue = context.Queue()
        process = context.Process(target=child, args=(queue,))
        process.start()
        print(queue.get())
        process.join()
        print(process.exitcode)
