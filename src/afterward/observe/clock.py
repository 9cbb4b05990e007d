"""The clock of a record, as the observer reads it off."""

from __future__ import annotations

from afterward.model.clock import event_moment, node_moment

__all__ = ["event_moment", "node_moment"]
