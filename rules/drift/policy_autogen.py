"""Kyverno completes its own policies

What it finds: rules named `autogen-*` that Kyverno derives from a Pod rule for Deployments and CronJobs, and the defaults
that its webhook writes into each rule (`skipBackgroundRequests`, empty `mutate`, `generate` and the like). Git has neither.

Why it hurts: the policy is OutOfSync forever, and with self-heal Argo CD and Kyverno write in turns.

How to fix: switch the derivation off with the annotation `pod-policies.kyverno.io/autogen-controllers: none` and write the wanted rules; or
ignore the derived rules and defaults.

Example: `spec.rules[1].name: autogen-check-requests` in the cluster only.

Sources: kyverno/kyverno#2234, #5738, #9451; https://kyverno.io/docs/platform-notes/.
"""

from collections.abc import Iterator

from argolint import MISSING, App, Change, Finding, Fix, Fleet, Rank, Resource, Rule
from argolint.edits import manifest_yaml
from argolint.values import dig, get

from ._defaults import is_default
from ._edits import source_place
from ._fields import drifts
from ._grammar import is_hollow
from ._writers import known_writer


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each policy, with all additions of Kyverno."""
    for drift in drifts(app, _is_by_kyverno):
        derived = [
            name
            for c in drift.changes
            if (name := dig(_rule_at(drift.resource, c), "name")) and name.startswith("autogen-")
        ]
        what = f"rule {derived[0]!r}" if derived else f"the defaults at {drift.places()}"
        yield drift.finding(
            f"{drift.resource.id} stays OutOfSync over {what}, which Kyverno adds.",
            fixes=(
                _autogen_off_fix(app) if derived else None,
                drift.ignore(),
                drift.write_live("Write what Kyverno adds", "repeat it when the rule changes"),
            ),
        )


def _autogen_off_fix(app: App) -> Fix:
    return manifest_yaml(
        source_place(app),
        "Switch rule generation off",
        "metadata:\n  annotations:\n    pod-policies.kyverno.io/autogen-controllers: none\n",
        "controllers are then judged only when their pods are made",
    )


def _is_by_kyverno(resource: Resource, change: Change) -> bool:
    if resource.group != "kyverno.io" or resource.kind not in ("ClusterPolicy", "Policy"):
        return False
    if is_default("policy-autogen", resource, change) or "autogen-" in str(dig(_rule_at(resource, change), "name")):
        return True
    writer = known_writer(change.writer)
    return change.desired is MISSING and (is_hollow(change.live) or (writer is not None and writer.tool == "Kyverno"))


def _rule_at(resource: Resource, change: Change) -> object:
    """The rule of the policy that contains the change."""
    steps = change.pointer.split("/")
    return get(resource.normalized, "/".join(steps[:4]), None) if steps[1:3] == ["spec", "rules"] else None


RULE = Rule(**Rule.page(__name__), severity="warning", check=check, rank=Rank.CAUSE)
