"""What speaks for a value being made anew at each render: the signs that the rules of this family share.

Argo CD renders without a cluster, so `lookup` is empty and a chart that draws a random value draws it again whenever the
manifests leave the cache: expiry, hard refresh, any commit. Argo CD masks Secret values, pairwise in managed-resources and
one by one in manifests, so that two renders of a Secret never differ; the checksums that hash it do.

Sources: util/helm/cmd.go and reposerver/cache/cache.go of Argo CD; measured on the charts of charts.yaml.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal

from argolint import (
    App,
    Change,
    Fleet,
    Json,
    Object,
    Resource,
    ResourceId,
    ResourceKey,
    Symptom,
    Want,
    Writer,
    compare,
    ignore,
)
from argolint.diff import differences
from argolint.model import Confidence
from argolint.values import annotations_of, dig, get, items, join_pointer, labels_of, parse_time, split_pointer

from . import charts
from .charts import Item, Release

Kind = Literal["secret", "checksum", "stamp", "ca-bundle", "config", "name", "value"]

# Tested on 232 rendered pod-annotation keys of 641 charts: all 184 checksum keys match, no other key does.
_CHECKSUM_KEY = re.compile(
    r"(?i)(?:^|[./_-])check-?sums?(?:[./_-]|$)|config-?check-?sum$|(?:^|[./_-])(?:sha(?:1|256|512)?(?:sum)?|md5(?:sum)?)$"
    r"|(?:^|[./_-])(?:[a-z]+-)*hash$|[a-z](?:Checksum|Hash|Sha256)$"
)
_NOT_CHECKSUM = re.compile(r"^(?:pod-template-hash|controller-revision-hash)$")
_CHECKSUM_VALUE = re.compile(r"^(?:[0-9a-f]{4,128}|[0-9]{6,10})$")
_STAMP_KEY = re.compile(
    r"(?i)^(?:roll-?me(?:[./_-].*)?|random(?:-annotation)?|(?:.*[./_-])?(?:timestamp|date|restarted-?at|deployed-?at"
    r"|deploy-?(?:date|time)|last-update(?:d)?|password-last-update))$"
)
_CA_BUNDLE = re.compile(r"/(?:clientConfig|spec)/caBundle$")
_PLACEHOLDER_CA = ("", "Cg==", "Cgo=")
_EMPTY_HASHES = ("e3b0c44298fc1c149afb", "01ba4719c80b6fe911b0", "da39a3ee5e6b4b0d3255", "d41d8cd98f00b204e980")
"""sha256 of nothing and of a line feed, sha1 and md5 of nothing: the hashed template renders nothing."""

_SYNCERS = ("argocd-controller", "argocd-application-controller")
_ORDER: tuple[Confidence, ...] = ("possible", "likely", "proven")
_SLACK = timedelta(seconds=60)


@dataclass(frozen=True)
class Sign:
    """One place whose value changes, or would change, with each render.

    claims   what Argo CD shows of it now; empty when nothing differs at the moment
    why      the evidence, a line for the finding
    item     what the chart is known to draw there, by `release`
    """

    resource: ResourceId
    pointer: str
    kind: Kind
    confidence: Confidence
    why: str
    claims: tuple[Symptom, ...] = ()
    release: Release | None = None
    item: Item | None = None

    @property
    def key(self) -> str:
        """The last token of the pointer: an annotation's key, a Secret's key."""
        return (split_pointer(self.pointer) or ("",))[-1]


def stronger(one: Confidence, other: Confidence) -> Confidence:
    return max(one, other, key=_ORDER.index)


def wants(app: App, fleet: Fleet, options: object) -> Iterator[Want]:
    """Two fresh renders of whatever can be random at all, and the plain manifests where a hook Secret may rotate."""
    if rendered(app):
        yield Want("render")
        if hook_secrets(app):
            yield Want("manifests")


def hook_secrets(app: App) -> tuple[Resource, ...]:
    """Secrets that hooks of this application make; no states are told of them."""
    return tuple(r for r in app.of_kind("Secret", "") if r.hook)


def reads(app: App, fleet: Fleet) -> bool:
    """Whether an application that looks fine may hold a random value: a chart with a Secret, known or hashed twice."""
    if not rendered(app) or not any(not r.hook for r in app.of_kind("Secret", "")):
        return False
    workloads = sum(r.kind in _WORKLOADS for r in app.resources)
    return workloads > 1 or any(next(release.random(), None) for release in charts.releases(app))


_WORKLOADS = ("Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob")


def rendered(app: App) -> bool:
    """False when every source is a directory of plain manifests: those come out equal each time.

    Before the first render Argo CD has not told the type of a source; then its own fields must.
    """
    for index, source in enumerate(app.sources):
        kind = charts.source_type(app, index)
        if kind not in ("Directory", "") or (not kind and any(source.get(k) for k in ("chart", "helm", "plugin"))):
            return True
    return False


def signs(app: App, fleet: Fleet) -> tuple[Sign, ...]:
    """Every sign of this application, the strongest for each place, sorted."""
    if not rendered(app) or not _worth_a_look(app):
        return ()
    known = charts.releases(app)
    drifted = [_from_outside(app, sign) for sign in _drift(app, fleet, known)]
    found = [*_two_renders(app), *drifted, *_one_render(app, known)]
    merged = _merge(_with_item(sign, app, known) for sign in found)
    merged = _merge([*merged, *_hashed_secrets(app, merged, known)])
    seen = {sign.resource.key for sign in merged}
    latent = [s for s in _by_knowledge(app, fleet, known) if s.resource.key not in seen]
    every = [s for s in (*merged, *latent) if s.claims or not _keeps_live(app, fleet, s)]
    return tuple(sorted(every, key=lambda s: (s.resource.key, s.pointer)))


def _keeps_live(app: App, fleet: Fleet, sign: Sign) -> bool:
    """Whether the field is ignored and each sync keeps its live value: somebody took the second choice already."""
    resource = app.resource(sign.resource.key)
    if resource is None or not compare.has_sync_option(app.raw, resource.desired, "RespectIgnoreDifferences=true"):
        return False
    rules = (*ignore.application_rules(app.raw), *ignore.server_rules(fleet.settings))
    return any(
        sign.pointer == pointer or sign.pointer.startswith(f"{pointer}/")
        for rule in rules
        if ignore.matches_object(rule, resource.any)
        for pointer in ignore.removed(rule, resource.any)
    )


def _worth_a_look(app: App) -> bool:
    """Something differs, was rendered twice, or is a Secret that the chart makes: else nothing needs decoding."""
    return bool(
        app.evidence.get(Want("render"))
        or app.changed
        or any(r.missing or r.extra for r in app.resources)
        or any(not r.hook for r in app.of_kind("Secret", ""))
    )


def _merge(found: Iterable[Sign]) -> list[Sign]:
    """One sign a place: the strongest, with every reason and claim."""
    places: dict[tuple[ResourceKey, str], Sign] = {}
    for sign in found:
        place = (sign.resource.key, sign.pointer)
        have = places.get(place)
        if have is None:
            places[place] = sign
            continue
        strong, weak = (sign, have) if _ORDER.index(sign.confidence) > _ORDER.index(have.confidence) else (have, sign)
        places[place] = replace(
            strong,
            why="\n".join(dict.fromkeys((*strong.why.split("\n"), *weak.why.split("\n")))),
            claims=tuple(dict.fromkeys((*strong.claims, *weak.claims))),
            item=strong.item or weak.item,
            release=strong.release or weak.release,
        )
    return list(places.values())


def classify(id_: ResourceId, pointer: str, desired: Json, live: Json) -> Kind | None:
    """What two values of one field are, when it is a field that charts fill with hashes, stamps or random values."""
    kind = id_.kind if id_.group in ("", "batch") else ""
    tokens = split_pointer(pointer)
    if not (isinstance(desired, str) and isinstance(live, str)) or len(tokens) < 2:
        return None
    key, parent = tokens[-1], tokens[-2]
    if kind == "Secret" and tokens[0] in ("data", "stringData"):
        return "secret"
    if kind == "ConfigMap" and tokens[0] in ("data", "binaryData"):
        return "config"
    if parent in ("annotations", "labels"):
        if _CHECKSUM_KEY.search(key) and not _NOT_CHECKSUM.match(key) and _hashes(desired, live):
            return "checksum"
        return "stamp" if _STAMP_KEY.match(key) else None
    if _CA_BUNDLE.search(pointer):
        return None if desired in _PLACEHOLDER_CA or live in _PLACEHOLDER_CA else "ca-bundle"
    if (parent.isdigit() and key == "value" and "env" in tokens) or (kind == "CronJob" and key == "schedule"):
        return "value" if _alike(desired, live) or key == "schedule" else None
    return None


def _hashes(one: str, other: str) -> bool:
    return bool(_CHECKSUM_VALUE.match(one) and _CHECKSUM_VALUE.match(other))


_WORD = re.compile(r"^[A-Za-z0-9+/=_.:-]{5,}$")


def _alike(one: str, other: str) -> bool:
    """Two draws of one random expression: same length, letters and digits, most of them different."""
    if not (_WORD.match(one) and _WORD.match(other) and len(one) == len(other)):
        return False
    return sum(a != b for a, b in zip(one, other, strict=True)) * 2 > len(one)


# -- what differs between live and desired ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Synced:
    """The last sync against what is compared now.

    same     it was at the very revision and sources that are compared now
    moved    it is known to have been at another revision
    applied  the objects that it applied
    since    when that revision was first synced;   until: when its last sync ended
    """

    same: bool
    moved: bool
    applied: frozenset[tuple[str, str, str, str]] = frozenset()
    since: datetime | None = None
    until: datetime | None = None


def synced(app: App) -> Synced:
    """Where the last sync stood: its revisions, its sources, the objects that it applied."""
    operation = app.operation
    if operation is None or not operation.revisions or not app.revisions:
        return Synced(False, False)
    result = operation.raw.get("syncResult") or {}
    compared = dig(app.status, "sync", "comparedTo") or {}
    same_sources = _sources(result) == _sources(compared) or not _sources(result) or not _sources(compared)
    local = bool(dig(operation.raw, "operation", "sync", "manifests"))
    same = operation.revisions == app.revisions and same_sources and not local
    applied = frozenset(
        (r.get("group", ""), r.get("kind", ""), r.get("namespace", ""), r.get("name", ""))
        for r in operation.results
        if r.get("status") == "Synced"
    )
    moved = operation.revisions != app.revisions
    return Synced(same, moved, applied, _first_deployed(app) if same else None, operation.finished_at)


def _sources(node: Object) -> tuple[Object, ...]:
    several = items(node, "sources")
    one = node.get("source") or {}
    return several or ((one,) if one.get("repoURL") else ())


def _first_deployed(app: App) -> datetime | None:
    """When the revision that is compared now was first synced, from the history."""
    starts = [
        parse_time(h.get("deployStartedAt") or h.get("deployedAt"))
        for h in items(app.status, "history")
        if tuple(h.get("revisions") or (h.get("revision"),)) == app.revisions
    ]
    return min((s for s in starts if s is not None), default=None)


def by_argocd(writer: Writer | None) -> bool:
    """Whether a sync wrote it; argocd-server writes what a person edits in the web interface."""
    return writer is not None and writer.manager in _SYNCERS


def _drift(app: App, fleet: Fleet, known: Sequence[Release]) -> Iterator[Sign]:
    at = synced(app)
    found: list[tuple[Resource, Change, Kind]] = []
    others: list[tuple[Resource, Change]] = []
    for resource in app.resources:
        if not _own(app, fleet, resource):
            continue
        for change in resource.changes:
            kind = classify(resource.id, change.pointer, change.desired, change.live)
            if change.writer is not None and not by_argocd(change.writer):
                continue  # somebody else wrote it: a live edit, a controller, a rotation
            if kind is None:
                others.append((resource, change))
            else:
                found.append((resource, change, kind))
    here: list[tuple[Resource, Change, Kind]] = []
    elsewhere: list[tuple[Resource, Change, Kind]] = []
    for place in found:
        (here if _written_here(at, *place[:2]) else elsewhere).append(place)
    yield from (_at_one_revision(app, *place) for place in here)
    if at.same:
        yield from _names(app, at)
    yield from _after_a_move(app, at, elsewhere, others, known)


def _own(app: App, fleet: Fleet, resource: Resource) -> bool:
    """False for hooks, for objects of two applications (each writes its own value) and for controllers' Secrets."""
    if resource.hook or len(fleet.owners(resource.key)) > 1:
        return False
    tracked = annotations_of(resource.live).get("argocd.argoproj.io/tracking-id", "")
    if tracked and tracked.partition(":")[0] != app.instance:
        return False
    return not any(owner.get("controller") for owner in items(resource.live, "metadata", "ownerReferences"))


def _from_outside(app: App, sign: Sign) -> Sign:
    """A plugin may read its values elsewhere, a vault for one: that one value follows another proves nothing then."""
    if not any(charts.source_type(app, index) == "Plugin" for index in range(len(app.sources))):
        return sign
    why = f"{sign.why}\na plugin renders it, which may read the value elsewhere"
    return replace(sign, confidence="possible", why=why)


def _written_here(at: Synced, resource: Resource, change: Change) -> bool:
    """Whether the live value is what a sync of the very revision wrote, and nothing wrote it after that sync."""
    if not at.same:
        return False
    time = change.writer.time if change.writer else None
    if time is not None and at.until is not None and time > at.until + _SLACK:
        return False
    applied = (resource.group, resource.kind, resource.namespace, resource.name) in at.applied
    return applied or (at.since is not None and time is not None and time >= at.since - _SLACK)


def _at_one_revision(app: App, resource: Resource, change: Change, kind: Kind) -> Sign:
    revision = ", ".join(r[:12] for r in app.revisions if r)
    if change.writer is not None:
        why = f"Argo CD wrote one value at revision {revision} and renders another at the same revision; nobody else wrote the field"
        return _shown(resource, change, kind, "proven", why)
    why = f"revision {revision} was synced and now renders another value; who wrote the live one is not recorded"
    return _shown(resource, change, kind, "likely" if kind not in ("config", "value") else "possible", why)


def _shown(resource: Resource, change: Change, kind: Kind, confidence: Confidence, why: str) -> Sign:
    masked = "; the server masks both values" if kind == "secret" else ""
    line = f"{resource.id} {change.pointer}: {why}{masked}"
    return Sign(resource.id, change.pointer, kind, confidence, line, (Symptom.change(resource.id, change.pointer),))


def _names(app: App, at: Synced) -> Iterator[Sign]:
    """An object that this revision's sync applied is no longer desired, and a twin with another random end is."""
    gone = [r for r in app.resources if r.extra and (r.group, r.kind, r.namespace, r.name) in at.applied]
    for new in (r for r in app.resources if r.missing):
        old = [r for r in gone if (r.group, r.kind, r.namespace) == (new.group, new.kind, new.namespace)]
        twins = [r for r in old if _twin(r.name, new.name)]
        if twins and (new.group, new.kind, new.namespace, new.name) not in at.applied:
            yield Sign(
                new.id,
                "/metadata/name",
                "name",
                "proven",
                f"the sync of this very revision created {twins[0].id}, which the revision now renders as {new.name}",
                (Symptom.missing(new.id), *map(Symptom.extra, (r.id for r in twins))),
            )


def _twin(one: str, other: str) -> bool:
    """Equal but for the last part, which has one length."""
    head, _, tail = one.rpartition("-")
    head_2, _, tail_2 = other.rpartition("-")
    return bool(head) and head == head_2 and len(tail) == len(tail_2) >= 2


_GENERATED_KEY = re.compile(
    r"(?i)pass(?:w|phrase)|secret|token|cookie|salt|private|fernet|encrypt|signing|jwt|hmac|tls\.|\.key$|\.crt$|ca\.|cert"
    r"|cluster-id|htpasswd|auth|key"
)


def generated(key: str) -> bool:
    """Whether charts like to generate what stands under such a key."""
    return bool(_GENERATED_KEY.search(key))


def _after_a_move(
    app: App,
    at: Synced,
    found: Sequence[tuple[Resource, Change, Kind]],
    others: Sequence[tuple[Resource, Change]],
    known: Sequence[Release],
) -> Iterator[Sign]:
    """The last sync did not write this value at this revision, as far as is known: a difference may be the commit's own.

    A checksum follows a real change of a ConfigMap or Secret, or the chart's version label; what the chart is known to
    draw, or what moved although nothing else did, is not the commit's.
    """
    bumped = any(_is_version_label(change.pointer) for _, change in others)
    real = [change for _, change in others if not _is_version_label(change.pointer)]
    lone = not real and not bumped and not any(r.missing or r.extra for r in app.resources)
    configs = any(kind == "config" for *_, kind in found)
    lone = lone and not configs
    for resource, change, kind in found:
        release, item = item_at(app, resource, change.pointer, known)
        if kind == "secret" and _outlived(app, resource):
            continue  # an earlier commit left it as it was, so this one changed it
        if item is not None and release is not None and not charts.pinned(item, release):
            why = f"chart {release.label} draws the {item.what} anew at each render ({', '.join(item.functions)})"
            yield _shown(resource, change, kind, "likely", why)
        elif kind == "secret" and resource.kind == "Secret":
            likely = generated(change.pointer) and _by_helm(resource)
            if lone and likely:
                why = "nothing else that Git renders changed with it"
                yield _shown(resource, change, kind, "likely", why)
            elif likely:
                yield _shown(
                    resource, change, kind, "possible", "its name is that of a generated value; Git may have changed it"
                )
        elif kind == "checksum" and not bumped:
            if lone and not any(k == "secret" for *_, k in found):
                yield _shown(resource, change, kind, "likely", "nothing that it could hash differs")
            elif lone:
                yield _shown(resource, change, kind, "possible", "a Secret of the application differs as well")
        elif kind == "stamp":
            drawn = _alike(str(change.desired), str(change.live)) or not at.moved
            yield _shown(
                resource, change, kind, "likely" if drawn else "possible", "it marks the time or the turn of a render"
            )
        elif kind == "ca-bundle" and lone:
            yield _shown(resource, change, kind, "likely", "a certificate authority that nothing else in Git changed")


def _is_version_label(pointer: str) -> bool:
    *_, parent, key = ("", *split_pointer(pointer))
    return parent == "labels" and key in ("helm.sh/chart", "chart", "app.kubernetes.io/version")


def _by_helm(resource: Resource) -> bool:
    labels = labels_of(resource.any)
    return charts.chart_label(resource.any) is not None or "Helm" in (
        labels.get("app.kubernetes.io/managed-by"),
        labels.get("heritage"),
    )


# -- two fresh renders -----------------------------------------------------------------------------------------------


def _two_renders(app: App) -> Iterator[Sign]:
    """Fields and names that differ between two renders of one revision: certain."""
    pair = app.evidence.get(Want("render"))
    if not pair:
        return
    first, second = ({_identity(app, m): m for m in side if not _is_hook(m)} for side in pair)
    for id_ in sorted(first.keys() & second.keys()):
        if first[id_] == second[id_]:
            continue
        for pointer, one, other in differences(first[id_], second[id_]):
            kind = classify(id_, pointer, one, other) or "value"
            yield _rendered(app, id_, pointer, kind)
    for id_ in sorted(first.keys() - second.keys()):
        twin = next((o for o in sorted(second.keys() - first.keys()) if _same_but_name(id_, o)), None)
        if twin is not None:
            sign = _rendered(app, id_, "/metadata/name", "name")
            yield replace(sign, why=f"two renders of one revision name it {id_.name} and {twin.name}")


def _rendered(app: App, id_: ResourceId, pointer: str, kind: Kind) -> Sign:
    managed = app.resource(id_.key)
    changed = managed is not None and any(c.pointer == pointer for c in managed.changes)
    claims = (Symptom.change(id_, pointer),) if changed else ()
    why = f"{id_} {pointer}: two renders of one revision differ"
    return Sign(managed.id if managed else id_, pointer, kind, "proven", why, claims)


def _same_but_name(one: ResourceId, other: ResourceId) -> bool:
    return (one.group, one.kind, one.namespace) == (other.group, other.kind, other.namespace) and _twin(
        one.name, other.name
    )


def _identity(app: App, manifest: Object) -> ResourceId:
    """The object's identity as Argo CD lists it: a namespaced kind without a namespace gets the destination's."""
    group, _, version = str(manifest.get("apiVersion", "")).rpartition("/")
    metadata = manifest.get("metadata") or {}
    id_ = ResourceId(
        group,
        str(manifest.get("kind", "")),
        metadata.get("namespace", ""),
        metadata.get("name", ""),
        version,
        app.cluster,
    )
    if not id_.namespace and app.resource(id_.key) is None:
        placed = replace(id_, namespace=app.destination_namespace)
        return placed if app.resource(placed.key) is not None else id_
    return id_


def _is_hook(manifest: Object) -> bool:
    annotations = annotations_of(manifest)
    return "helm.sh/hook" in annotations or "argocd.argoproj.io/hook" in annotations


# -- two places of one render ----------------------------------------------------------------------------------------


def _one_render(app: App, known: Sequence[Release]) -> Iterator[Sign]:
    """Workloads that hash one template and hold different hashes: the template is evaluated anew for each of them."""
    for key, places in sorted(_checksums(app).items()):
        values = {value for _, value in places}
        if len(values) < 2:
            continue
        for release, item in ((r, i) for r in known for i in r.random()):
            named = item.checksums.get(key, ())
            mine = [(w, v) for w, v in places if carries(release, named, w)]
            one = len(item.templates) == 1 and (_word(key) not in _GENERIC or _only_secret(app, release))
            if one and len({v for _, v in mine}) > 1:
                yield from _disagreeing(mine, key, "proven", f"chart {release.label} hashes one template in both")
        secret = _named_secret(app, key)
        if secret is not None:
            mine = [(w, v) for w, v in places if secret.name in references(w.any)]
            if len({v for _, v in mine}) > 1 and len({charts.chart_label(w.any) for w, _ in mine}) == 1:
                yield from _disagreeing(mine, key, "likely", f"both read {secret.id}, which the key names")


def _only_secret(app: App, release: Release) -> bool:
    """Whether the chart renders one Secret: then `checksum/secret` can hash no other."""
    labels = (charts.chart_label(r.any) for r in app.of_kind("Secret", "") if not r.hook)
    return sum(label is not None and label[0] == release.chart for label in labels) == 1


def _disagreeing(places: Sequence[tuple[Resource, str]], key: str, confidence: Confidence, why: str) -> Iterator[Sign]:
    names = ", ".join(sorted(str(w.id) for w, _ in places))
    for workload, _ in places:
        pointer = "/spec/template/metadata/annotations" + join_pointer(key)
        changed = any(c.pointer == pointer for c in workload.changes)
        yield Sign(
            workload.id,
            pointer,
            "checksum",
            confidence,
            f"one render holds different values of {key} in {names}: {why}",
            (Symptom.change(workload.id, pointer),) if changed else (),
        )


def _checksums(app: App) -> Mapping[str, list[tuple[Resource, str]]]:
    """Checksum annotations of pod templates as rendered: key -> workloads with their values; empty templates left out."""
    found: dict[str, list[tuple[Resource, str]]] = defaultdict(list)
    for resource in app.resources:
        if resource.hook or resource.kind not in _WORKLOADS:
            continue
        for key, value in (dig(resource.desired or {}, "spec", "template", "metadata", "annotations") or {}).items():
            if (
                isinstance(value, str)
                and _CHECKSUM_KEY.search(key)
                and _CHECKSUM_VALUE.match(value)
                and not value.startswith(_EMPTY_HASHES)
            ):
                found[key].append((resource, value))
    return found


_GENERIC = {"secret", "secrets", "config", "configmap", "configuration", "cm", "tls", "env", "envs", "checksum", "hash"}


def _named_secret(app: App, key: str) -> Resource | None:
    """The one Secret of the application whose name ends in what the checksum's key says; None for `checksum/secret`."""
    word = _word(key)
    if word in _GENERIC or len(word) < 4:
        return None
    named = [r for r in app.resources if r.kind in ("Secret", "ConfigMap") and r.name.endswith(word)]
    return named[0] if len(named) == 1 and named[0].kind == "Secret" and not named[0].hook else None


def _word(key: str) -> str:
    """`checksum/webserver-secret-key` as `webserver-secret-key`."""
    tail = key.rpartition("/")[2].lower().replace("_", "-")
    return re.sub(r"^check-?sum-|-?check-?sum$|-hash$|-sha256$", "", tail)


def references(obj: Object) -> frozenset[str]:
    """Names of Secrets and ConfigMaps that a workload's pods read: env, envFrom, volumes, projected volumes."""
    found: set[str] = set()
    spec = get(obj, "/spec/template/spec", None) or get(obj, "/spec/jobTemplate/spec/template/spec", None) or {}
    for volume in spec.get("volumes") or ():
        found.add(str(dig(volume, "secret", "secretName") or ""))
        found.add(str(dig(volume, "configMap", "name") or ""))
        for source in items(volume, "projected", "sources"):
            found.add(str(dig(source, "secret", "name") or ""))
            found.add(str(dig(source, "configMap", "name") or ""))
    for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
        for env in container.get("env") or ():
            found.add(str(dig(env, "valueFrom", "secretKeyRef", "name") or ""))
            found.add(str(dig(env, "valueFrom", "configMapKeyRef", "name") or ""))
        for env in container.get("envFrom") or ():
            found.add(str(dig(env, "secretRef", "name") or ""))
            found.add(str(dig(env, "configMapRef", "name") or ""))
    return frozenset(found - {""})


# -- what is known of the chart --------------------------------------------------------------------------------------


def item_at(app: App, resource: Resource, pointer: str, known: Sequence[Release]) -> tuple[Release | None, Item | None]:
    """The known random item behind a field of an object, and the release whose chart draws it."""
    label = charts.chart_label(resource.any)
    mine = [r for r in known if label is not None and r.chart == label[0]] or list(known)
    tokens = split_pointer(pointer)
    for release in mine:
        for item in release.random():
            if resource.kind == "Secret":
                for secret in item.secrets:
                    if release.named(secret.name, resource.name) and (len(tokens) < 2 or tokens[-1] in secret.keys):
                        return release, item
            named = item.checksums.get(tokens[-1], ()) if tokens else ()
            if carries(release, named, resource):
                return release, item
            if any(_other_field(release, field, resource, pointer) for field in item.other_fields):
                return release, item
    return None, None


def carries(release: Release, named: Sequence[str], workload: Resource) -> bool:
    """Whether `Kind/name` entries mean this workload; a chart may turn a StatefulSet into a Deployment by its values."""
    return workload.kind in _WORKLOADS and any(release.named(n.partition("/")[2], workload.name) for n in named)


def _other_field(release: Release, field: str, resource: Resource, pointer: str) -> bool:
    """Whether `Kind/name: /pointer/*/of` names this field."""
    where, _, pattern = field.partition(": ")
    if pattern == "metadata.name":
        pattern = "/metadata/name"
    same = re.fullmatch(re.escape(pattern).replace(r"\*", "[^/]+"), pointer)
    return same is not None and release.named(where, f"{resource.kind}/{resource.name}")


def _with_item(sign: Sign, app: App, known: Sequence[Release]) -> Sign:
    resource = app.resource(sign.resource.key)
    if sign.item is not None or resource is None:
        return sign
    release, item = item_at(app, resource, sign.pointer, known)
    release = release or charts.release_of(resource, known)
    alike = release is not None and charts.deterministic(release.chart, release.version)
    if item is None and release is not None and sign.confidence == "likely" and alike:
        note = f"chart {release.chart} is known to render alike each time at its default values"
        return replace(sign, release=release, confidence="possible", why=f"{sign.why}\n{note}")
    return replace(sign, release=release, item=item)


def _hashed_secrets(app: App, found: Sequence[Sign], known: Sequence[Release]) -> Iterator[Sign]:
    """Secrets behind checksums that differ for certain while the Secrets themselves are masked."""
    shown = {s.resource.key for s in found if s.kind == "secret"}
    for sign in found:
        workload = app.resource(sign.resource.key)
        if sign.kind == "checksum" and workload is not None and (sign.confidence == "proven" or not sign.claims):
            yield from (s for s in _behind(app, sign, workload) if s.resource.key not in shown)


def _behind(app: App, sign: Sign, workload: Resource) -> Iterator[Sign]:
    """By the chart's knowledge; else the Secret that the checksum's key names, or the only one that the workload reads."""
    secrets = [r for r in app.of_kind("Secret", "") if not r.hook]
    if sign.release is not None and sign.item is not None:
        why = f"{sign.key} hashes it in chart {sign.release.label}; its values are masked"
        for item in sign.release.random():
            if not carries(sign.release, item.checksums.get(sign.key, ()), workload):
                continue
            for secret, resource in ((s, r) for s in item.secrets for r in secrets):
                if sign.release.named(secret.name, resource.name):
                    data = dig(resource.desired or {}, "data") or {}
                    for key in (k for k in secret.keys if not data or k in data):
                        yield Sign(
                            resource.id,
                            "/data" + join_pointer(key),
                            "secret",
                            sign.confidence,
                            f"{resource.id}: {why}",
                            (),
                            sign.release,
                            item,
                        )
        return
    named = _named_secret(app, sign.key)
    read = [r for r in secrets if r.name in references(workload.any)]
    if named is not None:
        why = f"{named.id}: {sign.key} names it; its values are masked"
    elif len(read) == 1 and re.search(r"secret|pass|token|credential|cert|tls", _word(sign.key)):
        named, why = read[0], f"{read[0].id}: the only Secret that {sign.resource} reads; its values are masked"
    if named is not None:
        yield Sign(named.id, "/data", "secret", "likely", why, (), sign.release)


def _by_knowledge(app: App, fleet: Fleet, known: Sequence[Release]) -> Iterator[Sign]:
    """Secrets that the chart is known to generate at these values, although nothing differs at the moment.

    Values in Git cannot be read: then only a rewrite at the last sync makes it likely, and a Secret that outlived a sync
    of another revision, or that two workloads hash alike, is known to be pinned.
    """
    for resource in app.of_kind("Secret", ""):
        if resource.hook or not _own(app, fleet, resource) or not resource.desired_known:
            continue
        keys = set(dig(resource.desired or {}, "data") or ()) | set(dig(resource.desired or {}, "stringData") or ())
        for key in sorted(keys):
            pointer = "/data" + join_pointer(key)
            release, item = item_at(app, resource, pointer, known)
            if (
                release is None
                or item is None
                or charts.pinned(item, release)
                or _constant(app, resource, release, item)
            ):
                continue
            rewritten = _rewritten(app, resource)
            confidence: Confidence = "likely" if release.complete or rewritten else "possible"
            why = f"chart {release.label} draws the {item.what} anew at each render unless its values pin it ({item.when})"
            if rewritten:
                why += "\nthe last sync wrote the Secret anew"
            elif release.complete:
                why += "\nthe Application's own values do not pin it, and it has no others"
            else:
                why += f"\nwhether {release.values_at} pins it cannot be read through Argo CD"
            yield Sign(resource.id, pointer, "secret", confidence, why, (), release, item)


def _constant(app: App, resource: Resource, release: Release, item: Item) -> bool:
    for key, places in _checksums(app).items():
        named = item.checksums.get(key, ())
        values = [v for w, v in places if carries(release, named, w)]
        if len(values) > 1 and len(set(values)) == 1:
            return True
    return _outlived(app, resource)


_PATHS = "argocd.argoproj.io/manifest-generate-paths"


def _deployments(app: App) -> list[tuple[tuple[str, ...], datetime]]:
    """(revisions, start) of every sync in the history, oldest first."""
    found = [
        (
            tuple(h.get("revisions") or (h.get("revision", ""),)),
            parse_time(h.get("deployStartedAt") or h.get("deployedAt")),
        )
        for h in items(app.status, "history")
    ]
    return sorted(((r, t) for r, t in found if t is not None), key=lambda pair: pair[1])


def _written(resource: Resource) -> datetime | None:
    """When Argo CD last changed the live object."""
    times = [
        parse_time(entry.get("time"))
        for entry in items(resource.live, "metadata", "managedFields")
        if entry.get("manager") in _SYNCERS
    ]
    return max((t for t in times if t is not None), default=None)


def _outlived(app: App, resource: Resource) -> bool:
    """Whether a sync of another revision left the Secret as it was: an apply that changes nothing writes nothing.

    With manifest-generate-paths a new revision may be the old render under a new name, which tells nothing.
    """
    deployed, written = _deployments(app), _written(resource)
    if len(deployed) < 2 or written is None or _PATHS in annotations_of(app.raw):
        return False
    (before, _), (after, start) = deployed[-2:]
    return before != after and written < start - _SLACK


def _rewritten(app: App, resource: Resource) -> bool:
    """Whether the last of several syncs changed a Secret that an earlier one had made."""
    deployed, written = _deployments(app), _written(resource)
    created = parse_time(dig(resource.live or {}, "metadata", "creationTimestamp"))
    if len(deployed) < 2 or written is None or created is None:
        return False
    return created < deployed[-1][1] - _SLACK <= written
