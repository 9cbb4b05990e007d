"""How often something must have been seen before it is said of a run."""

from __future__ import annotations

AGAIN = 2  # the first time may be part of setting up
SEVERAL = 3  # of what nothing uses: a use may come with every other step
