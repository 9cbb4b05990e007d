"""A patch never breaks a file: what an edit does not touch stays to the byte, and the diff leads back."""

from __future__ import annotations

import random
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from afterward.model.diagnosis import Diagnosis, Effect, Label, Remedy
from afterward.model.site import Site
from afterward.repair import _KINDS as KINDS
from afterward.repair import Edit, Patch, Workshop, apply, candidates, in_place, unified
from afterward.repair.names import named
from afterward.repair.source import Source

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
from edit_properties import examine
from editlab.faults import Faults
from editlab.programs import program
from editlab.properties import broken, outside_is_the_same, patched, repeated

LIBRARY = Path(sysconfig.get_paths()["stdlib"])


@given(st.text(alphabet="ab\n\r\té\u2028", max_size=60), st.data())
def test_nothing_outside_the_edits_changes(text: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), min_size=2, max_size=6)))
    edits = [Edit(a, b, data.draw(st.text(alphabet="xyz\n", max_size=5))) for a, b in _pairs(cuts)]
    if len({e.start for e in edits}) < len(edits):
        return
    after = apply(text, edits)
    kept, position = [], 0
    for edit in edits:
        kept.append(text[position : edit.start])
        position = edit.end
    rest = after
    for piece, edit in zip(kept, edits, strict=True):
        assert rest.startswith(piece + edit.text)
        rest = rest[len(piece) + len(edit.text) :]
    assert rest == text[position:]


def _pairs(numbers: list[int]) -> list[tuple[int, int]]:
    return list(zip(numbers[::2], numbers[1::2], strict=False))


def test_edits_that_overlap_are_refused() -> None:
    with pytest.raises(ValueError, match="overlap"):
        apply("abcdef", [Edit(0, 3, ""), Edit(2, 4, "")])


FILES = sorted(path for path in LIBRARY.glob("*.py") if 500 < path.stat().st_size < 6_000)


@pytest.mark.parametrize("number", range(16))
def test_every_edit_leaves_a_generated_program_whole(number: int) -> None:
    """`make properties` does the same with thousands of programs and files."""
    tally = examine(f"program {number}", program(number), seed=0)
    assert tally.wrong == []


@pytest.mark.parametrize("path", random.Random(0).sample(FILES, 8), ids=lambda path: path.name)
def test_every_edit_leaves_a_file_whole(path: Path) -> None:
    tally = examine(path.name, path.read_text(encoding="utf-8"), seed=0)
    assert tally.wrong == []


def test_parentheses_in_comments_are_none_of_an_expression_s() -> None:
    text = "log = (  # see (1)\n    # and (2)\n    a + b  # (3)\n)\n" + "(\n" + "#" * 400 + "\nx)\n"
    source = Source("a.py", text)
    (first, second) = source.statements
    value = first.body[0].value  # type: ignore[union-attr]
    start, end = source.span(value)
    assert text[start:end] == text[6 : text.index(")\n(") + 1]
    last = source.span(second.body[0].value)  # type: ignore[union-attr]
    assert text[slice(*last)] == text[text.index("\n(\n") + 1 : -1]


def test_what_once_came_out_broken_comes_out_whole() -> None:
    """A block and a loop whose body stands behind its head; a `partial` with arguments behind `**`."""
    threads = (LIBRARY / "asyncio" / "threads.py").read_text(encoding="utf-8")
    for name, text, seed in (("a block", program(5_000_200), 5), ("a partial", threads, 0)):
        assert examine(name, text, seed=seed).wrong == []
    nested = "t = (s ** 2).as_tensor([x, 2])\nu = torch.tensor(torch.tensor(t))\nu.backward()\n"
    for seed in range(12):  # a power that `torch.stack` is called of; a cut around a cut
        assert examine("powers", nested, seed=seed, twice=50).wrong == []


def test_all_kinds_of_edits_are_made() -> None:
    made: set[str] = set()
    for number in range(100, 260):
        made |= set(examine(f"program {number}", program(number), seed=0, twice=0).patches)
        if made >= set(KINDS) - RARE:
            break
    assert made >= set(KINDS) - RARE


RARE = {"fit_gradient", "leave_inference"}  # they change code that generated programs do not have
RARE_CODE = """
with torch.inference_mode():
    features = backbone(x)
for p, g in zip(parameters, flat.split(sizes)):
    p.grad = g
loss.backward()
"""


def test_rare_kinds_of_edits_are_made_and_sound() -> None:
    tallies = [examine("rare", RARE_CODE, seed=seed, twice=20) for seed in range(12)]
    assert {kind for tally in tallies for kind in tally.patches} >= RARE
    assert [wrong for tally in tallies for wrong in tally.wrong] == []


def test_a_broken_patch_is_noticed() -> None:
    """The properties themselves: each is broken once, on purpose."""
    source = Source("m.py", "x = 1\nloss.backward()\n")
    end = len(source.text)

    def patch(*edits: Edit) -> Patch:
        return Patch("retain_graph", {"m.py": edits})

    assert broken(source, patch(Edit(end, end, "y = 2\n"))) is None
    assert "parse" in str(broken(source, patch(Edit(end, end, "y = \n"))))
    assert "line end" in str(broken(source, patch(Edit(end, end, "y = 2\r\n"))))
    assert not outside_is_the_same(source.text, source.text.replace("1", "2"), [Edit(end, end, "")])
    diff = unified("m.py", source.text, source.text + "y = 2\n")
    assert patched(source.text, diff) == source.text + "y = 2\n"
    assert patched("z = 3\n" + source.text, diff) is None
    found, remedy = Faults(source, random.Random(0)).draw("zero_grad")
    assert repeated(source, patch(Edit(end, end, "y = 2\n")), found, remedy) is None


def test_a_remedy_that_is_in_place_has_nothing_to_add() -> None:
    text = "for x in data:\n    h = cell(x, h)\n    loss.backward()\n"
    inserted = Edit(15, 15, "    h = h.detach()\n")
    assert not in_place(text, [inserted])
    assert in_place(apply(text, [inserted]), [inserted])
    told = Edit(15, 15, "    h = h.detach()  # why\t\n")
    assert in_place(apply(text, [inserted]), [told]), "a comment or a blank at the end makes it no other line"
    assert in_place(apply(text, [told]), [inserted])
    assert not in_place(apply(text, [inserted]), [Edit(15, 15, "    h = h.detach() + '#'\n")])
    wrapped = Edit(31, 32, "h.detach()")
    assert not in_place(text, [wrapped])
    assert in_place(apply(text, [wrapped]), [wrapped])


def test_parentheses_stay_where_a_cut_was_taken_out() -> None:
    text = "y = (a - b).detach() * c\nz = f((a - b).detach())\n"
    source = Source("m.py", text)
    for statement, wanted in zip(source.statements, ("y = (a - b) * c\n", "z = f(a - b)\n"), strict=True):
        place = source.range(statement)
        site = Site("m.py", place.start.line, place.end.line, 0, place.end.column)
        remedy = Remedy("remove_detach", Effect.CHANGES_GRADIENTS, "", site)
        found = Diagnosis(Label(site), cut=site, name="history-cut")
        patch = next(candidates(Workshop({"m.py": text}), found, remedy))
        assert wanted in patch.applied({"m.py": text})["m.py"]


def test_a_pattern_is_no_place_to_read_a_name() -> None:
    source = Source("m.py", "match kind:\n    case self.mode.FULL if self.ready:\n        print(self.mode)\n")
    reads = sorted(source.range(node).start.line for node in named(source, source.module, "self"))
    assert reads == [2, 3], "in the guard and in the body"


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("x.relu_()", "x = x.relu()"),
        ("F.relu_(x)", "x = F.relu(x)"),
        ("x.copy_(y)", "x = y.clone()"),
        ("x.copy_(a + b)", "x = (a + b).clone()"),
        ("x.zero_()", "x = torch.zeros_like(x)"),
        ("x.fill_(2)", "x = torch.full_like(x, 2)"),
        ("x.normal_(0, 1)", "x = x.clone()"),
        ("torch.requires_grad_(False)", None),
        ("opt.step()", None),
    ],
)
def test_what_is_written_into_is_made_anew(line: str, wanted: str | None) -> None:
    text = f"import torch\nimport torch.nn.functional as F\n{line}\n"
    site = Site("m.py", 3, 3, 0, len(line))
    found = Diagnosis(Label(site), written=site)
    remedy = Remedy("out_of_place", Effect.SAME_GRADIENTS, "", site)
    patch = next(candidates(Workshop({"m.py": text}), found, remedy), None)
    assert (patch.applied({"m.py": text})["m.py"].splitlines()[2] if patch is not None else None) == wanted


def test_the_diff_leads_there_and_back(tmp_path: Path) -> None:
    chance = random.Random(3)
    for path in chance.sample(FILES, 4):
        text = path.read_text(encoding="utf-8", errors="replace")
        source = Source("m.py", text)
        shop = Workshop({"m.py": text}, {"m.py": source})
        made = (next(candidates(shop, *Faults(source, chance).draw(kind)), None) for kind in KINDS)
        for patch in [patch for patch in made if patch is not None][:6]:
            after = patch.applied({"m.py": text})["m.py"]
            target = tmp_path / "m.py"
            target.write_text(text, encoding="utf-8", newline="")
            diff = unified("m.py", text, after)
            _git_apply(tmp_path, diff)
            assert target.read_text(encoding="utf-8") == after
            _git_apply(tmp_path, diff, "--reverse")
            assert target.read_text(encoding="utf-8") == text


def _git_apply(folder: Path, diff: str, *flags: str) -> None:
    done = subprocess.run(
        ["git", "apply", "--unidiff-zero", *flags, "-"], cwd=folder, input=diff, text=True, capture_output=True
    )
    assert done.returncode == 0, done.stderr


def test_a_function_goes_with_its_decorators() -> None:
    text = "x = 1\n@cache  # why\n@torch.no_grad()\ndef f():\n    pass\ny = 2\n"
    source = Source("m.py", text)
    function = source.statements[1]
    assert apply(text, [source.delete(function)]) == "x = 1\ny = 2\n"
    assert source.dedented(function)[0] == "@cache  # why"
    assert apply(text, [source.insert_before(function, "z = 3")]).startswith("x = 1\nz = 3\n@cache")


def test_a_file_without_a_last_newline(tmp_path: Path) -> None:
    text = "x = 1\nloss.backward()"
    source = Source("m.py", text)
    edit = source.insert_after(source.statements[-1], "y = 2")
    assert apply(text, [edit]) == "x = 1\nloss.backward()\ny = 2"


def test_all_but_the_edit_is_the_same_on_disk(tmp_path: Path) -> None:
    """A mark at the start, an encoding of its own, line ends of all kinds: bytes that no edit names stay."""
    from afterward.tasks.files import read, write

    for data in (
        b"\xef\xbb\xbfx = 1\r\nloss.backward()\r\n",
        "# coding: latin-1\nname = 'größe'\nloss.backward()".encode("latin-1"),
        "naïve = 1\n\x0c\nloss.backward()\n\n".encode(),
    ):
        file = tmp_path / "m.py"
        file.write_bytes(data)
        original = read(str(file))
        source = Source("m.py", original.text)
        call = next(s for s in source.statements if "backward" in source.code(s))
        edit = source.insert_before(call, "opt.zero_grad()")
        write({str(file): original}, {str(file): apply(original.text, [edit])})
        place = data.index(b"loss.backward")
        line_end = b"\r\n" if b"\r\n" in data else b"\n"
        assert file.read_bytes() == data[:place] + b"opt.zero_grad()" + line_end + data[place:]


def test_a_change_shows_the_line_that_moved_and_not_its_neighbour() -> None:
    text = "optimizer = SGD(model.parameters())\nmodel = deepcopy(model)\nmodel.train()\n"
    first, second = text.index("model = "), text.index("model.train")
    after = text[first:second] + text[:first] + text[second:]
    edits = (Edit(0, first, ""), Edit(second, second, text[:first]))
    diff = unified("m.py", text, after, edits)
    assert [line for line in diff.splitlines() if line[0] in "+-"][2:] == [
        f"-{text[: first - 1]}",
        f"+{text[: first - 1]}",
    ]
    assert patched(text, diff) == after
    other = unified("m.py", text, text + "last = 1\n", edits)  # edits that lead elsewhere say nothing
    assert patched(text, other) == text + "last = 1\n"
