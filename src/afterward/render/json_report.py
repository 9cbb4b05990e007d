"""The machine-readable report: stable keys, relative paths."""

from __future__ import annotations

import json
import platform
from dataclasses import asdict
from typing import Any

import afterward
from afterward.model.diagnosis import Bridge, Diagnosis, LookedAt, Proof, Remedy, Report
from afterward.model.memory import Memory
from afterward.model.site import Site
from afterward.render.paths import in_json, relative
from afterward.render.proofs import proof_text
from afterward.render.wording import help_text, said

SCHEMA = "afterward/1"


def as_json(report: Report) -> str:
    return in_json(json.dumps(as_data(report), indent=1, ensure_ascii=False)) + "\n"


def as_data(report: Report) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "tool": {
            "version": afterward.__version__,
            "python": platform.python_version(),
            "torch": report.torch,
        },
        "program": {"argv": list(report.argv), "exit": report.exit, "error": report.error},
        "findings": [_finding(finding) for finding in report.findings],
        "gaps": list(report.gaps),
        **({"looked_at": _looked_at(report.looked_at)} if report.looked_at is not None else {}),
        **({"memory": _memory(report.memory)} if report.memory is not None else {}),
    }


def _looked_at(looked_at: LookedAt) -> dict[str, Any]:
    return {
        "files": looked_at.files,
        "training_loops": looked_at.training_loops,
        "not_analysed": [
            {"file": relative(one.file), "line": one.line, "reason": one.reason} for one in looked_at.not_analysed
        ],
    }


def _memory(memory: Memory) -> dict[str, Any]:
    """The account: bytes, never rounded."""
    return {
        "bytes": memory.bytes,
        "nodes": memory.nodes,
        "pass": {**_lines(memory.site), "number": memory.step},
        "lines": [
            {**_lines(row.site), "bytes": row.bytes, "storages": row.storages, "held_anyway": row.held_anyway}
            for row in memory.lines
        ],
        "unplaced": memory.unplaced,
        "other_graphs": memory.other,
        "parameters": memory.parameters,
        "packed": memory.packed,
        "passes": [
            {
                **_lines(one.site),
                "call": one.call,
                "passes": one.passes,
                "retaining": one.retaining,
                "bytes": one.most,
                "kept": one.kept,
            }
            for one in memory.passes
        ],
        "allocator": None if memory.allocator is None else asdict(memory.allocator),
        "not_counted": memory.not_counted,
    }


def _lines(site: Site | None) -> dict[str, Any]:
    if site is None:
        return {"file": None, "line": None, "end_line": None}
    return {"file": relative(site.file), "line": site.line, "end_line": site.end_line}


def _finding(found: Diagnosis) -> dict[str, Any]:
    words = said(found)
    return {
        "code": found.code,
        "name": found.name,
        "severity": found.severity.value,
        "message": words.headline,
        "why": words.why,
        "notes": list(words.notes),
        "form": found.form,
        "certainty": found.certainty.value,
        "always": found.always,
        "conditions": [{"test": one.test, "value": one.value} for one in found.conditions],
        "caught": found.caught,
        "built": _place(found.built),
        "freed": _place(found.freed),
        "reused": _place(found.reused),
        "written": _place(found.written),
        "cut": _place(found.cut),
        "bridge": _bridge(found.bridge),
        "bridges": [_bridge(bridge) for bridge in found.bridges],
        "retain_graph": found.retain.kind.removeprefix("retain_") if found.retain is not None else None,
        "nodes": found.nodes,
        "bytes": found.bytes,
        "remedies": [_remedy(found, remedy) for remedy in found.remedies],
    }


def _place(site: Site | None) -> dict[str, Any] | None:
    if site is None:
        return None
    return {"file": relative(site.file), "line": site.line, "end_line": site.end_line, "step": site.step}


def _bridge(bridge: Bridge | None) -> dict[str, Any] | None:
    return None if bridge is None else {"name": bridge.name, "kind": bridge.kind}


def _remedy(found: Diagnosis, remedy: Remedy) -> dict[str, Any]:
    return {
        "kind": remedy.kind,
        "effect": remedy.effect.value,
        "title": help_text(found, remedy),
        "form": remedy.form,
        "target": remedy.target,
        "patch": remedy.patch,
        "proof": _proof(remedy.proof, found.primary.site),
    }


def _proof(proof: Proof | None, here: Site) -> dict[str, Any] | None:
    if proof is None:
        return None
    return {
        "status": proof.status,
        "text": proof_text(proof, here),
        "passes": proof.passes,
        "peak_graph_bytes": proof.peak_graph_bytes,
        "same_gradients": proof.same_gradients,
    }
