import os
import random
import sys
import time

print(hash("afterword"), list({"b", "a", "c"}), sys.hash_info.width, random.random() != random.random())
random.seed(3)
print(random.random(), random.getstate()[1][-1])
print(os.getpid() != os.getppid(), time.process_time() < 60, sys.orig_argv[0][-10:], sys.executable[-10:])
print(sys.orig_argv[-1], sys.flags.safe_path, sys.flags.isolated, sys.path[0][-7:])
