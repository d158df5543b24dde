"""Metadata of the namespace that no sync applies

What it finds: `spec.syncPolicy.managedNamespaceMetadata` without the sync option `CreateNamespace=true`, or with a manifest of that namespace
in the same Application, which says other values.

Why it hurts: Argo CD sets these labels and annotations only when it creates the namespace itself. Otherwise it silently ignores them: pod security, sidecar
injection or network policies that select by a label do not hold, and the Application is Synced.

How to fix: write the labels into the manifest of the namespace; without such a manifest, add the sync option.

Example: `pod-security.kubernetes.io/enforce` in the Application, and a Namespace without it in the upstream manifests.

Sources: argoproj/argo-cd#19674; docs/user-guide/sync-options.md (Namespace Metadata), gitops-engine/pkg/sync/sync_context.go (autoCreateNamespace).
"""

from collections.abc import Iterator, Mapping

from argolint import App, Finding, Fleet, Location, Resource, Rule
from argolint.edits import application_patch, manifest_patch, set_field, sync_option
from argolint.values import enumerated, get, join_pointer, mapping

_AT = ("syncPolicy", "managedNamespaceMetadata")
_OPTION = "CreateNamespace=true"


def reads(app: App, fleet: Fleet, options: object = None) -> bool:
    """Whether the Application sets metadata of a namespace that it deploys, too."""
    return bool(_wanted(app)) and _has_own(app)


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each application."""
    wanted = _wanted(app)
    if not wanted or not app.destination_namespace:
        return
    manifest = next((r for r in app.resources if _is_destination(app, r)), None)
    if manifest is not None:
        unused = {place: value for place, value in wanted.items() if get(manifest.desired, place, None) != value}
        if unused:
            yield _overruled_finding(app, manifest, unused)
    elif _OPTION not in app.sync_options and not _has_own(app):
        yield Finding(
            message=f"{app.name} sets metadata of namespace {app.destination_namespace}, which no sync applies without {_OPTION}.",
            at=Location(app.ref, pointer=join_pointer("spec", *_AT)),
            evidence=(f"not applied: {enumerated([*wanted])}",),
            fixes=(
                application_patch(
                    app,
                    f"Add the sync option {_OPTION}",
                    sync_option(app, _OPTION),
                    "the next sync writes the metadata to the existing namespace, too",
                ),
            ),
        )


def _wanted(app: App) -> Mapping[str, str]:
    """The values of the Application by their place in the namespace."""
    return {
        join_pointer("metadata", part, name): value
        for part in ("labels", "annotations")
        for name, value in mapping(app.spec, *_AT, part).items()
        if isinstance(value, str)
    }


def _has_own(app: App) -> bool:
    return any((r.group, r.kind, r.name) == ("", "Namespace", app.destination_namespace) for r in app.rows)


def _is_destination(app: App, resource: Resource) -> bool:
    return (
        (resource.group, resource.kind) == ("", "Namespace")
        and resource.name == app.destination_namespace
        and resource.desired is not None
    )


def _overruled_finding(app: App, manifest: Resource, unused: Mapping[str, str]) -> Finding:
    operations = []
    for part in ("labels", "annotations"):
        of_part = {place: value for place, value in unused.items() if place.startswith(f"/metadata/{part}/")}
        if of_part and not isinstance(get(manifest.desired, f"/metadata/{part}", None), Mapping):
            names = mapping(app.spec, *_AT, part)
            operations += set_field(manifest.desired, f"/metadata/{part}", dict(names))
        else:
            operations += [
                step for place, value in of_part.items() for step in set_field(manifest.desired, place, value)
            ]
    other = [place for place in unused if get(manifest.desired, place, None) is not None]
    lacked = [place for place in unused if place not in other]
    caveat = f"the manifest's own value of {enumerated(other)} is in force now" if other else ""
    return Finding(
        message=f"{app.name} sets metadata of {manifest.id}, which no sync applies: it deploys that namespace from a manifest.",
        at=Location(app.ref, manifest.id, next(iter(unused))),
        evidence=(
            *((f"not in the manifest: {enumerated(lacked)}",) if lacked else ()),
            *((f"another value in the manifest: {enumerated(other)}",) if other else ()),
        ),
        fixes=(
            manifest_patch(manifest.id, "Write it into the manifest of the namespace", operations, caveat),
            application_patch(
                app,
                "Or remove it from the Application, where it has no effect",
                [{"op": "remove", "path": join_pointer("spec", *_AT)}],
            ),
        ),
    )


RULE = Rule(**Rule.page(__name__), severity="warning", check=check, reads=reads, standing=True)
