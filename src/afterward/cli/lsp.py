"""`afterward lsp`: the language server, over standard input and output. Editors start it."""

from __future__ import annotations

import argparse
from importlib import import_module
from typing import Any

from afterward.errors import AfterwardError


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "lsp",
        help="start the language server: findings as you type",
        description="A language server over standard input and output. Editors start it; see docs/editors.md.",
    )
    parser.add_argument("--stdio", action="store_true", help="accepted for editors that pass it; the only way")
    parser.set_defaults(perform=perform)


def perform(options: argparse.Namespace) -> int:
    try:
        server = import_module("afterward.integrations.lsp")
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in ("pygls", "lsprotocol"):
            raise
        raise AfterwardError("the language server needs pygls: pip install 'afterward[lsp]'") from None
    server.start()
    return 0
