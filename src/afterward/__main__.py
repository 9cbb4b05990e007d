"""`python -m afterward`."""

import sys

from afterward.cli import main

sys.exit(main())
