"""A watched run as a file: the histories, what was said about them, and the source they speak of.

The form follows the dataclasses themselves, so a new field with a default needs no change here: older files lack it,
and a reader that does not know it passes over it.
"""

from __future__ import annotations

import json
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, replace
from enum import Enum
from functools import cache
from pathlib import PurePath
from typing import Any

from afterward.errors import HistoryUnreadable
from afterward.model.diagnosis import Report
from afterward.model.history import History
from afterward.model.site import Iteration, Level, Site, Where

SCHEMA = "afterward-history/5"

# Many nodes share a place: each of these is written once and referred to by its number.
_SHARED: dict[str, type] = {"sites": Site, "iterations": Iteration, "levels": Level, "wheres": Where}
_POOL_OF = {kind: name for name, kind in _SHARED.items()}


@dataclass(frozen=True)
class Chapter:
    """One history, and the numbers of the findings that were made of it."""

    history: History
    findings: tuple[int, ...] = ()


@dataclass(frozen=True)
class SavedRun:
    """All that a report needs, long after the program and its files have changed."""

    report: Report
    chapters: tuple[Chapter, ...] = ()
    sources: Mapping[str, str] = field(default_factory=dict)  # file name: its text as it ran

    def history_of(self, finding: int) -> History | None:
        return next((chapter.history for chapter in self.chapters if finding in chapter.findings), None)


def files_of(run: SavedRun) -> list[str]:
    """Every file that the record names, those of the findings first."""
    writer = _Writer(None)
    writer.value(run.report)
    for chapter in run.chapters:
        # Of nodes there may be a million, of few files: nothing but its place says of which it is.
        places = {id(node.where): node.where for node in chapter.history.nodes if node.where is not None}
        writer.value(list({level.site: None for where in places.values() for level in where.levels}))
        writer.value(replace(chapter.history, nodes=()))
    return list(writer.files)


def as_saved(run: SavedRun, folder: str | None = None) -> str:
    """The run as text. Files under `folder` are named relative to it, so that the text can travel."""
    writer = _Writer(folder)
    report = writer.value(run.report)
    chapters = [{"findings": list(c.findings), "history": writer.value(c.history)} for c in run.chapters]
    document = {
        "schema": SCHEMA,
        "report": report,
        "sources": {writer.file(name): text for name, text in run.sources.items()},
        "pools": writer.pools,
        "chapters": chapters,
    }
    return json.dumps(document, ensure_ascii=True, separators=(",", ":")) + "\n"


def read_saved(text: str | bytes) -> SavedRun:
    """The run again; `HistoryUnreadable` says in one line what is wrong with the text."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise HistoryUnreadable("it is not JSON") from None
    if not isinstance(document, dict) or "schema" not in document:
        raise HistoryUnreadable("afterward did not write it")
    schema = document["schema"]
    if schema != SCHEMA and str(schema).startswith("afterward-history/"):
        raise HistoryUnreadable(
            f"another version of afterward wrote it ({schema}, not {SCHEMA}): run the program again"
        )
    if schema != SCHEMA:
        what = "a report" if schema == "afterward/1" else "something else"
        hint = "; `afterward run --history FILE` writes one" if schema == "afterward/1" else ""
        raise HistoryUnreadable(f"it is {what}, not a history of schema {SCHEMA}{hint}")
    try:
        return _document(document)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise HistoryUnreadable(f"it is damaged ({type(error).__name__}: {error})") from None


def _document(document: dict[str, Any]) -> SavedRun:
    reader = _Reader(_mapping(document["pools"]))
    report: Report = reader.value(document["report"], Report)
    chapters = []
    for each in _list(document["chapters"]):
        history: History = reader.value(_mapping(each)["history"], History)
        _check_references(history)
        numbers = tuple(_whole(number) for number in _list(each["findings"]))
        if any(not 0 <= number < len(report.findings) for number in numbers):
            raise ValueError("a history speaks of findings that are not there")
        chapters.append(Chapter(history, numbers))
    sources = {_text(name): _text(text) for name, text in _mapping(document["sources"]).items()}
    return SavedRun(report, tuple(chapters), sources)


def _check_references(history: History) -> None:
    """Questions about a history rely on these; a history that was watched fulfils them."""
    if len({node.id for node in history.nodes}) != len(history.nodes):
        raise ValueError("two nodes have one number")
    known = {leaf.id for leaf in history.leaves}
    named = {node.leaf for node in history.nodes} | {saved.leaf for node in history.nodes for saved in node.saved}
    named |= {write.leaf for write in history.writes}
    for event in (*history.steps, *history.passes):
        named |= set(getattr(event, "leaves", ())) | set(getattr(event, "reached", ()))
    if not named - {None} <= known:
        raise ValueError("a leaf is not there")
    runs = {number for one in history.fed for number in (one.early, one.late)} | {one.run for one in history.numbers}
    if not runs <= {run.id for run in history.passes}:
        raise ValueError("a pass is not there")
    placed: Iterable[Any] = (*history.nodes, *history.passes, *history.steps, *history.writes)
    wheres = [each.where for each in placed]
    if any(where is not None and not where.levels for where in wheres):
        raise ValueError("a place has no level")


# Writing


class _Writer:
    def __init__(self, folder: str | None) -> None:
        self.folder = folder
        self.pools: dict[str, list[Any]] = {name: [] for name in _SHARED}
        self.files: dict[str, str] = {}
        self._numbers: dict[Any, int] = {}
        self._by_identity: dict[int, int] = {}

    def file(self, name: str) -> str:
        short = self.files.get(name)
        if short is None:
            short = name
            if self.folder is not None and PurePath(name).is_relative_to(self.folder):
                short = PurePath(name).relative_to(self.folder).as_posix()
            self.files[name] = short
        return short

    def value(self, value: Any) -> Any:
        if isinstance(value, Enum):
            return value.value
        if isinstance(value, str):
            return str(value)  # torch's version, for one, is a kind of string of its own
        if value is None or isinstance(value, (bool, int, float)):
            return value
        if type(value) in _POOL_OF:
            return self._shared(value)
        if is_dataclass(value):
            return {name: self._field(value, name) for name in _told([value], type(value))}
        if isinstance(value, (frozenset, set)):
            return [self.value(one) for one in sorted(value)]
        if isinstance(value, Mapping):
            return {str(key): self.value(one) for key, one in value.items()}
        items = list(value)
        kinds = {type(item) for item in items}
        if len(items) > 1 and len(kinds) == 1 and is_dataclass(items[0]) and kinds.isdisjoint(_POOL_OF):
            columns = _told(items, kinds.pop())
            return {"columns": columns, "rows": [[self._field(item, name) for name in columns] for item in items]}
        return [self.value(item) for item in items]

    def _field(self, owner: Any, name: str) -> Any:
        value = getattr(owner, name)
        return self.file(value) if type(owner) is Site and name == "file" else self.value(value)

    def _shared(self, value: Any) -> int:
        number = self._by_identity.get(id(value))
        if number is None:
            number = self._numbers.get(value)
            if number is None:
                written = [self._field(value, each.name) for each in fields(value)]
                pool = self.pools[_POOL_OF[type(value)]]
                number = self._numbers[value] = len(pool)
                pool.append(written)
            self._by_identity[id(value)] = number
        return number


def _told(items: Iterable[Any], kind: type) -> list[str]:
    """The fields that differ from their default in at least one of the items."""
    return [f.name for f in _fields(kind) if any(getattr(item, f.name) != _default(f) for item in items)]


@cache
def _fields(kind: Any) -> tuple[Any, ...]:
    return tuple(each for each in fields(kind) if each.init)


def _default(one: Any) -> Any:
    return one.default_factory() if one.default_factory is not MISSING else one.default


# Reading


class _Reader:
    def __init__(self, pools: dict[str, Any]) -> None:
        self.raw = {name: _list(pools[name]) for name in _SHARED}
        self.made: dict[str, dict[int, Any]] = {name: {} for name in _SHARED}

    def value(self, data: Any, kind: Any) -> Any:
        """`data`, which must be of that type: a file may come from anywhere."""
        simple = _SIMPLE.get(kind)
        if simple is not None:
            return simple(data)
        if kind in _POOL_OF:
            return self._shared(_whole(data), kind)
        if isinstance(kind, type) and issubclass(kind, Enum):
            return kind(data)
        if is_dataclass(kind):
            return self._made(kind, _mapping(data))
        return self._composed(data, kind)

    def _composed(self, data: Any, kind: Any) -> Any:
        origin, inner = typing.get_origin(kind), typing.get_args(kind)
        if origin in (types.UnionType, typing.Union):
            if data is None and type(None) in inner:
                return None
            rest = [one for one in inner if one is not type(None)]
            return self.value(data, rest[0]) if len(rest) == 1 else data
        if origin is frozenset:
            return frozenset(self.value(one, inner[0]) for one in _list(data))
        if origin is tuple and inner[-1] is not Ellipsis:
            items = _list(data)
            if len(items) != len(inner):
                raise ValueError("a list is too short or too long")
            return tuple(self.value(one, each) for one, each in zip(items, inner, strict=True))
        if origin is tuple:
            return tuple(self._items(data, inner[0]))
        if origin is not None and isinstance(origin, type) and issubclass(origin, Mapping):
            return {_text(key): self.value(one, inner[1]) for key, one in _mapping(data).items()}
        return data

    def _items(self, data: Any, kind: Any) -> Iterable[Any]:
        if isinstance(data, dict) and is_dataclass(kind):
            columns = [_text(name) for name in _list(data["columns"])]
            return (self._made(kind, dict(zip(columns, _list(row), strict=True))) for row in _list(data["rows"]))
        return (self.value(one, kind) for one in _list(data))

    def _made(self, kind: Any, data: dict[str, Any]) -> Any:
        given = {name: self.value(data[name], hint) for name, hint in _hints(kind).items() if name in data}
        return kind(**given)

    def _shared(self, number: int, kind: Any) -> Any:
        name = _POOL_OF[kind]
        made = self.made[name]
        if number not in made:
            if not 0 <= number < len(self.raw[name]):
                raise ValueError(f"{name} has no number {number}")
            names = [each.name for each in fields(kind)]
            made[number] = self._made(kind, dict(zip(names, _list(self.raw[name][number]), strict=False)))
        return made[number]


@cache
def _hints(kind: Any) -> dict[str, Any]:
    hints = typing.get_type_hints(kind)
    return {each.name: hints[each.name] for each in _fields(kind)}


def _typed(kind: type) -> Callable[[Any], Any]:
    def check(data: Any) -> Any:
        if type(data) is not kind:
            raise TypeError(f"{kind.__name__} expected, {type(data).__name__} found")
        return data

    return check


def _number(data: Any) -> float:
    if type(data) not in (int, float):
        raise TypeError(f"a number expected, {type(data).__name__} found")
    return float(data)


_whole, _text, _list, _mapping = _typed(int), _typed(str), _typed(list), _typed(dict)
_SIMPLE: dict[Any, Callable[[Any], Any]] = {int: _whole, str: _text, bool: _typed(bool), float: _number}
