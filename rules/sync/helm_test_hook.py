"""Helm tests among the manifests

What it finds: manifests with the annotation `helm.sh/hook: test`. Argo CD renders them and never runs them.

Why it hurts: little. The tests do not run after a sync, although someone may rely on them.

How to fix: leave them out with `skipTests`, and run the same checks as a PostSync hook.

Example: the `tests/` folder that `helm create` makes.

Sources: docs/user-guide/helm.md (Helm hooks) of Argo CD. Needs the plain render: --manifests.
"""

from __future__ import annotations

from collections.abc import Iterator

from argolint import App, Edit, Finding, Fix, Fleet, Json, Location, Object, ResourceId, Rule, Want
from argolint.edits import set_field
from argolint.values import annotations_of, comma_list, dig, items, text_at
from argolint.values.kubernetes import HOOK, api_of


def wants(app: App, fleet: Fleet, options: object) -> Iterator[Want]:
    """The plain render of applications with a Helm source: hooks are not among the managed objects."""
    if "Helm" in _source_types(app):
        yield Want("manifests")


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each application."""
    tests = [m for m in app.evidence.get(Want("manifests")) or () if _is_test(m)]
    if tests:
        names = ", ".join(sorted(f"{m.get('kind')} {dig(m, 'metadata', 'name')}" for m in tests)[:3])
        yield Finding(
            message=f"Application {app.ref} renders the Helm tests {names}, which Argo CD never runs.",
            at=Location(app.ref, _resource_id(app, tests[0]), "/metadata/annotations/helm.sh~1hook"),
            evidence=(f"{len(tests)} manifests with helm.sh/hook: test",),
            fixes=(
                Fix(
                    "Leave Helm's tests out",
                    "application",
                    f"Application {app.ref}",
                    Edit("json-patch", _skip_tests_operations(app)),
                    safe=True,
                ),
            ),
        )


def _source_types(app: App) -> tuple[str, ...]:
    one = text_at(app.brief, "status", "sourceType")
    return (*items(app.brief, "status", "sourceTypes"), *((one,) if one else ()))


_TESTS = frozenset(("test", "test-success", "test-failure"))


def _is_test(manifest: Object) -> bool:
    found = annotations_of(manifest)
    return not _TESTS.isdisjoint(comma_list(found.get("helm.sh/hook"))) and HOOK not in found


def _resource_id(app: App, manifest: Object) -> ResourceId:
    group, version = api_of(manifest)
    namespace = dig(manifest, "metadata", "namespace") or app.destination_namespace
    return ResourceId(
        group, str(manifest.get("kind")), namespace, str(dig(manifest, "metadata", "name")), version, app.cluster
    )


def _skip_tests_operations(app: App) -> list[Json]:
    """Operations that set skipTests on the first source that is a chart or has Helm parameters."""
    several = app.spec.get("sources")
    index = next((i for i, s in enumerate(app.sources) if s.get("chart") or s.get("helm")), 0)
    base = f"/spec/sources/{index}" if several else "/spec/source"
    return list(set_field(app.raw, f"{base}/helm/skipTests", True))


RULE = Rule(**Rule.page(__name__), severity="info", check=check, wants=wants)
