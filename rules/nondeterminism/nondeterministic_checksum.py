"""A checksum or restart stamp differs at each render

What it finds: a `checksum/...` annotation whose value is another one at each render although nothing it could hash has
changed, and restart stamps (`rollme`, `timestamp`) that a template draws or dates. A checksum that hashes a random Secret of
the same application is reported with that Secret (nondeterministic-secret).

*proven*: Argo CD wrote one value at this revision and renders another at the same revision, two renders differ, or two
workloads of one render hash one template and disagree. *likely*: nothing that it could hash differs, or the chart is known
for it. *possible* (info): only its name speaks for it. A checksum that moves because a ConfigMap or Secret moved is no fault,
and an annotation that only the live object holds (`kubectl rollout restart`) is none either.

Why it hurts: the pod template changes at each commit, hard refresh or end of the manifest cache, so the application is
OutOfSync forever, or all its pods restart whenever anyone commits anything.

How to fix: pin what the checksum hashes, or hash data only; switch the stamp off: a checksum of the configuration already
restarts pods when it changes.

Example: `rollme: {{ randAlphaNum 5 }}` restarts a Deployment at every render.

Sources: argoproj/argo-cd issues 3263, 9582; argoproj/argo-helm issue 3130.
"""

from __future__ import annotations

from collections.abc import Iterator

from argolint import App, Finding, Fleet, Rank, Rule

from . import _evidence as evidence
from . import _roots as roots


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each annotation key, with every workload that carries it."""
    yield from roots.findings(app, fleet, frozenset({"checksum", "stamp"}))


RULE = Rule(
    id="nondeterministic-checksum",
    family="nondeterminism",
    severity="error",
    doc=__doc__,
    check=check,
    wants=evidence.wants,
    reads=evidence.reads,
    rank=Rank.ROOT,
)
