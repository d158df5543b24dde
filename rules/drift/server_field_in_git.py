"""The manifest has fields that only the API server may write

What it finds: `metadata.resourceVersion`, `uid`, `generation`, `managedFields`, `selfLink` or `status` in a manifest, usually from an export of
a cluster. Also annotations that controllers write again, such as `deployment.kubernetes.io/revision`, and the `operation` of an
Application, which Argo CD takes out as it starts it, if their live value differs.

Why it hurts: creation of the object fails ("resourceVersion should not be set on objects to be created"), an update conflicts with every other
writer, and the application never becomes Synced.

How to fix: remove those fields from the manifest.

Example: a ConfigMap saved with `kubectl get -o yaml`.

Sources: argoproj/argo-cd#3008; https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions.
"""

from collections.abc import Iterator
from functools import cache

from argolint import MISSING, Afterwards, App, Finding, Fix, Fleet, Location, Rank, Resource, Rule, Symptom
from argolint.edits.consequences import consequences
from argolint.values import below, enumerated, get, join_pointer, text_at
from argolint.values.knowledge import load
from argolint.values.patterns import regex

from ._edits import removal_fix
from ._fields import SERVER_SET, change_line, is_from_dry_run

_REFUSED = ("resourceversion", "metadata.uid", "precondition failed", "the object has been modified")


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each object, with all such fields."""
    for resource in app.stated:
        if not resource.desired_known or not (resource.modified or resource.pending or resource.absent):
            continue
        marked = resource.mentions(_ANY, "desired")
        own = tuple(
            join_pointer("metadata", name) for name in SERVER_SET if marked and _has_metadata_field(resource, name)
        )
        made = tuple(c.pointer for c in resource.changes if c.pointer == _CREATED_AT and c.desired is not MISSING)
        fields = (*own, *made)
        has_status = "status" in (resource.desired or {})  # else a dry run answered with it
        status = tuple(c for c in resource.changes if has_status and below(c.pointer, "/status"))
        places = (*fields, *(("/status",) if status else ()))
        written = tuple(
            c.pointer
            for c in resource.changes
            if c.desired is not MISSING and _is_written(resource, c.pointer) and not is_from_dry_run(app, resource, c)
        )
        if places or written:
            yield _finding(
                app, resource, (*places, *written), who="only the API server may write" if places else _WRITERS
            )


_RESOURCE_VERSION = "/metadata/resourceVersion"
"""The API server refuses it in an object to create."""
_CREATED_AT = "/metadata/creationTimestamp"
"""A field that Argo CD removes from both sides if it can; generators write it as null."""
_WRITERS = "controllers and tools write"


def _is_written(resource: Resource, pointer: str) -> bool:
    """Whether a controller writes or takes it out: Argo CD does so with the operation of an Application, which it starts (controller/appcontroller.go)."""
    of_argocd = (resource.group, resource.kind) == ("argoproj.io", "Application") and below(pointer, "/operation")
    return of_argocd or pointer in _written_annotations()


@cache
def _written_annotations() -> frozenset[str]:
    known = load(__package__, "written_annotations.yaml")["annotations"]
    return frozenset(join_pointer("metadata", "annotations", entry["name"]) for entry in known)


_ANY = regex(rf'"(?:{"|".join(SERVER_SET)})"\s*:\s*[^\s{{]')
"""A field with such a name, at any place; in the schema of a CRD it is a map."""
_SERVER_POINTERS = frozenset(join_pointer("metadata", name) for name in SERVER_SET)


def _has_metadata_field(resource: Resource, name: str) -> bool:
    found = get(resource.desired, join_pointer("metadata", name), None)
    return found not in (None, "", 0, [])


def _finding(app: App, resource: Resource, places: tuple[str, ...], who: str) -> Finding:
    changes = tuple(c for c in resource.changes if any(below(c.pointer, p) for p in places))
    refusal = _refusal(app, resource)
    is_refused = bool(refusal) or (resource.live is None and _RESOURCE_VERSION in places)
    end = "the sync fails on it" if is_refused else "Git's never equal the live ones"
    return Finding(
        message=f"The manifest of {resource.id} has {enumerated(places, 'field', limit=2)}, which {who}: {end}.",
        at=Location(
            app.ref, resource.id, places[0] if len(places) == 1 and places[0] not in _SERVER_POINTERS else "/metadata"
        ),
        severity="error" if is_refused else None if changes or resource.missing else "info",
        evidence=(
            *(change_line(change, resource) for change in changes),
            *((f"the last sync: {refusal}",) if refusal else ()),
        ),
        explains=(
            *(Symptom.change(resource.id, place) for place in places),
            *(consequences(app) if refusal else ()),
        ),
        fixes=(removal_fix(app, resource, places, "Remove these fields from the manifest"),),
    )


def _refusal(app: App, resource: Resource) -> str:
    """The API server's answer to this object at the last sync, if it was about such a field."""
    operation = app.operation
    if operation is None or operation.phase in ("Succeeded", ""):
        return ""
    messages = (text_at(result, "message") for result in operation.results_of(resource.id))
    return next((m for m in messages if any(word in m.lower() for word in _REFUSED)), "")


def then(fix: Fix, finding: Finding, after: App, fleet: Fleet) -> Afterwards | None:
    """The API server's answer, if the manifest has none of its fields: the rest is a normal update."""
    id_ = finding.at.resource
    resource = after.held(id_)
    if resource is None or not resource.desired:
        return None
    remaining = [name for name in SERVER_SET if _has_metadata_field(resource, name)]
    return Afterwards(refused=f"the manifest would still hold metadata.{remaining[0]}" if remaining else "")


RULE = Rule(**Rule.page(__name__), severity="warning", check=check, then=then, rank=Rank.CAUSE)
