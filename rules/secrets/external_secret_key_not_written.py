"""A workload reads a key that its ExternalSecret never writes

What it finds: a container or a volume that reads a key of a Secret that an ExternalSecret of the same application makes without that key. Of another
application, an ExternalSecret of the Secret's name is read if a sync brings the reading. The
manifest must show every key: `spec.data` without `dataFrom`, a template that replaces the fetched keys, or a last rewrite of every `dataFrom`
entry with a fixed prefix or suffix for each key. Optional references are not reported, and neither are Secrets with another possible writer.

Why it hurts: the ExternalSecret is Ready and Argo CD shows it Healthy, while the pods cannot start
(`CreateContainerConfigError`), now or at their next restart.

How to fix: read a key that is written, or write the missing one: its name is `secretKey` in `spec.data`, or a key of `target.template.data`.

Example: `secretKey: pass` in the ExternalSecret, `key: password` in the container.

Sources: external-secrets pkg/controllers/externalsecret/externalsecret_controller_template.go (ApplyTemplate); Kubernetes pkg/kubelet/kubelet_pods.go
(makeEnvironmentVariables).
"""

from collections.abc import Iterator
from difflib import get_close_matches

from argolint import App, Finding, Fleet, Location, Related, Resource, Rule, Want
from argolint.edits import manifest_patch, manifest_text
from argolint.edits.pruning import prunes
from argolint.values import dig, enumerated, get, items, mapping

from ..shared.peers import after_sync, peer_wants, peers
from ..shared.references import read_keys
from . import _external_secret as es
from ._rewrite import may_rewrite_to, rewrite_affixes


def wants(app: App, fleet: Fleet, options: object) -> Iterator[Want]:
    """ExternalSecrets of other applications, with the names of Secrets of which a sync brings the reading."""
    named = {
        (workload.namespace, read.name)
        for workload in app.with_pods("desired")
        if (workload.status == "OutOfSync" or workload.hook) and not workload.requires_pruning
        for read in read_keys(workload.desired)
        if read.kind == "Secret"
    }
    if named:
        kinds = [(es.GROUP, "ExternalSecret")]
        yield from peer_wants(app, fleet, kinds, lambda key: (key.namespace, key.name) in named, most=20)


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each key that a workload reads without success."""
    made = {**_writers_of_others(app, fleet), **_writers_by_secret(app, fleet)}
    if not made:
        return
    for workload in app.resources:
        if workload.extra or (workload.hook and not workload.desired):
            continue
        reported: set[tuple[str, str]] = set()
        for pointer, kind, secret, key in read_keys(workload.any):
            writer = made.get((workload.namespace, secret))
            if writer is not None and app.resource(writer.key) is None and _is_read_today(workload, pointer, key):
                continue
            if kind != "Secret" or writer is None or (secret, key) in reported or _may_write(writer, key):
                continue
            reported.add((secret, key))
            yield _finding(app, workload, pointer, secret, key, writer)


def _is_read_today(workload: Resource, pointer: str, key: str) -> bool:
    return workload.live is not None and get(workload.live, pointer, None) == key


def _writers_of_others(app: App, fleet: Fleet) -> dict[tuple[str, str], Resource]:
    """(namespace, Secret) -> the ExternalSecret of another application that was read and makes it, if no other one may write it."""
    found = {}
    for _, peer in peers(app, fleet, "ExternalSecret"):
        state = after_sync(peer)
        if peer.group == es.GROUP and state and es.target_name(state) == peer.name and _shows_its_keys(peer):
            found[peer.namespace, peer.name] = peer
    own = {(r.namespace, es.target_name(r.any)) for r in es.external_secrets(app) if r.any}
    return {place: peer for place, peer in found.items() if place not in own}


def _shows_its_keys(resource: Resource) -> bool:
    return es.creation_policy(resource.any) == "Owner" and _are_keys_known(resource)


def _writers_by_secret(app: App, fleet: Fleet) -> dict[tuple[str, str], Resource]:
    """(namespace, Secret) -> the only ExternalSecret that makes it, if its manifest shows all keys."""
    found: dict[tuple[str, str], list[Resource]] = {}
    for resource in es.external_secrets(app):
        if resource.any and not es.is_leaving(app, resource):
            found.setdefault((resource.namespace, es.target_name(resource.any)), []).append(resource)
    return {
        place: makers[0]
        for place, makers in found.items()
        if len(makers) == 1 and _shows_its_keys(makers[0]) and not _has_other_keys(app, fleet, place)
    }


def _has_other_keys(app: App, fleet: Fleet, place: tuple[str, str]) -> bool:
    """Whether the application has the Secret itself, and no automated sync prunes it."""
    secret = app.find("", "Secret", *place)
    return secret is not None and not (es.is_leaving(app, secret) and prunes(app, secret, fleet) == "automatic")


def _may_write(writer: Resource, key: str) -> bool:
    """Whether the manifest names the key, or fetches unnamed keys that its rewrites may turn into it."""
    return key in es.written_keys(writer.any) or (
        not _has_replacing_template(writer)
        and any(may_rewrite_to(entry, key) for entry in items(writer.any, "spec", "dataFrom"))
    )


def _has_replacing_template(resource: Resource) -> bool:
    template = mapping(es.target_of(resource.any), "template")
    return bool(template.get("data")) and template.get("mergePolicy") != "Merge"


def _are_keys_known(resource: Resource) -> bool:
    """Whether the manifest shows the Secret's keys: no `templateFrom`, and only `dataFrom` with a known form after the rewrite."""
    fetched = items(resource.any, "spec", "dataFrom")
    template = mapping(es.target_of(resource.any), "template")
    return not template.get("templateFrom") and (
        _has_replacing_template(resource) or all(rewrite_affixes(entry) is not None for entry in fetched)
    )


def _finding(app: App, workload: Resource, pointer: str, secret: str, key: str, writer: Resource) -> Finding:
    written = sorted(es.written_keys(writer.any))
    fetched = items(writer.any, "spec", "dataFrom") if not _has_replacing_template(writer) else ()
    forms = [form for entry in fetched if (form := rewrite_affixes(entry)) is not None]
    names = enumerated([f'"{name}"' for name in (*written, *(f"{before}…{behind}" for before, behind in forms))])
    near = get_close_matches(key, written, 1, 0.6) or (written if len(written) == 1 and not forms else [])
    near = near or [f"{before}{key}{behind}" for before, behind in forms if len(forms) == 1]
    place = next(
        (
            f"/spec/data/{index}/secretKey"
            for index, entry in enumerate(items(writer.any, "spec", "data"))
            if near and dig(entry, "secretKey") == near[0]
        ),
        "",
    )
    owner = app.ref if app.resource(writer.key) else next(ref for ref, r in app.peers() if r.key == writer.key)
    then = "no new pod of it starts" if workload.health.status == "Healthy" else "its pods cannot start"
    templated = bool(mapping(es.target_of(writer.any), "template", "data"))
    fixes = (
        *(
            manifest_patch(
                workload.id,
                f'Read key "{name}"',
                [{"op": "replace", "path": pointer, "value": name}],
                "if that is the value that is meant",
            )
            for name in near
        ),
        *(
            [
                manifest_patch(
                    writer.id,
                    f'Or let {writer.id} write it as "{key}"',
                    [{"op": "replace", "path": place, "value": key}],
                    "what reads the present name no longer finds it",
                )
            ]
            if place and not templated and owner == app.ref
            else []
        ),
    ) or (
        manifest_text(
            writer.id,
            f'Write "{key}" into Secret "{secret}"',
            f'Give {writer.id} an entry whose key in the Secret is "{key}", or read one of {names or "its keys"}.',
        ),
    )
    of = "" if owner == app.ref else f' of "{owner.name}"'
    return Finding(
        message=f'{workload.id} reads key "{key}" of Secret "{secret}", which {writer.id}{of} never writes: {then}.',
        at=Location(app.ref, workload.id, pointer),
        confidence="proven" if owner == app.ref else "likely",
        evidence=(f"{writer.id} writes {names or 'no key'}",),
        related=(Related(owner, writer.id, "/spec", "cause"),),
        fixes=fixes,
    )


RULE = Rule(**Rule.page(__name__), severity="error", check=check, reads=es.holds_external_secrets, wants=wants)
