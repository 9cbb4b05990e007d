"""The workbench lives in tools/: put it within reach of these tests."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3] / "tools"))
