"""`python -m afterward`."""

import os
import sys

# Python puts the working folder first. A module that lies there is the program's, not ours.
if not sys.flags.isolated and not getattr(sys.flags, "safe_path", False):
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

from afterward.cli import main

sys.exit(main())
