"""afterward says what became of an autograd graph: where it was built, freed and used again.

with afterward.watch() as run:
    train()
run.report().findings

PYTEST_DONT_REWRITE: under `afterward run -m pytest` this is imported before pytest begins, which would warn of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
__all__ = ["__version__", "install", "watch"]

if TYPE_CHECKING:
    from afterward.integrations.program import install, watch


def __getattr__(name: str) -> Any:
    # Loaded on first use: `import afterward` itself must cost nothing.
    if name in ("watch", "install"):
        from afterward.observe.marks.own_modules import own_modules

        own_modules.begin_inside()
        with own_modules.ours():
            from afterward.integrations import program

        return getattr(program, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext afterward`."""
    from afterward.integrations.notebook import load

    load(shell)


def unload_ipython_extension(shell: Any) -> None:
    """`%unload_ext afterward`."""
    from afterward.integrations.notebook import unload

    unload(shell)
