"""Argo CD cannot compare the application

What it finds: a ComparisonError. Argo CD could not render the manifests, read the cluster or compare the two; the message
is taken apart and its cause told: credentials (`auth`), `path`, `revision`, `helm`, `kustomize`, `jsonnet`, `plugin`, an
`ignore-rule` that cannot be parsed, the `cluster`, or `unknown`.

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
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from shlex import quote

from argolint import App, Condition, Edit, Finding, Fix, Fleet, Location, Object, Rule, Symptom
from argolint.comparison import application_rules
from argolint.knowledge import load
from argolint.redaction import excerpt
from argolint.values import dig, items, sh

from ._sources import pointer_of_source, source_in, usual_revision

_WRAPPERS = re.compile(r"^.*?(?:desc = |exit status \d+: Error: |Error: )(?=\S)", re.DOTALL)
_DEBUG_HINT = re.compile(r"(?<!\s)\s*Use --debug flag to render out invalid YAML")
_CACHED = re.compile(r"Manifest generation error \(cached\): ?")
_ABSENT = re.compile(r"open (?:<path to cached source>|/tmp/[^/\s]++/[^/\s]++)?+/?([^\n]{1,500}?): no such file")
_OF_SOURCE = {"path": "/path", "revision": "/targetRevision", "auth": "/repoURL"}


@cache
def _classes() -> tuple[tuple[Object, re.Pattern[str]], ...]:
    return tuple(
        (c, re.compile("|".join(c["match"]), re.IGNORECASE)) for c in load(__package__, "comparison_causes.yaml")
    )


_UNKNOWN: Object = {"name": "unknown", "cause": "unknown", "fact": "Argo CD gives no reason that is known"}


def classify(message: str) -> Object:
    """The entry of comparison_causes.yaml for this message: name, cause, fact."""
    return next((entry for entry, match in _classes() if match.search(message)), _UNKNOWN)


def innermost(message: str) -> str:
    """The message without the wrappers of gRPC, of the command line and of the cache: what a person must read."""
    text = _DEBUG_HINT.sub("", _CACHED.sub("", message))
    while (shorter := _WRAPPERS.sub("", text, count=1)) != text:
        text = shorter
    return text


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
        message=f'Argo CD compares application {app.ref} and cannot tell its health, since a health check fails: "{excerpt(innermost(condition.message))}".',
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
        entry = next(e for e, _ in _classes() if e["name"] == "ignore-rule")
    cause = entry["cause"]
    source = source_in(app, message)
    base = pointer_of_source(app, message)
    if bad and cause == "ignore-rule":
        pointer = bad[0]
    elif entry["name"] == "helm-values-file":
        pointer = _values_file(source, base, message)
    else:
        pointer = base + _OF_SOURCE[cause] if cause in _OF_SOURCE else ""
    return Finding(
        message=f'Application {app.ref} cannot be compared, since {entry["fact"]}: "{excerpt(innermost(message))}", so its sync status is Unknown and nothing is synced.',
        at=Location(app.ref, None, pointer),
        cause=cause,
        evidence=tuple(_evidence(condition)),
        fixes=(*_ignore_fixes(app, bad), _refresh(app))
        if cause == "ignore-rule"
        else (*_fixes(app, fleet, entry, source, base, pointer), _refresh(app)),
        explains=(
            condition.symptom,
            Symptom.sync(),
            *([Symptom.operation()] if _operation_says_so(app) else []),
            *([Symptom.condition("SyncError")] if _operation_says_so(app) else []),
        ),
    )


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


def _refresh(app: App) -> Fix:
    return Fix(
        "Refresh hard afterwards, so that the remembered error goes",
        "live",
        f"Application {app.ref}",
        Edit("command", f"argocd app get {sh(app.ref)} --hard-refresh"),
        caveat="renders anew: output that differs at each render changes with it",
    )


def _ignore_fixes(app: App, bad: tuple[str, ...]) -> Iterator[Fix]:
    if bad:
        yield Fix(
            "Remove the expression, or write one that jq can parse",
            "application",
            f"Application {app.ref}",
            Edit("json-patch", [{"op": "remove", "path": pointer} for pointer in reversed(bad)]),
            caveat="the fields that it was meant to hide show as differences again",
        )
    else:
        yield Fix(
            "Correct the jq expression in resource.customizations.ignoreDifferences",
            "argocd-settings",
            "ConfigMap argocd-cm",
            Edit("command", "kubectl -n argocd get configmap argocd-cm -o yaml | grep -A6 jqPathExpressions"),
        )


def _values_file(source: Object, base: str, message: str) -> str:
    """The pointer of the entry of valueFiles that the message misses: its path ends so; empty when none does."""
    absent = _ABSENT.search(innermost(message))
    found = ((len(tail), place) for place, tail in _tails(source) if absent and f"/{absent[1]}".endswith(tail))
    place = max(found, default=None)
    return f"{base}/helm/valueFiles/{place[1]}" if place else ""


def _tails(source: Object) -> Iterator[tuple[int, str]]:
    """Where each values file lies in its repository: an absolute entry from the root, `$ref/` from another one's root."""
    for place, entry in enumerate(items(source, "helm", "valueFiles")):
        root = entry.startswith(("/", "$"))
        path = entry.partition("/")[2] if root else posixpath.join(str(source.get("path") or ""), entry)
        yield place, posixpath.normpath("/" + path.lstrip("/"))


def _fixes(app: App, fleet: Fleet, entry: Object, source: Object, base: str, pointer: str) -> Iterator[Fix]:
    here = f"Application {app.ref}"
    repo, path, revision = (str(source.get(k) or "") for k in ("repoURL", "path", "targetRevision"))
    shown_repo = excerpt(repo)
    match entry["name"]:
        case "revision":
            usual = usual_revision(fleet, app, source)
            if usual:
                yield Fix(
                    f"Follow {usual}, as the other applications of this repository do",
                    "application",
                    here,
                    Edit("json-patch", [{"op": "replace", "path": f"{base}/targetRevision", "value": usual}]),
                    caveat="deploys what that revision holds",
                )
            lists = (
                f"helm search repo {sh(source.get('chart'))} --versions"
                if source.get("chart")
                else f"git ls-remote --heads --tags {sh(shown_repo)}"
            )
            yield Fix(
                f"Name a revision that exists in place of {revision!r}, or push it",
                "application",
                here,
                Edit("command", lists),
            )
        case "path":
            yield Fix(
                f"Correct {base}/path, or push the directory {path!r} at {revision or 'HEAD'!r}",
                "application",
                here,
                Edit("command", f"git ls-tree -d -r --name-only {quote(revision or 'HEAD')}"),
            )
        case "credentials" | "repository":
            yield Fix(
                "Register the repository with credentials that may read it, or correct repoURL",
                "argocd-settings",
                shown_repo,
                Edit("command", f"argocd repo add {sh(shown_repo)} --username <user> --password <token>"),
                caveat="many hosts answer 'not found' for a private repository without credentials",
            )
        case "not-permitted":
            yield Fix(
                f"Permit the repository in project {app.ref.project}",
                "argocd-settings",
                f"AppProject {app.ref.project}",
                Edit("command", f"argocd proj add-source {sh(app.ref.project)} {sh(shown_repo)}"),
            )
        case "symlink":
            yield Fix(
                "Take the symbolic link that the message names out of the source, or let it stay inside",
                "manifest",
                path,
                Edit("command", f"git ls-tree -r {quote(revision or 'HEAD')} | grep ^120000"),
            )
        case "not-managed" | "conversion" | "live-state":
            yield _cluster_fix(app, fleet, entry["name"])
        case "not-declared":
            yield Fix(
                "Upgrade Argo CD to a version that knows the cluster's API, or compare this application without ServerSideApply until then",
                "application",
                here,
                Edit(
                    "text",
                    "syncPolicy.syncOptions: drop ServerSideApply=true; annotation argocd.argoproj.io/compare-options: ServerSideDiff=false",
                ),
            )
        case "busy":
            yield Fix(
                "Wait until the host answers, or ask it less: webhooks in place of polling, credentials that raise its limit",
                "argocd-settings",
                shown_repo,
                Edit("command", f"argocd repo get {sh(shown_repo)} --refresh hard"),
            )
        case "network" | "timeout":
            yield Fix(
                "Look at the repo-server: network, DNS, proxy, memory and its timeouts",
                "argocd-settings",
                "argocd-repo-server",
                Edit("command", "kubectl -n argocd logs deploy/argocd-repo-server --since=1h | grep -i error | tail"),
            )
        case "helm-values-file":
            yield Fix(
                "Add the values file at this revision, or drop it from valueFiles",
                "application",
                here,
                Edit("json-patch", [{"op": "remove", "path": pointer}])
                if pointer
                else Edit("yaml", "helm:\n  ignoreMissingValueFiles: true"),
                caveat="renders without its values",
            )
        case "helm-dependency":
            yield Fix(
                "Repair the chart's dependencies, and register their repositories in Argo CD",
                "manifest",
                f"{path}/Chart.yaml",
                Edit("command", f"helm dependency update {sh(path or '.')}"),
            )
        case "helm" | "helm-schema":
            yield Fix(
                "Set the value that the chart asks for, and render it as Argo CD does",
                "helm-values",
                f"the values of {path or source.get('chart') or app.name}",
                Edit(
                    "command",
                    f"helm template {sh(source.get('chart') or '.')} --name-template {sh(app.name)} --namespace {sh(app.destination_namespace or 'default')} --values <values file>",
                ),
            )
        case "kustomize":
            yield Fix(
                "Repair the kustomization until it builds",
                "manifest",
                f"{path}/kustomization.yaml",
                Edit("command", f"kustomize build {sh(path or '.')}"),
            )
        case "jsonnet":
            yield Fix(
                "Repair the jsonnet until it evaluates",
                "manifest",
                path,
                Edit("command", f"jsonnet {sh(path)}/*.jsonnet"),
            )
        case "plugin":
            yield Fix(
                "Look at the plugin's sidecar, and whether its name and discovery fit the source",
                "argocd-settings",
                "argocd-repo-server",
                Edit(
                    "command",
                    "kubectl -n argocd logs deploy/argocd-repo-server --all-containers --since=1h | grep -i -e plugin -e cmp | tail",
                ),
            )
        case "values-ref":
            yield Fix(
                "Give the source of the values file that `ref`, once, at one revision for each repository",
                "application",
                here,
                Edit(
                    "yaml", f"sources:\n- repoURL: {shown_repo}\n  targetRevision: {revision or 'HEAD'}\n  ref: values"
                ),
            )
        case "signature":
            yield Fix(
                "Sign the revision with a key that the project knows, or register the key in Argo CD and in the project",
                "argocd-settings",
                f"AppProject {app.ref.project}",
                Edit("command", "argocd gpg list; git log --show-signature -1 " + quote(revision or "HEAD")),
            )
        case "submodule":
            yield Fix(
                "Register the repositories of the submodules, or switch submodules off in the repo-server",
                "argocd-settings",
                "argocd-repo-server",
                Edit(
                    "text",
                    'credentials that fit the URLs in .gitmodules (argocd repo add), or argocd-cmd-params-cm reposerver.enable.git.submodule: "false"',
                ),
                caveat="without submodules their files are absent",
            )
        case "too-large":
            yield Fix(
                "Make the source smaller (a narrower path, directory.include), or raise the repo-server's limit",
                "application",
                here,
                Edit(
                    "text",
                    "argocd-cmd-params-cm: reposerver.max.combined.directory.manifests.size, reposerver.helm.manifest.max.extracted.size",
                ),
            )
        case "source-type":
            yield Fix(
                "Keep one of helm, kustomize, directory and plugin in the source",
                "application",
                here,
                Edit("command", f"argocd app get {sh(app.ref)} -o yaml"),
            )
        case "manifest":
            yield Fix("Repair the manifest", "manifest", path, Edit("command", f"yamllint {sh(path or '.')}"))


def _cluster_fix(app: App, fleet: Fleet, name: str) -> Fix:
    if name == "not-managed":
        cluster = dig(fleet.clusters.get(app.cluster), "name") or "<name of the cluster>"
        return Fix(
            "Add the namespace to those that Argo CD manages on the cluster, or let it manage all",
            "argocd-settings",
            app.cluster,
            Edit("command", f"argocd cluster set {quote(str(cluster))} --namespace '*'"),
            caveat="Argo CD then needs rights in every namespace; --namespace once for each names them instead",
        )
    if name == "conversion":
        return Fix(
            "Repair the webhook's Service and pods, or the CRD's spec.conversion where its operator is gone",
            "operator",
            app.cluster,
            Edit(
                "command",
                "kubectl get crd -o custom-columns=NAME:.metadata.name,WEBHOOK:.spec.conversion.webhook.clientConfig.service.name",
            ),
        )
    return Fix(
        "Repair the connection of the cluster",
        "argocd-settings",
        app.cluster,
        Edit("command", f"argocd cluster get {sh(app.cluster)}"),
    )


RULE = Rule(
    id="comparison-error",
    family="sync",
    severity="error",
    doc=__doc__,
    check=check,
    causes=("auth", "path", "revision", "helm", "kustomize", "jsonnet", "plugin", "ignore-rule", "cluster", "unknown"),
)
