"""`leave_inference`: compute without a graph, but in a mode whose tensors can be used in training."""

from __future__ import annotations

import libcst as cst

from afterward.repair.source import Source, descendants
from afterward.repair.workshop import Candidates, Job


def candidates(job: Job) -> Candidates:
    """Where inference mode is switched on for this value; else wherever the program does so."""
    cut = job.found.cut
    for source in job.shop.sources():
        for name in _switches(source):
            line = source.line(name)
            if cut is None or (cut.file, cut.line) == (source.file, line):
                yield job.patch(source, source.replace(name, "no_grad"))


def _switches(source: Source) -> list[cst.Name]:
    """The name in `torch.inference_mode()`, as a decorator or in a `with`."""
    owners = (node for node in descendants(source.module) if isinstance(node, cst.Attribute))
    return [node.attr for node in owners if node.attr.value == "inference_mode"]
