"""Which files are the reader's own: all but Python's, installed packages', what these write, and afterward's."""

from __future__ import annotations

import os
import sysconfig
import tempfile
import time
from functools import lru_cache

_HERE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_INSTALLED = {
    os.path.realpath(path)
    for name, path in sysconfig.get_paths().items()
    if name in ("stdlib", "platstdlib", "purelib", "platlib")
}
_CELL = "<ipython-input-"  # what IPython calls a cell, where it has no better name for it
_PACKAGE_FOLDERS = {"site-packages", "dist-packages"}
_TEMPORARY = os.path.realpath(tempfile.gettempdir())
_BEGAN = time.time()


@lru_cache(maxsize=1024)
def _is_installed(folder: str) -> bool:
    path = os.path.realpath(folder) + os.sep
    if path.startswith(_HERE + os.sep) or _PACKAGE_FOLDERS & set(path.split(os.sep)):
        return True
    return any(path.startswith(installed + os.sep) for installed in _INSTALLED)


@lru_cache(maxsize=4096)
def is_user_file(file: str) -> bool:
    if file.startswith(_CELL):
        return True
    if file.startswith("<") or (not file.endswith((".py", ".pyw")) and not os.path.isfile(file)):
        return False
    path = os.path.realpath(file) if os.path.islink(file) else file
    return not (_is_installed(os.path.dirname(path)) or _is_generated(path))


def _is_generated(path: str) -> bool:
    """Written among the temporary files since the program began: a library's own, as PyG's code for a layer is."""
    if os.path.realpath(os.path.dirname(path)) != _TEMPORARY:
        return False
    try:
        return os.stat(path).st_mtime >= _BEGAN
    except OSError:  # a notebook's cell, which has a name and no file
        return False
