"""What the parts of the machine have in common: the machine that holds them, and its state."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from afterward.interpret.machine.machine import Machine


class Part:
    """A part of the machine. It asks the others through the machine."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
