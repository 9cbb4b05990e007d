"""What mkdocs can not read from docs/: a page for every rule and command, made from the code, and their menu.

mkdocs calls the functions named `on_...`; the others make the pages, and are tested by themselves.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

from afterward.cli import command_line
from afterward.cli._parser import Parser
from afterward.gallery import examples
from afterward.messages import all_pages
from afterward.rules import Rule, all_rules

sys.path.insert(0, str(Path(__file__).parent))
from site_playground import build as build_playground

DOCS = Path(__file__).parent.parent / "docs"

# Where more is written about a command than its options.
READ_ON = {
    "run": ("How it works", "how-it-works.md"),
    "check": ("Predicting from source", "check.md"),
    "report": ("The report page", "report.md"),
    "fix": ("Patches and their proofs", "fix.md"),
    "lsp": ("In editors", "editors.md"),
    "demo": ("Common advice, tested", "what-happens.md"),
    "rules": ("The rules", "rules/index.md"),
    "explain": ("The rules", "rules/index.md"),
}
SUBJECTS = {
    "AFT1": "Passes over a graph that is gone",
    "AFT2": "Saved values that were overwritten",
    "AFT3": "Graphs that outlive their step",
    "AFT4": "Lost and piled-up gradients",
    "AFT5": "Other errors that autograd raises",
}


# Pages


def rule_page(rule: Rule) -> str:
    """The rule's own page, as `afterward explain` prints it, with what stands around it."""
    title, body = rule.page().split("\n", 1)
    body = (
        _in_order(body)
        .replace("```fixed\n", "The change:\n\n```python\n")
        .replace("```\nThe change:", "```\n\nThe change:")
    )
    kind = "fails" if rule.severity.value == "error" else "raises nothing"
    shown = [program for example in examples() for program in example.programs if program.finds == rule.code]
    links = ", ".join(f"[{program.full_name}](../gallery/{program.example}.md)" for program in shown)
    seen = f"\n\n## Examples\n\nIn the gallery: {links}." if shown else ""
    picture = f"images/gallery/{shown[0].example}-{shown[0].name}.svg" if shown else ""
    if picture and (DOCS / picture).exists():
        seen += f"\n\n![The life of the graph in {shown[0].full_name}](../{picture})"
    where = f"*{rule.severity.value}: the program {kind}.* On a terminal: `afterward explain {rule.code}`."
    return f"{title}\n\n{where}\n{body.rstrip()}{seen}\n"


def _in_order(body: str) -> str:
    """Why it is a fault; what is wrong, with the change; what is right after all, and not reported."""
    why, *sections = re.split(r"^## ", body, flags=re.MULTILINE)
    wrong = [section for section in sections if re.search(r"# (error|warning|info): AFT", section)]
    right = [section for section in sections if section not in wrong]
    parts = [f"\n## Why\n{why.rstrip()}\n"]
    parts += [f"## Wrong: {section.rstrip()}\n" for section in wrong]
    parts += [f"## Right, and not reported: {section.rstrip()}\n" for section in right]
    return "\n".join(parts)


def rules_index() -> str:
    lines = [
        "# Rules",
        "",
        "A code keeps its meaning for ever. Every block on these pages is run by the tests: a marked line must be "
        "found, an unmarked block must stay silent.",
    ]
    for prefix, subject in SUBJECTS.items():
        lines += ["", f"## {subject}", "", "| code | name | what it finds |", "| --- | --- | --- |"]
        lines += [
            f"| [{rule.code}]({rule.code}.md) | {rule.name} | {rule.summary} |"
            for rule in all_rules()
            if rule.code.startswith(prefix)
        ]
    return "\n".join(lines) + "\n"


def commands() -> dict[str, Parser]:
    (choices,) = (
        action.choices for action in command_line()._actions if isinstance(action, argparse._SubParsersAction)
    )
    return dict(choices)


def commands_index() -> str:
    (action,) = (action for action in command_line()._actions if isinstance(action, argparse._SubParsersAction))
    helps = {choice.dest: choice.help for choice in action._choices_actions}
    rows = [f"| [`afterward {name}`]({name}.md) | {helps.get(name, '')} |" for name in commands()]
    return "\n".join(["# Commands", "", "| command | |", "| --- | --- |", *rows, ""])


def command_page(name: str, parser: Parser) -> str:
    """Usage, words and options as argparse has them, and a way to the page that says more."""
    usage = re.sub(r"\s+", " ", parser.format_usage().removeprefix("usage: ")).strip()
    lines = [f"# afterward {name}", "", "```text", usage, "```", "", _sentence(parser.description or "")]
    options = list(_options(parser))
    if options:
        lines += ["", "| option | |", "| --- | --- |", *options]
    lines += ["", *(f"    {example}" for example in parser.examples)]
    title, page = READ_ON.get(name, ("", ""))
    if page and (page.startswith("rules/") or (DOCS / page).exists()):
        lines += ["", f"More: [{title}](../{page})."]
    return "\n".join(lines) + "\n"


def _options(parser: Parser) -> Iterator[str]:
    for action in parser._actions:
        if action.help == argparse.SUPPRESS:
            continue
        metavar = action.metavar if isinstance(action.metavar, str) else None
        if not action.option_strings:
            name = metavar or action.dest
        else:
            choices = ",".join(map(str, action.choices)) if action.choices else None
            value = metavar or (f"{{{choices}}}" if choices else "VALUE")
            name = ", ".join(action.option_strings) + (f" {value}" if action.nargs != 0 else "")
        words = (action.help or "").replace("%(default)s", str(action.default)).replace("|", "\\|")
        yield f"| `{name}` | {words} |"


def _sentence(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


# What mkdocs calls


def on_config(config: Any) -> Any:
    """Name every page that is made, and those that the menu does not name."""
    rules = [{rule.code + " " + rule.name: f"rules/{rule.code}.md"} for rule in all_rules()]
    demos = [{example.title.replace("`", ""): f"gallery/{example.name}.md"} for example in examples()]
    for section in config.nav:
        (title, pages), *_ = section.items()
        if title == "Rules":
            pages += rules
        elif title == "Commands":
            pages += [{name: f"commands/{name}.md"} for name in commands()]
        elif title == "Common advice, tested":
            pages += demos
    named = set(_named(config.nav))
    more = [
        path.relative_to(DOCS).as_posix()
        for path in sorted(DOCS.rglob("*.md"))
        if path.relative_to(DOCS).as_posix() not in named
    ]
    (guides,) = (section["Guides"] for section in config.nav if "Guides" in section)
    guides += more
    return config


def _named(nav: Any) -> Iterator[str]:
    for entry in nav if isinstance(nav, list) else [nav]:
        if isinstance(entry, dict):
            for value in entry.values():
                yield from _named(value)
        elif isinstance(entry, str):
            yield entry
        elif isinstance(entry, list):
            yield from _named(entry)


_MESSAGE_IN_SOURCE = re.compile(r"\]\((?:\.\./)*src/afterward/messages/pages/([\w-]+)\.md\)")
_RULE_IN_SOURCE = re.compile(r"\]\((?:\.\./)*src/afterward/rules/(\w+)\.md\)")


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """In the repository a rule's page is a file of the source; here it has a place of its own."""
    page.meta["hide"] = _hidden(page.file.src_uri)
    codes = {rule.name.replace("-", "_"): rule.code for rule in all_rules()}
    up = "../" * page.file.src_uri.count("/")
    markdown = _MESSAGE_IN_SOURCE.sub(lambda match: f"]({up}messages/{match[1]}.md)", markdown)
    return _RULE_IN_SOURCE.sub(lambda match: f"]({up}rules/{codes[match[1]]}.md)", markdown)


def _hidden(path: str) -> list[str]:
    """A page that stands alone needs no menu; reports and tables need the room of the table of contents."""
    if path in ("index.md", "tutorial.md"):
        return ["navigation"]
    return ["toc"] if path.startswith(("gallery/", "what-happens")) else []


def on_files(files: Files, config: Any) -> Files:
    made = {"rules/index.md": rules_index(), "commands/index.md": commands_index()}
    made |= {f"rules/{rule.code}.md": rule_page(rule) for rule in all_rules()}
    made |= {f"commands/{name}.md": command_page(name, parser) for name, parser in commands().items()}
    made |= {f"messages/{page.name}.md": page.text for page in all_pages()}
    for path, text in made.items():
        files.append(File.generated(config, path, content=text))
    return files


def on_post_build(config: Any) -> None:
    """The playground's files lie beside its page."""
    if not build_playground(Path(config.site_dir)):
        print("The playground has no Pyodide: `make playground` brings it.")
