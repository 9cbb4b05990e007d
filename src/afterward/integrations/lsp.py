"""`afterward lsp`: what `check` finds, in the editor, as the text is typed.

Diagnostics with the places that belong to a fault; cause and help as hover text; actions that write a remedy, silence
the line, or show the page. Checks run in one thread beside the conversation, a moment after the last key, and the
remedies are written down there too, so that they are at hand when the editor asks.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, cast

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.uris import from_fs_path, to_fs_path

from afterward import __version__
from afterward.integrations.lsp_places import Lines, overlap
from afterward.integrations.lsp_stream import Messages
from afterward.model.diagnosis import Diagnosis, Severity
from afterward.model.site import Site
from afterward.render.template import capital
from afterward.render.wording import headline, help_text, said
from afterward.tasks.editor import Suggestion, findings_in, page_file, page_for, suggestions

PAUSE = 0.4  # seconds after the last change
EXPLAIN = "afterward.explain"
_STACK = 64 * 1024 * 1024  # deep programs are interpreted deeply
_SEVERITY = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
    Severity.INFO: types.DiagnosticSeverity.Information,
}


@dataclass
class Checked:
    """What was last found in a document, and the text it was found in."""

    text: str = ""
    found: list[tuple[Diagnosis, types.Range]] = field(default_factory=list)
    written: dict[int, list[Suggestion]] = field(default_factory=dict)  # by the place of the finding in that list


class Server(LanguageServer):
    """The conversation with one editor."""

    def __init__(self) -> None:
        super().__init__("afterward", __version__)
        self.checked: dict[str, Checked] = {}
        self.waiting: dict[str, asyncio.Task[None]] = {}
        before = threading.stack_size(_STACK)
        try:
            self.worker = ThreadPoolExecutor(1, "afterward-check")
            self.worker.submit(int).result()  # its thread begins now, with that stack
        finally:
            threading.stack_size(before)

    @property
    def encoding(self) -> str:
        return self.server_capabilities.position_encoding or types.PositionEncodingKind.Utf16

    def check_soon(self, uri: str, pause: float = 0.0) -> None:
        """Check a document after a pause; a later change begins the pause again."""
        earlier = self.waiting.pop(uri, None)
        if earlier is not None:
            earlier.cancel()
        self.waiting[uri] = asyncio.get_running_loop().create_task(self._check(uri, pause))

    def forget(self, uri: str) -> None:
        earlier = self.waiting.pop(uri, None)
        if earlier is not None:
            earlier.cancel()
        self.checked.pop(uri, None)
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))

    async def _check(self, uri: str, pause: float) -> None:
        await asyncio.sleep(pause)
        document = self.workspace.get_text_document(uri)
        try:
            text, version = document.source, document.version
        except (OSError, ValueError):  # the editor has not opened it, and it cannot be read where it should be
            return
        file = to_fs_path(uri) or uri
        found, error = await asyncio.get_running_loop().run_in_executor(self.worker, findings_in, file, text)
        if error is not None:
            self.window_log_message(types.LogMessageParams(types.MessageType.Info, f"afterward: {error}"))
            return  # while a statement is being typed, what was found before still stands
        lines = Lines(text, self.encoding)
        self.checked[uri] = Checked(text, [(one, lines.range_of(one.primary.site)) for one in found])
        known = self.checked[uri]
        diagnostics = [self._diagnostic(one, place) for one, place in known.found]
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, diagnostics, version))
        await asyncio.get_running_loop().run_in_executor(self.worker, _write_down, known)

    def _diagnostic(self, found: Diagnosis, place: types.Range) -> types.Diagnostic:
        return types.Diagnostic(
            place,
            headline(found),
            _SEVERITY[found.severity],
            found.code,
            code_description=_description(found),
            source="afterward",
            related_information=list(self._related(found)),
        )

    def _related(self, found: Diagnosis) -> list[types.DiagnosticRelatedInformation]:
        places = [(label.site, label.text) for label in said(found).secondary]
        known = {(site.file, site.line) for site, _ in places}
        for site, text in ((found.built, "built here"), (found.freed, "freed here"), (found.written, "written here")):
            if site is not None and (site.file, site.line) not in known:
                places.append((site, text))
        return [types.DiagnosticRelatedInformation(self._location(site), text) for site, text in places]

    def _location(self, site: Site) -> types.Location:
        uri = from_fs_path(site.file) or site.file
        return types.Location(uri, Lines(self.workspace.get_text_document(uri).source, self.encoding).range_of(site))

    # Answers

    def at(self, uri: str, place: types.Range) -> list[tuple[Diagnosis, types.Range]]:
        known = self.checked.get(uri)
        return [(found, here) for found, here in known.found if overlap(here, place)] if known is not None else []

    def hover(self, uri: str, position: types.Position) -> types.Hover | None:
        for found, place in self.at(uri, types.Range(position, position)):
            words, page = said(found), _description(found)
            more = f"[{found.code} {found.name}]({page.href})" if page is not None else f"{found.code} {found.name}"
            text = "\n\n".join(
                part for part in (words.why, *(f"**help:** {one}" for one in words.helps[:2]), more) if part
            )
            return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, text), place)
        return None

    def actions(self, uri: str, place: types.Range) -> list[types.CodeAction]:
        made: list[types.CodeAction] = []
        known = self.checked.get(uri)
        if known is None or known.text != self.workspace.get_text_document(uri).source:
            return made  # typed on since: positions may be off until the next check
        for number, (found, here) in enumerate(known.found):
            if not overlap(here, place):
                continue
            about = [self._diagnostic(found, here)]
            made += self._remedies(uri, known, number, about)
            made.append(self._ignore(uri, known.text, found, about))
            show = types.Command(f"Explain {found.code}", EXPLAIN, arguments=[found.code])
            made.append(types.CodeAction(f"Explain {found.code} ({found.name})", command=show, diagnostics=about))
        return made

    def _remedies(self, uri: str, known: Checked, number: int, about: list[types.Diagnostic]) -> list[types.CodeAction]:
        found = known.found[number][0]
        file, made = found.primary.site.file, []
        for one in known.written.get(number) or suggestions(found, {file: known.text}):
            lines = Lines(known.text, self.encoding)
            edits = [lines.of_change(change) for change in one.changes[file]]
            made.append(
                types.CodeAction(
                    f"{capital(help_text(found, one.remedy))} (not tested: `afterward fix` runs it)",
                    types.CodeActionKind.QuickFix,
                    about,
                    is_preferred=one.recommended,
                    edit=types.WorkspaceEdit({uri: edits}),
                )
            )
        return made

    def _ignore(self, uri: str, text: str, found: Diagnosis, about: list[types.Diagnostic]) -> types.CodeAction:
        lines = Lines(text, self.encoding)
        end = lines.end_of(found.primary.site.end_line - 1)
        edit = types.TextEdit(types.Range(end, end), f"  # afterward: ignore[{found.name}]")
        title = f"Silence {found.code} on this line"
        return types.CodeAction(title, types.CodeActionKind.QuickFix, about, edit=types.WorkspaceEdit({uri: [edit]}))

    def explain(self, code: str) -> None:
        """Show the page of a rule: as a document where the editor can, else as a message."""
        found = next((one for known in self.checked.values() for one, _ in known.found if one.code == code), None)
        if found is None:
            return
        window = self.client_capabilities.window
        if window is not None and window.show_document is not None and window.show_document.support:
            file = Path(tempfile.gettempdir()) / f"afterward-{code}.md"
            file.write_text(page_for(found), encoding="utf-8")
            self.window_show_document(types.ShowDocumentParams(file.as_uri(), take_focus=True))
        else:
            self.window_show_message(types.ShowMessageParams(types.MessageType.Info, page_for(found)))


def _description(found: Diagnosis) -> types.CodeDescription | None:
    """Where the rule is explained: its page, which is installed with us."""
    page = page_file(found)
    return types.CodeDescription(page.as_uri()) if page is not None else None


def _write_down(known: Checked) -> None:
    for number, (found, _) in enumerate(known.found):
        known.written[number] = list(suggestions(found, {found.primary.site.file: known.text}))


def make_server() -> Server:
    server = Server()

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    async def opened(params: types.DidOpenTextDocumentParams) -> None:
        server.check_soon(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    async def changed(params: types.DidChangeTextDocumentParams) -> None:
        server.check_soon(params.text_document.uri, PAUSE)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    async def saved(params: types.DidSaveTextDocumentParams) -> None:
        server.check_soon(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    async def closed(params: types.DidCloseTextDocumentParams) -> None:
        server.forget(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    def hover(params: types.HoverParams) -> types.Hover | None:
        return server.hover(params.text_document.uri, params.position)

    @server.feature(
        types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix])
    )
    def actions(params: types.CodeActionParams) -> list[types.CodeAction]:
        return server.actions(params.text_document.uri, params.range)

    @server.command(EXPLAIN)
    def explain(code: str) -> None:
        server.explain(code)

    return server


def start() -> None:
    """Speak with the editor over standard input and output until it says goodbye."""
    make_server().start_io(cast(BinaryIO, Messages(sys.stdin.buffer)))
