"""Operators as OLM or a chart installs them: advice to bring one to a later release, and a plan that a person has to approve."""

from __future__ import annotations

from argolint import Edit, Fix, Object
from argolint.edits.advice import advice
from argolint.values import dig, maps, text_at


def external_secrets_upgrade(to: str, text: str, caveat: str = "") -> Fix:
    """`to`: the first release, and what follows it in the title: `v2.2.0 or later`."""
    edit = Edit("text", text)
    return Fix(f"Upgrade External Secrets to {to}", "operator", "values of the External Secrets chart", edit, caveat)


def unapproved_plan(subscription: Object | None) -> str:
    """The InstallPlan of a Subscription that waits for a person (operators.coreos.com/v1alpha1); empty without one."""
    asked = ("InstallPlanPending", "True", "RequiresApproval")
    conditions = maps(subscription, "status", "conditions")
    waits = any((c.get("type"), c.get("status"), c.get("reason")) == asked for c in conditions)
    return text_at(subscription, "status", "installPlanRef", "name") if waits else ""


def approval_fixes(subscription: Object | None) -> tuple[Fix, ...]:
    """The advice on a Subscription that waits for a person, beyond the approval itself."""
    return advice(
        __package__, "awaits-approval/Subscription", {"installed": dig(subscription, "status", "installedCSV")}
    )
