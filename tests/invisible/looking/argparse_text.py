"""Usage, help and error text of argparse with the program's own name; parse errors end with 2."""
import argparse
import os
import sys

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--lr", type=float, default=0.1, help="rate (default %(default)s) of %(prog)s")
parser.add_argument("--run", action="store_true")
parser.add_argument("--out")
parser.add_argument("--version", action="version", version="%(prog)s 1")
sub = parser.add_subparsers(dest="cmd")
sub.add_parser("train").add_argument("--format", choices=["a", "b"])
print(parser.prog, os.path.basename(sys.argv[0]), len(sys.argv))
parser.print_help()
print(parser.parse_args(["--run", "--out", "x", "train", "--format", "a"]))
try:
    parser.parse_args(["--version"])
except SystemExit as e:
    print(e.code)
parser.parse_args(["--lr", "abc"])
