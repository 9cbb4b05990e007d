"""A history that is saved and read again is the same history; anything else is refused in one line."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.histories import runs_of_all_rules

from afterward.errors import HistoryUnreadable
from afterward.model import facts
from afterward.model.built import Built, Execution, Statement
from afterward.model.diagnosis import Diagnosis, Effect, Label, Proof, Remedy, Report
from afterward.model.facts import Note
from afterward.model.history import Edge, History, Leaf, Node, Pass, Saved, Step, Value, Write
from afterward.model.saved import Chapter, SavedRun, as_saved, files_of, read_saved
from afterward.model.site import Iteration, Level, Site, Where

_number = st.integers(0, 2**63)
_few = st.integers(0, 5)
_site = st.builds(Site, st.text(max_size=6), _few, _few, _few, st.none() | _few, st.none() | _few)
_iteration = st.builds(Iteration, _site, _few, _few)
_level = st.builds(Level, _few, st.text(max_size=4), _site, _number, st.tuples(_iteration) | st.just(()))
_where = st.builds(Where, st.lists(_level, min_size=1, max_size=3).map(tuple))
_edge = st.builds(Edge, _few, _few)
_saved = st.builds(
    Saved, st.text(max_size=4), st.sampled_from(["live", "freed", "overwritten"]), st.none() | _few, _few
)
_node = st.builds(
    Node, _few, st.text(max_size=5), _number, _number, st.none() | _where, st.lists(_edge, max_size=2).map(tuple),
    st.lists(_saved, max_size=2).map(tuple), st.none() | _few, _few,
)  # fmt: skip
_pass = st.builds(
    Pass, _few, st.none() | _where, _number, st.lists(_edge, max_size=2).map(tuple), st.just("grad"),
    st.booleans(), st.booleans(), st.none() | st.frozensets(_few), error=st.none() | st.just("inplace"),
    message=st.text(max_size=8), optimizers=st.none() | st.frozensets(st.text(max_size=3)),
    reached=st.frozensets(_few),
)  # fmt: skip
_execution = st.builds(
    Execution, _number, _number, _few, _few, _few, st.lists(st.tuples(_few, _few), max_size=2).map(tuple), st.booleans()
)
_statement = st.builds(
    Statement, _site, st.lists(_execution, max_size=3).map(tuple), st.lists(st.text(max_size=3), max_size=2).map(tuple)
)
_history = st.builds(
    History,
    nodes=st.lists(_node, max_size=4, unique_by=lambda node: node.id).map(tuple),
    passes=st.lists(_pass, max_size=3).map(tuple),
    steps=st.lists(st.builds(Step, st.none() | _where, _number, st.text(max_size=4)), max_size=2).map(tuple),
    writes=st.lists(st.builds(Write, _where, _number, st.text(max_size=4)), max_size=2).map(tuple),
    leaves=st.just(tuple(Leaf(number, f"w{number}") for number in range(6))),
    values=st.lists(st.builds(Value, st.text(max_size=4), st.just("local"), _few), max_size=2).map(tuple),
    observed=st.booleans(),
    built=st.builds(Built, st.lists(_statement, max_size=2).map(tuple), _few, st.booleans()),
)


@given(_history)
@settings(max_examples=120, deadline=None)
def test_a_history_comes_back_as_it_was(history: History) -> None:
    run = SavedRun(Report(("train.py",)), (Chapter(history),), {"train.py": "\u202e</script>\x00"})
    assert read_saved(as_saved(run)) == run


def test_what_was_watched_comes_back_as_it_was() -> None:
    for name, run in runs_of_all_rules().items():
        assert run.report.findings, name
        assert run.history_of(0) is not None, name
        assert read_saved(as_saved(run)) == run, name


def test_remedies_keep_their_patch_and_proof() -> None:
    site = Site("train.py", 4, 4, step=2)
    remedy = Remedy(
        "detach_state",
        Effect.CUTS_GRADIENTS,
        "step_start",
        site,
        facts=(facts.code("target", "h"), facts.lines("lines", site, site), facts.count("nodes", 3, "node")),
        patch="--- a\n+++ b\n",
        proof=Proof("proven", (Note("ran", (facts.size("size", 8),)),), 20, 1),
    )
    report = Report(("train.py",), (Diagnosis(Label(site, "reused"), remedies=(remedy,), code="AFT103"),))
    assert read_saved(as_saved(SavedRun(report))).report == report


def test_files_are_named_from_the_folder() -> None:
    site = Site("/home/me/project/train.py", 1, 1)
    run = SavedRun(Report(("train.py",), (Diagnosis(Label(site)),)), (), {site.file: "x = 1\n"})
    assert files_of(run) == [site.file]
    back = read_saved(as_saved(run, "/home/me/project"))
    assert back.report.findings[0].primary.site.file == "train.py"
    assert back.sources == {"train.py": "x = 1\n"}


def test_a_file_of_a_later_version_is_read_as_far_as_it_is_known() -> None:
    run = next(iter(runs_of_all_rules().values()))
    document = json.loads(as_saved(run))
    document["report"]["mood"] = "fine"
    document["chapters"][0]["history"]["weather"] = [1, 2]
    assert read_saved(json.dumps(document)) == run


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "not JSON"),
        ("\x00\xff", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[]", "did not write"),
        ('{"a": 1}', "did not write"),
        ('{"schema": "afterward/1"}', "--history"),
        ('{"schema": "sarif"}', "something else"),
        ('{"schema": "afterward-history/2"}', "another version"),
        ('{"schema": "afterward-history/5"}', "damaged"),
    ],
)
def test_another_file_is_refused(text: str, words: str) -> None:
    with pytest.raises(HistoryUnreadable, match=words) as caught:
        read_saved(text)
    assert "\n" not in str(caught.value)


def _places(data: object, path: tuple[object, ...] = ()) -> list[tuple[object, ...]]:
    inside = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    return [path, *(place for key, value in inside for place in _places(value, (*path, key)))]


@given(st.data())
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_damaged_file_is_read_or_refused(data: st.DataObject) -> None:
    runs = runs_of_all_rules()
    document = json.loads(as_saved(runs[data.draw(st.sampled_from(sorted(runs)[:6]))]))
    path = data.draw(st.sampled_from(_places(document)[1:]))
    holder = document
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = data.draw(st.sampled_from([None, -1, 10**30, "x", [], {}, True, [[]], {"columns": []}]))
    try:
        run = read_saved(json.dumps(document))
    except HistoryUnreadable:
        return
    assert read_saved(as_saved(run)) == run


def test_a_chapter_knows_its_findings() -> None:
    run = SavedRun(Report(()), (Chapter(History(), (0,)), Chapter(replace(History(), observed=False), (1, 2))))
    second = run.history_of(2)
    assert second is not None
    assert not second.observed
    assert run.history_of(3) is None
