"""What the methods are called that matter to a graph, whatever has them: one table for all who read source."""

from __future__ import annotations

BACKWARD = frozenset({"backward", "manual_backward"})
PASSES = BACKWARD | {"grad"}
# They put what they are given into a container.
PUTTING = frozenset({"append", "appendleft", "extend", "insert", "add", "put", "push", "update", "setdefault"})
