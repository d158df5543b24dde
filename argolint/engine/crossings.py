"""Objects that Applications of several Argo CDs share, and how a common cluster is recognized.

An address identifies a cluster only if it means the same everywhere. `https://kubernetes.default.svc` is another cluster on every Argo CD,
and so may be any address of a private network. Such a cluster is taken as the Argo CD's own, unless the user named it (`clusters:` of an
entry in the servers file).
"""

from __future__ import annotations

import ipaddress
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit

from argolint.application.app import App
from argolint.application.fleet import IN_CLUSTER, Claimant, Crossing, Fleet
from argolint.model import AppRef
from argolint.values import dig, enumerated, parse_version, text_at

_PRIVATE = frozenset(
    "svc local localhost localdomain internal intranet private corp home lan arpa test invalid default".split()
)
"""Top-level labels of host names that public DNS does not know."""

Object4 = tuple[str, str, str, str]
"""Group, kind, namespace and name."""


@dataclass(frozen=True)
class JoinedServer:
    """One of several Argo CDs that are read together. `aliases`: the user's names for clusters, by their address or name there."""

    name: str
    fleet: Fleet
    aliases: Mapping[str, str] = field(default_factory=dict)

    def address(self, known: str) -> str:
        """The address of the cluster that an alias is for: the alias may use the address or the cluster's name on this Argo CD."""
        wanted = known.rstrip("/")
        by_name = (url for url, c in self.fleet.clusters.items() if text_at(c, "name") == wanted)
        own = IN_CLUSTER if wanted == "in-cluster" else wanted  # the account may not be allowed to list clusters
        return wanted if wanted in self.fleet.clusters else next(by_name, own)

    @property
    def unknown(self) -> tuple[str, ...]:
        """Aliases for clusters that neither the Argo CD nor its applications name."""
        seen = {*self.fleet.clusters, *(app.cluster for app in self.fleet.apps)}
        return tuple(sorted(key for key in self.aliases if not {self.address(key), f"name:{key}"} & seen))

    def version(self, cluster: str) -> tuple[int, ...]:
        """Major and minor version of Kubernetes there; empty if unknown."""
        return (parse_version(self.fleet.kubernetes_version(cluster)) or ())[:2]


def clusters(members: Sequence[JoinedServer]) -> tuple[Mapping[tuple[str, str], str], tuple[str, ...]]:
    """The clusters that two or more Argo CDs deploy to: from (Argo CD's name, its address there) to one common name.

    Also remarks on addresses that may wrongly be treated as one cluster or as two.
    """
    places: dict[str, list[tuple[JoinedServer, str]]] = defaultdict(list)
    names: dict[str, dict[str, str]] = defaultdict(dict)
    remarks: list[str] = []
    for member in members:
        named = {member.address(key): alias for key, alias in member.aliases.items()}
        named |= {f"name:{key}": alias for key, alias in member.aliases.items()}
        for cluster in sorted({app.cluster for app in member.fleet.apps}):
            known = named.get(cluster, "")
            common = public_address(known or cluster) or known
            if address := public_address(cluster):
                names[address][member.name] = known
            if common:
                places[common].append((member, cluster))
    remarks += (listing for address, own in sorted(names.items()) if (listing := _named_by_some(address, own)))
    found: dict[tuple[str, str], str] = {}
    for common, shared in sorted(places.items()):
        versions = {m.name: m.version(cluster) for m, cluster in shared if m.version(cluster)}
        if len(shared) < 2 or len({m.name for m, _ in shared}) < 2:
            continue
        if len(set(versions.values())) > 1:
            listing = ", ".join(f"{'.'.join(map(str, v))} to {name}" for name, v in sorted(versions.items()))
            aliased = all(cluster in _aliased_addresses(m) for m, cluster in shared)
            remarks.append(
                f"Cluster {common} shows Kubernetes {listing}: "
                + (
                    "are its aliases right?"
                    if aliased
                    else "it is taken for several clusters, unless `clusters:` says otherwise."
                )
            )
            if not aliased:
                continue
        found |= {(m.name, cluster): common for m, cluster in shared}
    return found, tuple(remarks)


def _named_by_some(address: str, names: Mapping[str, str]) -> str:
    """A remark on a public address that the user named on one Argo CD only."""
    named = {name: alias for name, alias in names.items() if alias and public_address(alias) != address}
    plain = [name for name in names if name not in named]
    if not named or not plain:
        return ""
    listing = enumerated([f"{alias} on {name}" for name, alias in named.items()])
    return f"Cluster {address} is {listing} and has no name on {enumerated(plain)}: it is taken for several clusters, unless `clusters:` gives it one name."


def _aliased_addresses(member: JoinedServer) -> frozenset[str]:
    return frozenset(a for key in member.aliases for a in (member.address(key), f"name:{key}"))


def public_address(url: str) -> str:
    """The normalized address if its host is in public DNS; else empty."""
    try:
        parts = urlsplit(url)
        host, port = (parts.hostname or "").rstrip("."), parts.port
    except ValueError:
        return ""
    labels = host.split(".")
    if parts.scheme not in ("http", "https") or len(labels) < 3 or labels[-1] in _PRIVATE or not all(labels):
        return ""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        shown = "" if port in (None, 443) else f":{port}"
        return f"{parts.scheme}://{host}{shown}{parts.path.rstrip('/')}"
    return ""


def with_shared_objects(members: Sequence[JoinedServer]) -> tuple[tuple[Fleet, ...], tuple[str, ...]]:
    """The fleets with what their applications share with those of other Argo CDs, and remarks."""
    common, remarks = clusters(members)
    found: dict[str, dict[AppRef, list[Crossing]]] = {m.name: defaultdict(list) for m in members}
    for crossing in _crossings(members, common):
        for claimant in (*crossing.claimants, *crossing.pruners):
            found[claimant.argocd][claimant.app].append(crossing)
    fleets = tuple(replace(m.fleet, crossings={ref: tuple(c) for ref, c in found[m.name].items()}) for m in members)
    return fleets, remarks


def _crossings(members: Sequence[JoinedServer], common: Mapping[tuple[str, str], str]) -> Iterator[Crossing]:
    """The objects that several Argo CDs list, grouped by the Applications that list them."""
    apps: dict[str, list[tuple[JoinedServer, App]]] = defaultdict(list)
    for member in members:
        for app in member.fleet.apps:
            if (member.name, app.cluster) in common and app.desired_known and not app.deleting:
                apps[common[member.name, app.cluster]].append((member, app))
    for cluster, listed in sorted(apps.items()):
        groups: dict[tuple[tuple[int, bool], ...], list[Object4]] = defaultdict(list)
        for key, places in _contested_by_two(listed).items():
            groups[tuple(sorted(places.items()))].append(key)
        for pattern, objects in sorted(groups.items()):
            who = [(_claimant(*listed[index]), wanted) for index, wanted in pattern]
            claimants = sorted((c for c, wanted in who if wanted), key=lambda c: c.app)
            pruners = sorted((c for c, wanted in who if not wanted), key=lambda c: c.app)
            yield Crossing(cluster, tuple(claimants), tuple(pruners), tuple(sorted(objects)))


def _contested_by_two(listed: Sequence[tuple[JoinedServer, App]]) -> Mapping[Object4, Mapping[int, bool]]:
    """The objects that applications of two Argo CDs list and at least one wants: for each application's position, whether it wants the object.

    An object to prune counts if another Argo CD wants it; hooks and skipped objects never count.
    """
    first: dict[int, str] = {}  # hashes take a tenth of the memory; the keys are made only for the few that recur
    again: set[int] = set()
    for member, app in listed:
        for row in app.rows:
            if row.claimed or row.requires_pruning:
                mark = hash((row.group, row.kind, row.namespace, row.name))
                if first.setdefault(mark, member.name) != member.name:
                    again.add(mark)
    found: dict[Object4, dict[int, bool]] = defaultdict(dict)
    for index, (_, app) in enumerate(listed) if again else ():
        for row in app.rows:
            key = (row.group, row.kind, row.namespace, row.name)
            if (row.claimed or (row.requires_pruning and not row.hook)) and hash(key) in again:
                found[key][index] = row.claimed
    return {key: places for key, places in found.items() if _is_crossed(places, listed)}


def _is_crossed(places: Mapping[int, bool], listed: Sequence[tuple[JoinedServer, App]]) -> bool:
    """True if one Argo CD wants it and another wants or prunes it; the same Application seen through two addresses does not count."""
    wanting = {listed[i][0].name for i, wanted in places.items() if wanted}
    every = {listed[i][0].name for i in places}
    uids = [dig(listed[i][1].raw, "metadata", "uid") for i in places]
    return bool(wanting) and len(every) > 1 and not (all(uids) and len(set(uids)) == 1)


def _claimant(member: JoinedServer, app: App) -> Claimant:
    fleet = member.fleet
    return Claimant(
        app.ref,
        member.name,
        app.cluster,
        app.instance,
        fleet.tracking_method,
        fleet.label_key,
        text_at(fleet.settings, "installationID"),
        app.prune,
    )
