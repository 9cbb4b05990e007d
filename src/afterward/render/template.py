"""Templates and how they are filled: the one place where facts become words.

`{name}` is a fact, shown as its kind asks for. `[freed|frees]` is a verb: what was seen, and what is predicted.
`<, {bytes}>` is left out where a fact in it is not known; `<!name:...>` is there only if that fact is not known, and
`<?name:...>` only if it is, without showing it. They may stand in each other.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from afterward.model.facts import Fact, FactKind
from afterward.model.figures import duration, human
from afterward.model.site import Site

_VERB = re.compile(r"\[([^\[\]|]*)\|([^\[\]|]*)\]")
_FACT = re.compile(r"\{(\w+)\}")
_CONDITION = re.compile(r"([!?])(\w+):")
SHOWN = 2  # names that are listed before "and 3 more"


def fill(template: str, facts: Iterable[Fact], *, present: bool = False, here: Site | None = None) -> str:
    """The template with its facts. `present`: nothing has happened yet. `here` is the place that is spoken of."""
    known = {fact.name: fact for fact in facts if fact.is_known}
    text, _ = _chosen(template, 0, known)
    text = _VERB.sub(lambda match: match[2] if present else match[1], text)

    def shown(match: re.Match[str]) -> str:
        words = show(known[match[1]], here) if match[1] in known else "it"
        return capital(words) if text[: match.start()].endswith(". ") else words

    return _FACT.sub(shown, text)


def _chosen(template: str, start: int, known: Mapping[str, Fact]) -> tuple[str, int]:
    """The text from `start` up to the end of its group, without the optional parts that are not wanted."""
    parts, own = [], []  # with what stands in groups, and without
    at = start
    while at < len(template) and template[at] != ">":
        if template[at] == "<":
            inner, at = _group(template, at + 1, known)
            parts.append(inner)
        else:
            end = min((place for sign in "<>" if (place := template.find(sign, at)) >= 0), default=len(template))
            parts.append(template[at:end])
            own.append(template[at:end])
            at = end
    missing = any(name not in known for name in _FACT.findall("".join(own)))
    return "" if start and missing else "".join(parts), at + 1


def _group(template: str, start: int, known: Mapping[str, Fact]) -> tuple[str, int]:
    condition = _CONDITION.match(template, start)
    text, end = _chosen(template, condition.end() if condition else start, known)
    if condition is not None and (condition[2] in known) == (condition[1] == "!"):
        return "", end
    return text, end


def capital(words: str) -> str:
    """As a sentence begins; code keeps its case."""
    return words[:1].upper() + words[1:]


# Facts


def show(fact: Fact, here: Site | None = None) -> str:
    """One fact in words."""
    return _SHOW[fact.kind](fact, here)


def listed(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def quoted(name: str) -> str:
    return f"`{name}`"


def _code(fact: Fact, _: Site | None) -> str:
    return quoted(fact.text)


def _names(fact: Fact, _: Site | None) -> str:
    parts = [quoted(name) for name in fact.many]
    rest = len(parts) - SHOWN
    return listed(parts) if rest <= 0 else f"{', '.join(parts[:SHOWN])} and {rest} more"


def _count(fact: Fact, _: Site | None) -> str:
    number = int(fact.number or 0)
    return counted(number, fact.text) if fact.text else f"{number:,}"


def counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "es" if noun.endswith(("s", "x", "ch")) else "s")


def _lines(fact: Fact, here: Site | None) -> str:
    files = list(dict.fromkeys(site.file for site in fact.sites))
    numbers = list(dict.fromkeys(site.line for site in fact.sites))
    if len(files) > 1:
        return listed([f"line {site.line} of {short(site.file)}" for site in dict.fromkeys(fact.sites)])
    elsewhere = f" of {short(files[0])}" if here is not None and files[0] != here.file else ""
    if len(numbers) == 1:
        return f"line {numbers[0]}{elsewhere}"
    if len(numbers) > 3 and numbers == sorted(numbers):
        return f"lines {numbers[0]} to {numbers[-1]}{elsewhere}"
    return f"lines {listed([str(number) for number in numbers])}{elsewhere}"


def _step(fact: Fact, _: Site | None) -> str:
    return fact.sites[0].step_name


def _call(fact: Fact, here: Site | None) -> str:
    """`step 1's backward()`, or the earlier call by its line."""
    function = quoted("autograd.grad()" if fact.text == "grad" else "backward()")
    if not fact.sites:
        return f"an earlier {function}"
    (site,) = fact.sites
    if site.step is not None and here is not None and site.step != here.step:
        return f"{site.step_name}'s {function}"
    return f"the {function} on {_lines(fact, here)}"


def _update(fact: Fact, here: Site | None) -> str:
    return quoted(fact.text) + (f" ({_lines(fact, here)})" if fact.sites else "")


def short(file: str) -> str:
    return file.replace("\\", "/").rsplit("/", 1)[-1]


_SHOW: dict[FactKind, Callable[[Fact, Site | None], str]] = {
    FactKind.CODE: _code,
    FactKind.NAMES: _names,
    FactKind.COUNT: _count,
    FactKind.SIZE: lambda fact, _: human(int(fact.number or 0)),
    FactKind.SECONDS: lambda fact, _: duration(fact.number or 0.0),
    FactKind.SHARE: lambda fact, _: f"{100 * (fact.number or 0.0):.0f} %",
    FactKind.LINES: _lines,
    FactKind.STEP: _step,
    FactKind.CALL: _call,
    FactKind.UPDATE: _update,
    FactKind.VERBATIM: lambda fact, _: fact.text,
}
