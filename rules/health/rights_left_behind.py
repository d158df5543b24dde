"""A workload changes its service account, and its rights stay with the old one

What it finds: a workload whose pods will run as another service account, where bindings grant rights to the old account and none to the new one.

Why it hurts: the sync succeeds and the pods start. Their first request to the API server is refused ("is forbidden: User system:serviceaccount:..."), so
an operator or a controller does nothing, or fails.

How to fix: name the new account in the bindings, in the same change.

Example: a chart's `serviceAccount.name` changes, and a RoleBinding of another chart names the old account.

The bindings of this application count, and those of other applications in the namespace and of the cluster. With more than a hundred of them there is no finding, as
with a binding for a group of all accounts. Bindings that no application has are not seen.

Sources: rbac.authorization.k8s.io/v1; kubernetes.io, Using RBAC Authorization, referring to subjects.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from argolint import (
    App,
    AppRef,
    Finding,
    Fix,
    Fleet,
    Location,
    Object,
    Rank,
    Related,
    Resource,
    ResourceKey,
    Rule,
    Want,
)
from argolint.edits import manifest_patch, manifest_text
from argolint.redaction import excerpt
from argolint.values import enumerated, get, maps, text_at
from argolint.values.kubernetes import pod_spec

from ..shared.peers import after_sync, peer_keys, peer_wants, peers

_BINDINGS = (("rbac.authorization.k8s.io", "RoleBinding"), ("rbac.authorization.k8s.io", "ClusterRoleBinding"))
_MOST = 100


def wants(app: App, fleet: Fleet, options: object) -> Iterator[Want]:
    """The bindings of other applications, in the namespaces of workloads that change their account."""
    namespaces = {workload.namespace for workload, _, _ in _movers(app)}
    if namespaces:
        yield from peer_wants(app, fleet, _BINDINGS, lambda key: key.namespace in ("", *namespaces), _MOST)


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each workload."""
    for workload, old, new in _movers(app):
        key = ResourceKey(app.cluster, "", "ServiceAccount", workload.namespace, new)
        if new != "default" and app.resource(key) is None and not fleet.owners(key):
            continue  # target-missing's, or one that others made with rights of its own
        bindings = app.derive(_bindings, fleet, workload.namespace)
        granting = [(ref, one) for ref, one in bindings if _grants(one, workload.namespace, old)]
        if granting and not any(_grants(one, workload.namespace, new, groups=True) for _, one in bindings):
            yield _finding(app, workload, old, new, granting)


def _movers(app: App) -> Iterator[tuple[Resource, str, str]]:
    """The workloads that change their account, with the old and the new one."""
    for workload in app.with_pods("desired"):
        if workload.status == "OutOfSync" and workload.live and workload.desired and not workload.hook:
            old, new = _account(workload.live), _account(workload.desired)
            if old != new and not workload.requires_pruning:
                yield workload, old, new


def _account(obj: Object | None) -> str:
    return text_at(pod_spec(obj)[1], "serviceAccountName") or "default"


def _bindings(app: App, fleet: Fleet, namespace: str) -> Sequence[tuple[AppRef, Resource]]:
    """The bindings that may count in a namespace; none if not all of them were read."""
    own = [(app.ref, r) for _, kind in _BINDINGS for r in app.of_kind(kind, _BINDINGS[0][0])]
    read = {r.key: (ref, r) for ref, r in peers(app, fleet, *(kind for _, kind in _BINDINGS))}
    wanted = list(peer_keys(app, fleet, _BINDINGS, lambda key: key.namespace in ("", namespace)))
    if any(key not in read for key in wanted):
        return ()
    return [(ref, r) for ref, r in (*own, *(read[key] for key in wanted)) if r.namespace in ("", namespace)]


def _grants(binding: Resource, namespace: str, account: str, *, groups: bool = False) -> bool:
    """Whether a binding names the account after the sync, or, with `groups`, a group that it is in."""
    for subject in maps(after_sync(binding), "subjects"):
        kind, name = text_at(subject, "kind"), text_at(subject, "name")
        if kind == "ServiceAccount" and name == account:
            if (text_at(subject, "namespace") or binding.namespace) == namespace:
                return True
        elif (
            groups and kind == "Group" and name in (f"system:serviceaccounts:{namespace}", "system:serviceaccounts")
        ) or (groups and kind == "User" and name == f"system:serviceaccount:{namespace}:{account}"):
            return True
    return False


def _finding(app: App, workload: Resource, old: str, new: str, granting: Sequence[tuple[AppRef, Resource]]) -> Finding:
    names = enumerated([str(one.id) for _, one in granting], limit=1)
    verb = "names" if len(granting) == 1 else "name"
    account = app.find("", "ServiceAccount", workload.namespace, new)
    is_fresh = account is not None and account.live is None
    return Finding(
        message=f"{workload.id} will run as ServiceAccount {excerpt(new, 63)} without the rights of {excerpt(old, 63)}, which {names} still {verb}.",
        at=Location(app.ref, workload.id, f"{pod_spec(workload.desired)[0]}/serviceAccountName"),
        severity=None if is_fresh else "warning",
        confidence="likely" if is_fresh else "possible",
        evidence=tuple(f'{one.id} of "{ref.name}" names {excerpt(old, 63)}' for ref, one in granting[:8]),
        related=tuple(Related(ref, one.id, "/subjects", "cause") for ref, one in granting[:5]),
        fixes=tuple(_fixes(app, old, new, granting)),
    )


def _fixes(app: App, old: str, new: str, granting: Sequence[tuple[AppRef, Resource]]) -> Iterator[Fix]:
    title = f"Name ServiceAccount {new} in the binding"
    for ref, one in granting:
        steps = [
            {"op": "replace", "path": f"/subjects/{number}/name", "value": new}
            for number, subject in enumerate(maps(one.desired, "subjects"))
            if (subject.get("kind"), subject.get("name")) == ("ServiceAccount", old)
        ]
        if ref == app.ref and steps and get(one.desired, "/subjects", None):
            caveat = f"what else runs as {old} loses the rights" + (
                "; do the same in the others" if granting[1:] else ""
            )
            yield manifest_patch(one.id, title, steps, caveat)
            return
    text = f"a subject ServiceAccount {new} in {granting[0][1].id}\n"
    yield manifest_text(granting[0][1].id, title, text)


RULE = Rule(**Rule.page(__name__), severity="error", check=check, wants=wants, rank=Rank.CAUSE)
