"""A rendered field or name differs at each render

What it finds: a ConfigMap value, an object's name, a schedule, an environment value, a CA bundle or any other text that differs each time the
same revision is rendered; and a list whose items come in another order each time, since a template walks `keys` of a map. A CA bundle that is signed with a random Secret of the same application is reported with that Secret
(nondeterministic-secret).

*proven*: Argo CD wrote one value at this revision and renders another at the same revision, or two renders differ. *likely*: the chart is known
to generate it, a commit after the last sync changed only one random word into another or brought a time that is later than itself, or objects remain whose
names end in other times or random words. *possible* (info): a ConfigMap's text differs at one revision in words of a setting. The cluster's version and kinds, or an input
that is not pinned, may be the reason.

Not reported: a value that the last apply sent in its present form, since a webhook changed it; and a CA bundle that is empty or a placeholder in
Git, since cainjector or an operator fills it.

Why it hurts: the application is OutOfSync forever. A Job with a random name runs again at each sync, and the old one must be pruned. A webhook
trusts a new authority before its pods serve the new certificate.

How to fix: set the value in the chart's values, let cert-manager issue certificates, remove random parts and dates from names.

Example: `name: migrate-{{ randAlphaNum 5 | lower }}` makes one new Job and one to prune at each render.

Sources: measured on 641 public charts; Argo CD docs/user-guide/helm.md (Random Data).
"""

from __future__ import annotations

from collections.abc import Iterator

from argolint import App, Finding, Fleet, Rank, Rule

from . import _evidence as evidence
from . import _roots as roots


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each field or name; the CA bundles of one chart are one."""
    yield from roots.findings(app, fleet, frozenset({"ca-bundle", "config", "name", "value", "order"}))


RULE = Rule(
    **Rule.page(__name__), severity="error", check=check, wants=evidence.wants, reads=evidence.reads, rank=Rank.ROOT
)
