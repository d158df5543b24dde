"""Ownership for people in a terminal, and as data."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from argolint.reports.ownership.graph import Claim, Held
from argolint.values import plain

_DELETES = "deleting this Application deletes the object, unless it says Delete=false"
_OWNER_LEAVES = "`argocd app delete` deletes the object; deleting the Application in another way leaves it"
_LEAVES = "deleting this Application leaves the object"


def _about(claim: Claim) -> str:
    """What deleting the Application does to the object. Without a finalizer that depends on the way: `argocd app delete` sets one first."""
    if claim.role == "phantom":
        return "named by tracking data, and no Application here"
    if claim.deletes is None:
        return ""
    if claim.deletes:
        return _DELETES
    return _OWNER_LEAVES if claim.role == "owner" else _LEAVES


def text(held: Sequence[Held]) -> str:
    """Objects with their Applications, the owner first."""
    lines: list[str] = []
    for one in held:
        lines.append(plain(f"{one.key}  ({one.key.cluster})"))
        if one.via:
            lines.append(plain(f"  made by   {' of '.join(map(str, one.via))}, which belongs to:"))
        for claim in _ordered(one):
            about = _about(claim)
            project = f" (project {claim.project})" if claim.project else ""
            lines.append(plain(f"  {claim.role:8}  {claim.app}{project}{': ' if about else ''}{about}"))
        if not one.owner_known:
            lines.append("  the list does not show the owner of the live object: `argolint check` does")
    apps = {claim.app for one in held for claim in one.claims if claim.role != "phantom"}
    lines.append(f"{_number(len(held), 'object')}, {_number(len(apps), 'Application')}")
    return "\n".join(lines) + "\n"


def as_json(held: Sequence[Held], servers: Mapping[str, str]) -> str:
    """The objects with their Applications as one JSON document. `servers`: URLs by name; a single Argo CD has no name."""
    data = {
        **({"server": servers[""]} if "" in servers else {"servers": dict(servers)}),
        "objects": [
            {
                **one.key._asdict(),
                **({"made_by": [key._asdict() for key in one.via]} if one.via else {}),
                "owner": next((c.app for c in one.claims if c.role == "owner"), None),
                "claims": [
                    {"app": c.app, "project": c.project, "role": c.role, "deletes": c.deletes} for c in _ordered(one)
                ],
            }
            for one in held
        ],
    }
    return json.dumps(data, indent=1) + "\n"


def _ordered(one: Held) -> list[Claim]:
    return sorted(one.claims, key=lambda c: (("owner", "phantom", "claimant").index(c.role), c))


def _number(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'' if n == 1 else 's'}"
