"""Every page on real torch: its program raises the message, the other one does not."""

from __future__ import annotations

import warnings

import pytest

from afterward import messages
from afterward.rules import all_rules

torch = pytest.importorskip("torch")

PAGES = messages.all_pages()
# What only several processes, a compiler, a GPU or a full machine can raise. Tests of those have their own programs.
WITHOUT_PROGRAM = {
    "compiled-double-backward",
    "donated-buffers",
    "out-of-memory",
    "ready-twice",
    "recurrent-layer-differentiated-twice",
    "recurrent-layer-in-eval-mode",
    "unfinished-reduction",
    "unused-parameters-not-found",
}


def said(code: str, name: str) -> list[str]:
    """What a program raises or warns, also what torch warns of once in a process."""
    always = torch.is_warn_always_enabled()
    torch.set_warn_always(True)
    try:
        return _said(code, name)
    finally:
        torch.set_warn_always(always)


def _said(code: str, name: str) -> list[str]:
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            exec(compile(code, name, "exec"), {"__name__": "program"})
        except Exception as error:
            return [str(error), *(str(one.message) for one in warned)]
    return [str(one.message) for one in warned]


def pages_of(texts: list[str]) -> list[str]:
    return [page.name for page in map(messages.find, texts) if page is not None]


@pytest.mark.parametrize("page", [page for page in PAGES if page.raises], ids=lambda page: page.name)
def test_the_program_raises_the_message(page: messages.Page) -> None:
    texts = said(page.raises, page.name)
    if any(text.startswith("module 'torch") for text in texts):
        pytest.skip(f"not in torch {torch.__version__}")
    assert page.name in pages_of(texts), texts


@pytest.mark.parametrize("page", [page for page in PAGES if page.right], ids=lambda page: page.name)
def test_the_right_program_says_nothing_of_graphs(page: messages.Page) -> None:
    assert pages_of(said(page.right, page.name)) == []


def test_a_page_is_whole() -> None:
    sentences = {"leaf", *map(str, range(1, 8))}
    for page in PAGES:
        assert page.messages, page.name
        assert page.why, page.name
        assert page.law in sentences, page.name
        assert bool(page.raises) == bool(page.right) == (page.name not in WITHOUT_PROGRAM), page.name


def test_messages_of_a_rule_name_a_rule_that_exists() -> None:
    known = {rule.code for rule in all_rules()}
    for page in PAGES:
        assert set(page.rules) <= known, page.name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_message_finds_its_own_page(page: messages.Page) -> None:
    for message in page.messages:
        assert messages.find(f"RuntimeError: {message}, and more") is page


def test_a_message_broken_over_lines_is_found() -> None:
    pasted = "    RuntimeError: Trying to backward through the\n      graph a second time (or directly access"
    found = messages.find(pasted)
    assert found is not None
    assert found.name == "second-backward"


@pytest.mark.parametrize(
    "pasted",
    [
        "[rank0]: RuntimeError: Trying to backward through the\n[rank0]: graph a second time (or directly access",
        "\x1b[0;31mRuntimeError\x1b[0m: Trying to \x1b[1mbackward\x1b[0m through the graph a second time",
        "\x1b[31mtrying to backward through the graph\x1b[0m",
        "\u2502 RuntimeError: Trying to backward through the \u2502\n\u2502 graph a second time \u2502",
        "job-1  | RuntimeError: Trying to backward through\njob-1  | the graph a second time",
        "2026-01-03T10:11:12.5Z Trying to backward\n2026-01-03T10:11:12.6Z through the graph a second time",
        "> RuntimeError: Trying to backward through the\n> graph a second time\n>\n> What does it mean?",
        "E   RuntimeError: Trying to backward through the graph a second\nE   time (or directly access",
        '"\\u001b[0;31mRuntimeError\\u001b[0m: Trying to \\u001b[1mbackward\\u001b[0m through the graph a second time"',
        "<span class='red'>RuntimeError</span>: Trying to <b>backward</b> through the graph a second time</pre>",
        "RuntimeError: Trying to `backward` through the graph a second time",
        "RuntimeError: Trying to backward through the gra...",
        "...ckward through the graph a second time\u2026",
    ],
)
def test_what_terminals_and_launchers_add_does_not_hide_a_message(pasted: str) -> None:
    found = messages.find(pasted) or messages.find_part(pasted)
    assert found is not None
    assert found.name == "second-backward"


def test_other_quotation_marks_do_not_hide_a_message() -> None:
    for pasted in ("can\u2019t optimize a non-leaf Tensor", "can&#39;t optimize a non-leaf Tensor"):
        found = messages.find(pasted)
        assert found is not None
        assert found.name == "non-leaf-optimized"


def test_the_last_message_of_a_traceback_counts() -> None:
    first = "UserWarning: Can't call numpy() on Tensor that requires grad."
    found = messages.find(f"{first}\n...\nRuntimeError: can't optimize a non-leaf Tensor")
    assert found is not None
    assert found.name == "non-leaf-optimized"


def test_other_errors_have_no_page() -> None:
    for text in ("KeyError: 'loss'", "RuntimeError: mat1 and mat2 shapes cannot be multiplied (4x3 and 4x2)", ""):
        assert messages.find(text) is None
