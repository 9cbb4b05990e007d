import subprocess
import sys

for text in ("None", "0", "256", "-5", "1.5", "'text'", "[1, 2]", "object", "2**31", "b'x'", "True", "ValueError(3)"):
    code = f"import sys; sys.exit({text})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    print(text, done.returncode, done.stderr.strip())


class Odd(SystemExit):
    code = 41


raise Odd("ignored")
