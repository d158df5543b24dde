"""API defaults of External Secrets show as drift

What it finds: fields that the operator's CRDs write into list entries (`conversionStrategy`, `decodingStrategy`,
`metadataPolicy`, `nullBytePolicy` and a few more), where Argo CD shows them as a difference.

Why it hurts: the application is OutOfSync forever; with self-heal it syncs again and again. It happens only under `ServerSideApply=true` without
server-side diff: that comparison has no CRD defaults, and `data` and `dataFrom` are atomic lists. A client-side diff ignores the fields, so
other applications with the same manifest stay in sync.

How to fix, in this order: upgrade (v2.9.0 no longer writes these defaults); write the defaults in Git; compare on the server
(`argocd.argoproj.io/compare-options: ServerSideDiff=true`); or ignore the fields by jq expressions, without RespectIgnoreDifferences, which
fails on list paths.

Example:

    ExternalSecret shop/db holds conversionStrategy, decodingStrategy of the operator's CRD that Git does not name: server-side apply shows them as drift forever.

Sources: external-secrets config/crds/bases; issues 6398, 6797; Argo CD gitops-engine/pkg/diff/diff.go, issue 11139.
"""

from collections.abc import Iterator, Sequence

from argolint import (
    MISSING,
    App,
    Change,
    Edit,
    Finding,
    Fix,
    Fleet,
    Follows,
    Location,
    Object,
    Rank,
    Resource,
    Rule,
    Symptom,
)
from argolint.application.applied import git_moved
from argolint.edits import annotation_option, application_patch, application_place, ignore_entries
from argolint.relations.operator_version import OperatorVersion, parse, version_of
from argolint.values import common_pointer, index_of, join_pointer, split_pointer
from argolint.values.knowledge import load
from argolint.values.kubernetes import COMPARE_OPTIONS

from ..shared.operators import external_secrets_upgrade
from . import _external_secret as es


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each object with such differences."""
    for kind in es.WRITTEN_BY_OPERATOR:
        for resource in app.of_kind(kind, es.GROUP):
            found = [
                (c, entry)
                for c in resource.changes
                if (entry := _default_entry(c)) is not None and not git_moved(app, resource, c)
            ]
            if found:
                yield _finding(app, fleet, resource, [c for c, _ in found], [e for _, e in found])


def _default_entry(change: Change) -> Object | None:
    if change.desired is not MISSING:
        return None
    tokens = [t for t in split_pointer(change.pointer) if index_of(t) is None]
    if len(tokens) < 2:
        return None
    for entry in load(__package__, "api_defaults.yaml"):
        if tokens[-1] == entry["field"] and tokens[-2] in entry["in"] and change.live == entry["value"]:
            return dict(entry)
    return None


def _finding(
    app: App, fleet: Fleet, resource: Resource, changes: Sequence[Change], entries: Sequence[Object]
) -> Finding:
    fields = ", ".join(sorted({str(e["field"]) for e in entries}))
    version = version_of(app, fleet)
    return Finding(
        message=f"{resource.id} holds {fields} of the operator's CRD that Git does not name: {_mode_text(app)} shows "
        f"{'them' if len(entries) > 1 else 'it'} as drift forever.",
        at=Location(
            app.ref, resource.id, common_pointer([join_pointer(*split_pointer(c.pointer)[:-1]) for c in changes])
        ),
        evidence=(
            f"the operator's CRDs are {version}",
            f"{len(changes)} differences, all of them defaults" if changes[1:] else "1 difference, a default",
        ),
        fixes=(
            _write_fix(resource, changes),
            _server_side_fix(app),
            *_upgrade_fixes(entries, version),
            _ignore_fix(app, fleet, resource, changes),
        ),
        explains=tuple(Symptom.change(resource.id, c.pointer) for c in changes),
        follows=(
            Follows.common(
                f"The External Secrets CRDs of cluster {app.cluster} write defaults that Git does not name.",
                "eso-defaults",
                app.cluster,
            ),
        ),
    )


def _mode_text(app: App) -> str:
    return "server-side apply" if "ServerSideApply=true" in app.sync_options else "the comparison"


def _upgrade_fixes(entries: Sequence[Object], have: OperatorVersion) -> tuple[Fix, ...]:
    fixed_versions = [str(e["gone"]) for e in entries if e.get("gone")]
    if len(fixed_versions) < len(entries):
        return ()
    version = max(fixed_versions, key=parse)
    text = f"From {version} on the CRDs write these defaults no longer."
    if have.at_least("v0.17.0") is not True:
        text += " On the way, move all manifests to external-secrets.io/v1 while on v0.16, before v0.17 drops v1beta1."
    caveat = "several minor versions may lie between: read their release notes"
    return (external_secrets_upgrade(f"{version} or later", text, caveat),)


def _write_fix(resource: Resource, changes: Sequence[Change]) -> Fix:
    operations = [{"op": "add", "path": c.pointer, "value": c.live} for c in changes]
    return Fix(
        "Write the defaults in Git",
        "manifest",
        str(resource.id),
        Edit("json-patch", operations),
        "each version of the CRDs has its own",
        safe=True,
    )


def _server_side_fix(app: App) -> Fix:
    return Fix(
        "Compare on the server, which knows the defaults",
        "application",
        application_place(app),
        Edit("json-patch", annotation_option(app.raw, COMPARE_OPTIONS, "ServerSideDiff=true")),
        "one dry-run request per object and comparison",
        safe=True,
    )


def _ignore_fix(app: App, fleet: Fleet, resource: Resource, changes: Sequence[Change]) -> Fix:
    paths = sorted({"." + ".".join(_jq_steps(c.pointer)) for c in changes})
    entry = {"group": resource.group, "kind": resource.kind, "jqPathExpressions": paths}
    is_old = fleet.is_older(2, 3)
    return application_patch(
        app,
        "Ignore these fields",
        ignore_entries(app, entry),
        "" if is_old else "do not combine with RespectIgnoreDifferences: it breaks on list paths",
    )


def _jq_steps(pointer: str) -> list[str]:
    parts: list[str] = []
    for token in split_pointer(pointer):
        if index_of(token) is not None and parts:
            parts[-1] += "[]?"
        else:
            parts.append(token)
    return parts


RULE = Rule(**Rule.page(__name__), severity="warning", check=check, rank=Rank.CAUSE)
