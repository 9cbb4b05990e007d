"""The words of places that several rules label, by their role. Filled in by `render`, read by nothing else."""

from __future__ import annotations

LABELS: dict[str, str] = {
    "built": "[built|is built] here< ({amount})>",
    "freed": "[freed|frees] that graph here<, in {at_step}>",
    "reused": "needs values that {freed_by} [freed|frees]",
    "read": "used again here",
}
