"""Check every Python file of the standard library and of site-packages: none may crash the interpreter or hang it.

    python tools/check_survives.py [--seconds 600] [--folder DIR ...] [--every N]

Prints the time it was given and took, the slowest files, and each file on which our own code failed (there must be
none). Exits with 1 when there is one, or when the time was not enough.
"""

from __future__ import annotations

import argparse
import os
import sys
import sysconfig
import time
from concurrent.futures import ProcessPoolExecutor

from afterward.tasks import check_files

LONGEST = 5.0  # seconds that one file may take, parsing included


def files_below(folder: str) -> list[str]:
    found = []
    for here, _, names in os.walk(folder):
        found += [os.path.join(here, name) for name in names if name.endswith(".py")]
    return sorted(found)


def survive(files: list[str]) -> list[tuple[str, float, str, int]]:
    """(file, seconds, what our code did wrong, findings) for each file; a file that can not be parsed is no failure."""
    os.environ["AFTERWARD_STRICT"] = "1"
    results = []
    for file in files:
        begin = time.process_time()  # other programs may be busy beside this one
        wrong, count = "", 0
        try:
            count = len(check_files.WORKER.check(file, 0.5).findings)
        except Exception as error:
            wrong = f"{type(error).__name__}: {error}"
        results.append((file, time.process_time() - begin, wrong, count))
    return results


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=900.0)
    parser.add_argument("--folder", action="append", help="instead of the standard library and site-packages")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only each N-th file")
    options = parser.parse_args()
    paths = sysconfig.get_paths()
    folders = options.folder or sorted({paths["stdlib"], paths["purelib"], paths["platlib"]})
    files = list(dict.fromkeys(file for folder in folders for file in files_below(folder)))[:: options.every]
    print(f"{len(files)} files in {', '.join(folders)}; {options.seconds:.0f} s given")
    begin = time.perf_counter()
    chunks = [files[start : start + 32] for start in range(0, len(files), 32)]
    results: list[tuple[str, float, str, int]] = []
    late = False
    with ProcessPoolExecutor(initializer=check_files.begin) as pool:
        futures = [pool.submit(survive, chunk) for chunk in chunks]
        for future in futures:
            left = options.seconds - (time.perf_counter() - begin)
            try:
                results += future.result(timeout=max(left, 0.1))
                if len(results) % 3200 == 0:
                    print(f"{len(results)} files, {time.perf_counter() - begin:.0f} s", file=sys.stderr, flush=True)
            except TimeoutError:
                late = True
                break
        if late:
            pool.shutdown(wait=False, cancel_futures=True)
    took = time.perf_counter() - begin
    failed = [one for one in results if one[2]]
    slow = sorted(results, key=lambda one: one[1], reverse=True)[:5]
    found = sum(one[3] for one in results)
    print(f"{len(results)} files checked in {took:.1f} s ({len(results) / took:.0f} a second), {found} findings")
    for file, seconds, _, _ in slow:
        print(f"  {seconds:5.2f} s  {file}")
    for file, _, wrong, _ in failed:
        print(f"FAILED {file}: {wrong}")
    for file, seconds, _, _ in slow:
        if seconds > LONGEST:
            print(f"TOO SLOW {file}: {seconds:.1f} s")
    return 1 if failed or late or slow[0][1] > LONGEST else 0


if __name__ == "__main__":
    sys.exit(main())
