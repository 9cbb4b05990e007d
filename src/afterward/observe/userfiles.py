"""Which files are the reader's own: everything but Python, installed packages and afterward itself."""

from __future__ import annotations

import os
import sysconfig
from functools import lru_cache

_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_INSTALLED = {
    os.path.realpath(path)
    for name, path in sysconfig.get_paths().items()
    if name in ("stdlib", "platstdlib", "purelib", "platlib")
}
_CELL = "<ipython-input-"  # what IPython calls a cell, where it has no better name for it
_PACKAGE_FOLDERS = {"site-packages", "dist-packages"}


@lru_cache(maxsize=1024)
def _real_folder(folder: str) -> str:
    return os.path.realpath(folder)


@lru_cache(maxsize=4096)
def is_user_file(file: str) -> bool:
    if file.startswith(_CELL):
        return True
    if file.startswith("<") or (not file.endswith((".py", ".pyw")) and not os.path.isfile(file)):
        return False
    folder, name = os.path.split(file)
    path = os.path.realpath(file) if os.path.islink(file) else os.path.join(_real_folder(folder), name)
    if path.startswith(_HERE + os.sep) or _PACKAGE_FOLDERS & set(path.split(os.sep)):
        return False
    return not any(path.startswith(folder + os.sep) for folder in _INSTALLED)
