"""Changes to Argo CD's own settings through an application: they affect every Application, and are not simulated here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from argolint.application.fleet import IN_CLUSTER, Fleet
from argolint.gate.touched import Touched
from argolint.model import Failure, Object, ResourceKey
from argolint.values import enumerated, labels_of, mapping, plain
from argolint.values.patterns import regex

_COUNTS = {
    "argocd-cm": regex(
        r"resource\.|kustomize\.|helm\.|jsonnet\.|application\.(?:instanceLabelKey|resourceTrackingMethod|sync)|installationID"
        r"|configManagementPlugins|globalProjects|ignoreNormalizerOptions|cluster\.inClusterEnabled"
    ),
    "argocd-cmd-params-cm": regex(r"application\.namespaces|controller\.diff|controller\.resource|reposerver\."),
}
"""Keys that affect rendering, comparison or watching (argo-cd util/settings; cmd/*/commands)."""
_TYPE_LABEL = "argocd.argoproj.io/secret-type"
_REACHED = {
    "cluster": "the cluster of that Secret",
    "repository": "the repository of that Secret",
    "repo-creds": "repositories with those credentials",
}
_HINT = "--allow-incomplete passes it here"


def own_settings(judged: Iterable[Touched], fleet: Fleet) -> Iterator[Failure]:
    """A failure for each of Argo CD's own ConfigMaps and Secrets that the change edits or removes."""
    for key, before, after in _objects(judged):
        if key.namespace != fleet.control_plane or key.cluster != IN_CLUSTER or key.group:
            continue
        if key.kind == "ConfigMap" and (counts := _COUNTS.get(key.name)):
            one, two = mapping(before, "data"), mapping(after, "data")
            keys = sorted(k for k in {*one, *two} if one.get(k) != two.get(k) and counts.match(k))
            if keys:
                which = enumerated(list(map(plain, keys)), limit=3)
                why = f"the change edits {which} in {key.name}, and what that means for Applications is not known here"
                yield Failure("not judged", why, _HINT)
        elif key.kind == "Secret":
            kind = labels_of(before).get(_TYPE_LABEL, "")
            if kind in _REACHED and labels_of(after).get(_TYPE_LABEL) != kind:
                why = (
                    f"the change takes the Secret {plain(key.name)} from Argo CD, "
                    f"and what becomes of Applications of {_REACHED[kind]} is not known here"
                )
                yield Failure("not judged", why, _HINT)


def _objects(judged: Iterable[Touched]) -> Iterator[tuple[ResourceKey, Object, Object]]:
    """The objects of all applications before and after; an empty map if one side has none."""
    for j in judged:
        yield from ((key, {}, obj) for key, obj in j.delta.added.items())
        yield from ((key, obj, {}) for key, obj in j.delta.removed.items())
        yield from ((key, edit.base, edit.head) for key, edit in j.delta.changed.items())
