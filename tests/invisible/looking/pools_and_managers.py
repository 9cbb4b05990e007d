"""multiprocessing pools by fork and spawn, concurrent.futures, a manager, an error in a worker with its remote traceback."""
import concurrent.futures as cf
import multiprocessing as mp
import os
import sys


def work(x):
    if x == 3:
        raise ValueError("three")
    return x * x, __name__, mp.current_process().name.split("-")[0], sys.argv[0][-7:]


def init():
    global READY
    READY = True


def check(_):
    return READY


def safe(x):
    try:
        return work(x)
    except ValueError as e:
        return str(e)


if __name__ == "__main__":
    for how in ("fork", "spawn", "forkserver"):
        ctx = mp.get_context(how)
        with ctx.Pool(1, init) as pool:
            print(how, pool.map(safe, range(5)), pool.map(check, [0]))
            try:
                pool.map(work, [3])
            except ValueError as e:
                print(str(e.__cause__).replace(os.getcwd(), "."))
    with cf.ProcessPoolExecutor(1, mp_context=mp.get_context("spawn")) as ex:
        future = ex.submit(work, 3)
        print(type(future.exception()).__name__, list(ex.map(safe, [1, 2])))
    with mp.Manager() as manager:
        d = manager.dict(a=1)
        p = mp.Process(target=d.update, args=({"b": 2},))
        p.start()
        p.join()
        print(dict(d), p.exitcode)
    p = mp.get_context("spawn").Process(target=sys.exit, args=(4,))
    p.start()
    p.join()
    print(p.exitcode)
    p = mp.get_context("fork").Process(target=work, args=(3,))
    p.start()
    p.join()
    print(p.exitcode)
