"""The language server as an editor sees it: a real client, over standard input and output."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

pytest.importorskip("pygls")
from lsprotocol import types
from pygls.lsp.client import LanguageClient

# A sign outside the basic plane before the call: one code point, two units of UTF-16, four bytes of UTF-8.
FAULTY = """\
import torch

weight = torch.ones(3, requires_grad=True)
loss = (weight * weight).sum()
loss.backward()
"\U0001f525"; loss.backward()
"""
FIXED = FAULTY.replace('"\U0001f525"; loss.backward()\n', "")
LINE = 5


class Editor(LanguageClient):
    """A client that remembers what the server tells it."""

    def __init__(self) -> None:
        super().__init__("test", "1")
        self.told: asyncio.Queue[types.PublishDiagnosticsParams] = asyncio.Queue()
        self.shown: asyncio.Queue[str] = asyncio.Queue()

        @self.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def publish(params: types.PublishDiagnosticsParams) -> None:
            self.told.put_nowait(params)

        @self.feature(types.WINDOW_SHOW_MESSAGE)
        def show(params: types.ShowMessageParams) -> None:
            self.shown.put_nowait(params.message)

        @self.feature(types.WINDOW_LOG_MESSAGE)
        def log(params: types.LogMessageParams) -> None:
            pass

    async def diagnostics(self) -> types.PublishDiagnosticsParams:
        return await asyncio.wait_for(self.told.get(), 60)


def in_an_editor(talk: Callable[[Editor, str, Path], Awaitable[None]], folder: Path) -> None:
    file = folder / "train.py"
    file.write_text(FAULTY, encoding="utf-8")

    async def session() -> None:
        editor = Editor()
        await editor.start_io(sys.executable, "-m", "afterward", "lsp")
        try:
            await editor.initialize_async(types.InitializeParams(capabilities=types.ClientCapabilities()))
            editor.initialized(types.InitializedParams())
            item = types.TextDocumentItem(file.as_uri(), types.LanguageKind.Python, 1, FAULTY)
            editor.text_document_did_open(types.DidOpenTextDocumentParams(item))
            await talk(editor, file.as_uri(), file)
            await editor.shutdown_async(None)
            editor.exit(None)
            await editor.stop()
        except BaseException:
            assert editor._server is not None
            editor._server.kill()
            raise

    asyncio.run(asyncio.wait_for(session(), 120))


def change(editor: Editor, uri: str, text: str, version: int) -> None:
    whole = types.TextDocumentContentChangeWholeDocument(text)
    document = types.VersionedTextDocumentIdentifier(version, uri)
    editor.text_document_did_change(types.DidChangeTextDocumentParams(document, [whole]))


def test_findings_come_as_one_types_and_go(tmp_path: Path) -> None:
    async def talk(editor: Editor, uri: str, file: Path) -> None:
        (found,) = (await editor.diagnostics()).diagnostics
        assert found.code == "AFT101"
        assert found.code_description is not None
        assert found.code_description.href.endswith("/rules/backward_twice.md")
        assert found.severity is types.DiagnosticSeverity.Error
        assert found.range.start == types.Position(LINE, 6)  # quotes, sign (2 units), semicolon, space
        assert found.range.end == types.Position(LINE, 21)
        lines = {one.location.range.start.line for one in found.related_information or ()}
        assert {3, 4} <= lines  # built, freed
        change(editor, uri, FIXED + "x = (\n", 2)  # in the middle of typing: nothing is said
        change(editor, uri, FIXED, 3)
        told = await editor.diagnostics()
        assert (list(told.diagnostics), told.version) == ([], 3)
        change(editor, uri, FAULTY, 4)
        assert len((await editor.diagnostics()).diagnostics) == 1
        editor.text_document_did_save(types.DidSaveTextDocumentParams(types.TextDocumentIdentifier(uri)))
        assert len((await editor.diagnostics()).diagnostics) == 1
        editor.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri)))
        assert not (await editor.diagnostics()).diagnostics

    in_an_editor(talk, tmp_path)


def test_hover_and_actions(tmp_path: Path) -> None:
    async def talk(editor: Editor, uri: str, file: Path) -> None:
        (found,) = (await editor.diagnostics()).diagnostics
        document = types.TextDocumentIdentifier(uri)
        hover = await editor.text_document_hover_async(types.HoverParams(document, types.Position(LINE, 9)))
        assert hover is not None
        assert isinstance(hover.contents, types.MarkupContent)
        assert "Nothing is recomputed in between" in hover.contents.value
        assert "[AFT101 backward-twice](file:" in hover.contents.value
        assert len(hover.contents.value.splitlines()) < 10
        nothing = await editor.text_document_hover_async(types.HoverParams(document, types.Position(0, 1)))
        assert nothing is None
        context = types.CodeActionContext([found])
        asked = types.CodeActionParams(document, found.range, context)
        answer = await editor.text_document_code_action_async(asked) or ()
        actions = [one for one in answer if isinstance(one, types.CodeAction)]
        titles = [one.title for one in actions]
        silence = actions[titles.index("Silence AFT101 on this line")]
        assert applied(FAULTY, silence, uri).splitlines()[LINE].endswith("  # afterward: ignore[backward-twice]")
        change(editor, uri, applied(FAULTY, silence, uri), 2)
        assert not (await editor.diagnostics()).diagnostics
        explain = types.ExecuteCommandParams("afterward.explain", ["AFT101"])
        assert any("Explain AFT101" in str(one) for one in answer)
        change(editor, uri, FAULTY, 3)
        await editor.diagnostics()
        await editor.workspace_execute_command_async(explain)
        assert "# AFT101" in await asyncio.wait_for(editor.shown.get(), 60)

    in_an_editor(talk, tmp_path)


def test_a_remedy_can_be_written(tmp_path: Path) -> None:
    pytest.importorskip("libcst")

    async def talk(editor: Editor, uri: str, file: Path) -> None:
        (found,) = (await editor.diagnostics()).diagnostics
        asked = types.CodeActionParams(types.TextDocumentIdentifier(uri), found.range, types.CodeActionContext([found]))
        actions = [
            one
            for one in await editor.text_document_code_action_async(asked) or ()
            if isinstance(one, types.CodeAction)
        ]
        remedies = [one for one in actions if "not tested" in one.title]
        assert remedies
        texts = [applied(FAULTY, one, uri) for one in remedies]
        assert any(text.count("loss.backward()") == 1 for text in texts)
        for text in texts:
            compile(text, "train.py", "exec")

    in_an_editor(talk, tmp_path)


def applied(text: str, action: types.CodeAction, uri: str) -> str:
    """The text after an action, its positions read as UTF-16."""
    assert action.edit is not None
    assert action.edit.changes is not None
    lines = text.splitlines(keepends=True)

    def offset(position: types.Position) -> int:
        line = lines[position.line] if position.line < len(lines) else ""
        column = len(line.encode("utf-16-le")[: position.character * 2].decode("utf-16-le"))
        return sum(map(len, lines[: position.line])) + column

    for edit in sorted(action.edit.changes[uri], key=lambda one: offset(one.range.start), reverse=True):
        text = text[: offset(edit.range.start)] + edit.new_text + text[offset(edit.range.end) :]
    return text


def test_without_pygls_there_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "pygls.py").write_text("raise ModuleNotFoundError(name='pygls')\n")
    code = "import sys; sys.path.insert(0, '.'); from afterward.cli import main; sys.exit(main(['lsp']))"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr == "afterward: the language server needs pygls: pip install 'afterward[lsp]'\n"
