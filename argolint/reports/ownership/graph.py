"""Objects and the Applications that claim them, and how to draw a part of it small."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from argolint.model import ResourceKey

Role = Literal["owner", "claimant", "phantom"]
"""A phantom is an owner in tracking data that is no Application of this server."""


@dataclass(frozen=True, order=True)
class Claim:
    """An Application (`namespace/name`) and its role for an object.

    `deletes`: deleting the Application deletes the object, since it owns it and has the resources finalizer; None if the owner is not
    known.
    """

    app: str
    role: Role
    project: str = ""
    deletes: bool | None = None


@dataclass(frozen=True, order=True)
class Held:
    """One object and all its claims, sorted; `owner_known`: one claim is the owner or the phantom.

    `via`: the objects that made it, nearest first, up to the object that the Applications list; empty for a listed object.
    """

    key: ResourceKey
    claims: tuple[Claim, ...]
    via: tuple[ResourceKey, ...] = ()

    @property
    def owner_known(self) -> bool:
        return any(claim.role != "claimant" for claim in self.claims)


@dataclass(frozen=True)
class Picture:
    """The content of a picture: labels of Applications and objects, and edges by position.

    `left_out`: the number of nodes that did not fit.
    """

    apps: tuple[str, ...]
    objects: tuple[str, ...]
    edges: tuple[tuple[int, int, Role], ...]
    left_out: int = 0


def parts(held: Iterable[Held]) -> list[tuple[Held, ...]]:
    """The connected parts: objects that share an Application, directly or through others. Sorted."""
    leader: dict[str, str] = {}

    def root(app: str) -> str:
        while leader.setdefault(app, app) != app:
            leader[app] = leader[leader[app]]
            app = leader[app]
        return app

    ordered = sorted(held)
    for one in ordered:
        for claim in one.claims:
            leader[root(claim.app)] = root(one.claims[0].app)
    found: dict[str, list[Held]] = defaultdict(list)
    for one in ordered:
        found[root(one.claims[0].app)].append(one)
    return sorted(map(tuple, found.values()))


Node = tuple[str, frozenset[tuple[str, Role]]]
"""An object or a group of objects: its label, and the Applications that claim it."""


def picture(part: Sequence[Held], most: int) -> Picture:
    """A part with at most `most` nodes: first objects with the same claims are merged, then Applications of the same project."""
    ways: tuple[Callable[[], list[Node]], ...] = (
        lambda: [(str(one.key), _claims(one)) for one in part],
        lambda: _folded(part, lambda key: (key.cluster, key.kind, key.namespace), _of_kind),
        lambda: _folded(part, lambda key: None, lambda keys: f"{len(keys)} objects"),
    )
    nodes: list[Node] = []
    for way in ways:
        nodes = way()
        if len(nodes) + len(_apps(nodes)) <= most:
            break
    else:
        nodes = _by_project(nodes, part)
    kept: list[Node] = []
    seen: set[str] = set()
    for label, claims in nodes:
        more = seen | {app for app, _ in claims}
        if kept and len(kept) + 1 + len(more) > most:
            break
        kept.append((label, claims))
        seen = more
    shown = sorted(seen)[: max(1, most - len(kept))]
    place = {app: i for i, app in enumerate(shown)}
    edges = [
        (place[app], i, role) for i, (_, claims) in enumerate(kept) for app, role in sorted(claims) if app in place
    ]
    left_out = len(nodes) - len(kept) + len(seen) - len(shown)
    return Picture(tuple(shown), tuple(label for label, _ in kept), tuple(edges), left_out)


def _claims(one: Held) -> frozenset[tuple[str, Role]]:
    return frozenset((claim.app, claim.role) for claim in one.claims)


def _apps(nodes: Iterable[Node]) -> set[str]:
    return {app for _, claims in nodes for app, _ in claims}


def _of_kind(keys: Sequence[ResourceKey]) -> str:
    where = f" in {keys[0].namespace}" if keys[0].namespace else ""
    return f"{len(keys)} {keys[0].kind}{where}"


def _folded(
    part: Sequence[Held], by: Callable[[ResourceKey], Hashable], label: Callable[[Sequence[ResourceKey]], str]
) -> list[Node]:
    """Objects with the same claims and the same `by` value, merged."""
    groups: dict[tuple[frozenset[tuple[str, Role]], Hashable], list[ResourceKey]] = defaultdict(list)
    for one in part:
        groups[_claims(one), by(one.key)].append(one.key)
    return [(str(keys[0]) if len(keys) == 1 else label(keys), claims) for (claims, _), keys in groups.items()]


def _by_project(nodes: Sequence[Node], part: Sequence[Held]) -> list[Node]:
    """Applications replaced by their project, if it has several here."""
    of = {claim.app: claim.project for one in part for claim in one.claims if claim.role != "phantom"}
    members = Counter(of.values())

    def name(app: str) -> str:
        return f"{members[of[app]]} Applications of project {of[app]}" if members.get(of.get(app, ""), 0) > 1 else app

    return [(label, frozenset((name(app), role) for app, role in claims)) for label, claims in nodes]
