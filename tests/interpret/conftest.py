"""The workbench that writes random programs lives in tools/: put it within reach of these tests."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
