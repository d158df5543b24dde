"""Argo CD cannot compare the application

What it finds: a ComparisonError. Argo CD could not render the manifests, read the cluster or compare the two; the message
is taken apart and its cause told: credentials (`auth`), `path`, `revision`, `helm`, `kustomize`, `jsonnet`, `plugin`, an
`ignore-rule` that cannot be parsed, the `cluster`, the `diff` that is calculated, or `unknown`.

Why it hurts: sync status is Unknown, nothing is synced or healed, and drift stays unseen. The error is remembered: after
three failures the repo-server answers from its cache for an hour (`Manifest generation error (cached)`).

How to fix: repair what the cause names, in Git or in the Application. Then refresh hard, so that the remembered error goes.

Example: `targetRevision: release-2.3` where the repository has no such branch or tag.

Sources: controller/state.go (CompareAppState), reposerver/repository/repository.go, util/argo/normalizers/diff_normalizer.go
of Argo CD.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache, lru_cache
from string import Template

from argolint import App, Condition, Finding, Fleet, Follows, Json, Location, Object, Resource, Rule, Symptom
from argolint.comparison import application_rules
from argolint.edits import application_place
from argolint.knowledge import load
from argolint.redaction import excerpt, without_secrets
from argolint.values import dig, items, same_repository, text_at

from ..shared.advice import Shell, advice
from ..shared.messages import innermost, quoted, said, stage
from ._failures import Failed, refusal
from ._failures import classify as refusal_of
from ._objects import left_missing, object_named
from ._options import compare_options
from ._refusals import refusal_fixes
from ._sources import pointer_of_source, source_in, usual_revision

_CACHED = re.compile(r"Manifest generation error \(cached\): ?")
_ABSENT = re.compile(r"open (?:<path to cached source>|/tmp/[^/\s]++/[^/\s]++)?+/?([^\n]{1,500}?): no such file")
_OWN_COMPARISON = frozenset({"server-side-diff", "structured-merge", "three-way"})
"""Stages that begin after rendering: the repo-server remembers nothing of their errors."""
_OF_SOURCE = {"path": "/path", "revision": "/targetRevision", "auth": "/repoURL"}


@cache
def _classes() -> tuple[tuple[Object, re.Pattern[str]], ...]:
    return tuple(
        (c, re.compile(match, re.IGNORECASE))
        for c in load(__package__, "comparison_causes.yaml")
        for match in c["match"]
    )


@cache
def _groups() -> Mapping[str, str]:
    """Every name that a pattern may read out of a message, empty."""
    return dict.fromkeys((name for _, match in _classes() for name in match.groupindex), "")


_UNKNOWN: Object = {"name": "unknown", "cause": "unknown", "fact": "Argo CD gives no reason that is known", "said": {}}


@lru_cache(maxsize=2048)
def classify(message: str) -> Object:
    """The entry of comparison_causes.yaml for this message (name, cause, fact), with `said`: what its pattern has read in it."""
    where = stage(message)
    for entry, match in _classes():
        if _at(entry, where) and (found := match.search(message)):
            return {**entry, "said": {name: excerpt(value or "", 200) for name, value in found.groupdict().items()}}
    if where == "server-side-diff":
        return _of_dry_run(message)
    return _UNKNOWN


def _at(entry: Object, where: str) -> bool:
    """Whether an entry can speak of this stage: where Argo CD compares by itself, nothing of repositories can have failed."""
    if (
        where in _OWN_COMPARISON
        and entry["cause"] not in ("diff", "cluster", "ignore-rule")
        and entry["name"] != "not-declared"
    ):
        return False
    stages = entry.get("stage", where)
    return where == stages or (isinstance(stages, list) and where in stages)


def _of_dry_run(message: str) -> Object:
    """What the API server refuses in the dry run of a server-side diff, by the words that it has for a sync as well."""
    refused = refusal(message)
    why = refused.get("fact") or "the API server refuses the object"
    return {
        "name": "refused",
        "cause": "diff",
        "fact": f"the cluster refuses the dry run of the server-side diff because {why}",
        "said": {},
    }


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each ComparisonError."""
    for condition in app.conditions:
        if condition.of_health:
            yield from _of_health(app, condition)
        elif condition.type == "ComparisonError":
            yield _finding(app, fleet, condition)


def _of_health(app: App, condition: Condition) -> Iterator[Finding]:
    """Argo CD did compare, and then a health check failed: the finding of an object that shows it answers the condition."""
    if any(condition.judges(r.id) and r.health.status == "Unknown" for r in app.resources):
        return
    yield Finding(
        message=f'Argo CD compares application {app.ref} and cannot tell its health, since a health check fails: "{quoted(said(condition.message))}".',
        at=Location(app.ref),
        cause="unknown",
        evidence=tuple(_evidence(condition)),
        explains=(condition.symptom, Symptom.health()),
    )


def _finding(app: App, fleet: Fleet, condition: Condition) -> Finding:
    message = condition.message
    bad = unparsable(app)
    entry = classify(message)
    if entry is _UNKNOWN and bad:
        entry = next({**e, "said": {}} for e, _ in _classes() if e["name"] == "ignore-rule")
    cause = entry["cause"]
    source = source_in(app, message)
    base = pointer_of_source(app, message)
    if bad and cause == "ignore-rule":
        pointer = bad[0]
    elif entry["name"] == "helm-values-file":
        pointer = _values_file(source, base, message)
    else:
        pointer = base + _OF_SOURCE[cause] if cause in _OF_SOURCE else ""
    resource = object_named(app, message)
    facts = _facts(app, fleet, entry, source, base, pointer, bad, message, resource)
    topics = (entry["name"],) if stage(message) in _OWN_COMPARISON else (entry["name"], "remembered")
    first = (
        refusal_fixes(app, Failed(resource.id if resource else None, message, *refusal_of(message)))
        if entry["name"] == "refused"
        else ()
    )
    told_of = f" ({resource.id})" if resource and entry["cause"] == "diff" else ""
    shown = quoted((innermost if entry["cause"] == "diff" else said)(message))
    return Finding(
        message=f'Application {app.ref} cannot be compared, since {Template(entry["fact"]).safe_substitute(entry["said"])}{told_of}: "{shown}", so its sync status is Unknown and nothing is synced.',
        at=Location(app.ref, None, pointer),
        cause=cause,
        evidence=tuple(_evidence(condition)),
        fixes=(*first, *(fix for topic in topics for fix in advice(__package__, f"comparison-error/{topic}", facts))),
        explains=(
            condition.symptom,
            Symptom.sync(),
            *([Symptom.health()] if app.health.status == "Unknown" else []),
            *([Symptom.operation()] if _operation_says_so(app) else []),
            *([Symptom.condition("SyncError")] if _operation_says_so(app) else []),
            *left_missing(app),
        ),
        follows=_follows(cause, source),
    )


def _follows(cause: str, source: Object) -> tuple[Follows, ...]:
    """A repository that Argo CD may not read, for all applications that come from it."""
    repository = without_secrets(text_at(source, "repoURL"))
    if cause != "auth" or not repository:
        return ()
    return (Follows.common(f"Argo CD cannot read the repository {repository}.", "repository", repository),)


def _operation_says_so(app: App) -> bool:
    return app.operation is not None and app.operation.failed and "ComparisonError" in app.operation.message


def _evidence(condition: Condition) -> Iterator[str]:
    yield f"condition ComparisonError: {excerpt(condition.message, 600)}"
    if condition.since:
        yield f"since {condition.since:%Y-%m-%d %H:%M:%SZ}"
    if _CACHED.search(condition.message):
        yield "the repo-server answers from its cache of errors (60 min); a hard refresh asks again"


def unparsable(app: App) -> tuple[str, ...]:
    """Pointers, in the Application, of the jq expressions of ignoreDifferences that do not parse."""
    return tuple(
        f"{rule.origin}/jqPathExpressions/{place}"
        for rule in application_rules(app.raw)
        for place, path in enumerate(rule.jq_paths)
        if replace(rule, jq_paths=(path,)).errors
    )


def _values_file(source: Object, base: str, message: str) -> str:
    """The pointer of the entry of valueFiles that the message misses: its path ends so; empty when none does."""
    absent = _ABSENT.search(said(message))
    found = ((len(tail), place) for place, tail in _tails(source) if absent and f"/{absent[1]}".endswith(tail))
    place = max(found, default=None)
    return f"{base}/helm/valueFiles/{place[1]}" if place else ""


def _tails(source: Object) -> Iterator[tuple[int, str]]:
    """Where each values file lies in its repository: an absolute entry from the root, `$ref/` from another one's root."""
    for place, entry in enumerate(items(source, "helm", "valueFiles")):
        root = entry.startswith(("/", "$"))
        path = entry.partition("/")[2] if root else posixpath.join(str(source.get("path") or ""), entry)
        yield place, posixpath.normpath("/" + path.lstrip("/"))


def _facts(
    app: App,
    fleet: Fleet,
    entry: Object,
    source: Object,
    base: str,
    pointer: str,
    bad: tuple[str, ...],
    message: str,
    resource: Resource | None,
) -> Mapping[str, Json]:
    """What the topics of comparison-error in advice.yaml speak of."""
    repo, path, revision, chart = (str(source.get(k) or "") for k in ("repoURL", "path", "targetRevision", "chart"))
    ref = revision or "HEAD"
    read = {**_groups(), **entry["said"]}
    address = _address(message, repo)
    place = read["file"] or read["directory"]
    return {
        **read,
        **_of_object(app, resource),
        "place": application_place(app),
        "address_or_repo": address or excerpt(repo),
        "host": _HOST.sub(r"\1", address or repo),
        "lock": read["lock"] or "Chart.lock",
        "at_path": f" at {read['path']}" if read["path"] else "",
        "file_named": f" ({place})" if place else "",
        "file_shown": place or "the template",
        "with_ssd": compare_options(app, "ServerSideDiff=true"),
        "without_ssd": compare_options(app, "ServerSideDiff=false"),
        "app": str(app.ref),
        "name": app.name,
        "project": app.ref.project,
        "namespace": app.destination_namespace or "default",
        "cluster": app.cluster,
        "cluster_name": str(dig(fleet.clusters.get(app.cluster), "name") or "<name of the cluster>"),
        "repo": address or excerpt(repo) if entry["cause"] == "auth" else excerpt(repo),
        "repo_login": _login(address or repo, chart if not address else ""),
        "path": path or ".",
        "folder": path or ".",
        "chart": read["chart"] or chart,
        "chart_here": chart or ".",
        "values_of": path or chart or app.name,
        "ref": ref,
        "shown_ref": repr(ref),
        "shown_revision": repr(revision),
        "shown_path": repr(path),
        "usual": usual_revision(fleet, app, source) if entry["name"] == "revision" else "",
        "base": base,
        "pointer": pointer,
        "removals": [{"op": "remove", "path": place} for place in reversed(bad)],
    }


_ADDRESS = re.compile(r"(?:https?|ssh|oci|git)://[^\s\"'`<>]{1,300}|git@[\w.-]{1,253}:[^\s\"'`<>]{1,300}")
_HOST = re.compile(r"^(?:\w+://)?(?:[^@/]*@)?([\w.-]+)[\s\S]*$")


def _address(message: str, repo: str) -> str:
    """The repository that the message names beside the source's own, such as that of a dependency or a remote base."""
    for address in _ADDRESS.findall(message):
        bare = excerpt(address.rstrip(".,:;)]")).removesuffix("/index.yaml")
        if not (_API.search(bare) or same_repository(bare, repo) or (repo and bare.startswith(repo))):
            return bare
    return ""


def _login(repo: str, chart: str) -> Shell:
    """The options of `argocd repo add` that say how to log in, and of what type a repository of charts is (cmd/argocd/commands/repo.go)."""
    if _SSH.match(repo):
        return Shell("--ssh-private-key-path KEY_FILE")
    of_type = ""
    if repo.startswith("oci://"):
        of_type = "--type oci --name NAME "
    elif chart:
        of_type = f"--type helm --name NAME {'' if '://' in repo else '--enable-oci '}"
    return Shell(f'{of_type}--username USER --password "$TOKEN"')


_SSH = re.compile(r"ssh://|[\w.-]+@[\w.-]+:")
_API = re.compile(r"/v2/|/token|oauth|/info/refs")  # an endpoint of a registry or Git host, not a repository


def _of_object(app: App, resource: Resource | None) -> Mapping[str, Json]:
    id_ = resource.id if resource else None
    return {
        "object": str(id_) if id_ else "",
        "object_or_app": str(id_ or f"Application {app.ref}"),
        "object_name": id_.name if id_ else "",
        "object_kind": f"{id_.kind.lower()}.{id_.group}" if id_ and id_.group else id_.kind.lower() if id_ else "",
        "in_namespace": ["-n", id_.namespace] if id_ and id_.namespace else [],
    }


RULE = Rule(
    id="comparison-error",
    family="sync",
    severity="error",
    doc=__doc__,
    check=check,
    causes=(
        "auth",
        "path",
        "revision",
        "helm",
        "kustomize",
        "jsonnet",
        "plugin",
        "ignore-rule",
        "cluster",
        "diff",
        "unknown",
    ),
)
