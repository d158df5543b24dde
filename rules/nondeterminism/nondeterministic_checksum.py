"""A checksum or restart stamp differs at each render

What it finds: a `checksum/...` annotation with another value at each render although nothing that it may hash has changed. Also restart stamps
(`rollme`, `timestamp`) that a template generates or dates. A checksum of a random Secret in the same application is reported with that Secret
(nondeterministic-secret).

*proven*: Argo CD wrote one value at this revision and renders another at the same revision, two renders differ, or two workloads of one render
hash one template with different results. *likely*: nothing that it may hash differs, or the chart is known for it. *possible* (info): only its
name suggests it. A checksum that moves with a ConfigMap or Secret is no fault, and neither is an annotation that only the live object has
(`kubectl rollout restart`).

Why it hurts: the pod template changes at each commit, hard refresh or end of the manifest cache. So the application is OutOfSync forever, or all
its pods restart at any commit.

How to fix: pin the hashed value, or hash data only. Switch the stamp off: a checksum of the configuration already restarts pods when it changes.

Example: `rollme: {{ randAlphaNum 5 }}` restarts a Deployment at every render.

Sources: argoproj/argo-cd issues 3263, 9582; argoproj/argo-helm issue 3130.
"""

from __future__ import annotations

from collections.abc import Iterator

from argolint import App, Finding, Fleet, Rank, Rule

from . import _evidence as evidence
from . import _roots as roots


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each annotation key, with every workload that has it."""
    yield from roots.findings(app, fleet, frozenset({"checksum", "stamp"}))


RULE = Rule(
    **Rule.page(__name__), severity="error", check=check, wants=evidence.wants, reads=evidence.reads, rank=Rank.ROOT
)
