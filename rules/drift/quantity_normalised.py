"""The same quantity in two spellings

What it finds: a field whose desired and live values are one Kubernetes quantity in two spellings (`1000m` and `1`, `1024Mi` and `1Gi`). It
happens in custom resources: Argo CD compares their fields as text, while the operator that owns the kind reads a quantity and writes it back in
its canonical form.

Why it hurts: the object is OutOfSync forever, each sync restarts the exchange, and with self-heal it never ends.

How to fix: write the canonical form in Git. For a kind with many such fields, declare their types to Argo CD with
`resource.customizations.knownTypeFields`.

Example: `memory: 3072Mi` in Git, `memory: 3Gi` live.

Sources: argoproj/argo-cd#1615, #17682, #21135; docs/faq.md ("Why is my app Out Of Sync even after syncing?").
"""

from collections.abc import Iterator

from argolint import App, Finding, Fleet, Rank, Rule

from ._spelling import is_same_amount, respelling_findings


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each object, with all its quantities."""
    yield from respelling_findings(app, is_same_amount, "quantity", "Write the canonical quantity", "core/Quantity")


RULE = Rule(**Rule.page(__name__), severity="warning", check=check, rank=Rank.SPELLING)
