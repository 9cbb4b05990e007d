"""Each pasted fragment gets the right cause, and correct ones none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from afterward.model.diagnosis import Severity
from afterward.tasks.check_file import Shared, check_bytes

HERE = Path(__file__).parent
LABELS: dict[str, list[str]] = {
    f"{folder}/{name}": codes
    for folder in ("pasted", "asked", "answered", "threads", "boards", "comments", "questions", "snippets", "scraps")
    for name, codes in json.loads((HERE / folder / "labels.json").read_text()).items()
}
MISSED = {
    "asked/37_policy_gradient_retain",  # one pass alone does not show that nothing uses the graph again
    "answered/29_tensor_with_requires_grad",  # one step alone may have been meant
    "answered/38_gcn_adj_param",  # only its name says that `A_param` is trained
    "boards/25_ppo_saved_logprobs",  # what a memory holds may be detached
    "boards/34_softmax_inplace_mask",  # only its name says that `scores` was computed
    "boards/38_style_gram_target_grad",  # features of something unknown
    "boards/45_backward_vector",  # a batch may hold one sample
    "comments/03_tgn_memory",  # what is kept is not used again in what was pasted
    "comments/09_cyclegan_retain",  # nor does one pass alone show it here
    "comments/15_teacher_not_detached",  # nor that the student never gets a gradient
    "questions/13_gp_not_differentiable",  # whether the images have a graph is not shown
    "questions/15_zeroed_after_backward",  # the loop around it was not copied, and what else is in it
    "questions/28_model_made_again",  # a stand-in stays the same when its class is called again
    "boards/48_maml_inner_grad_reuse",  # `check` does not predict AFT506
}


def codes(text: str) -> set[str]:
    done = check_bytes("<stdin>", text.encode(), Shared(), alone=True)
    assert done.error is None
    return {found.code for found in done.findings if found.severity is not Severity.INFO}


@pytest.mark.parametrize("name", LABELS)
def test_a_pasted_fragment(name: str) -> None:
    found, right = codes((HERE / f"{name}.txt").read_text()), set(LABELS[name])
    assert found <= right
    assert bool(found) == bool(right) or name in MISSED
