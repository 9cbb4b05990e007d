import sys

started = set(sys.modules)
import os  # noqa: E402

print("torch" in sys.modules, "numpy" in sys.modules, "rich" in sys.modules, "afterward" in sys.modules)
print(
    sorted(
        n
        for n in started
        if n in {"ast", "dis", "inspect", "json", "argparse", "typing", "subprocess", "threading", "re", "logging"}
    )
)
print(sorted(n for n in sys.modules if "mark" in n or "watch" in n), os.sep)
