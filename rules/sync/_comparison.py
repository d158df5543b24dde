"""Explains why Argo CD cannot compare, from its error message: the catalogue of messages gives the cause, advice.yaml the fixes."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cache

from argolint import App, Condition, Fix, Fleet, Json, Object, Resource
from argolint.application.fleet import IN_CLUSTER
from argolint.comparison import application_rules
from argolint.edits import application_place, ignore_less, set_field
from argolint.edits.advice import Shell, advice
from argolint.messages import unwrap
from argolint.redaction import excerpt, without_secrets
from argolint.values import (
    bare_address,
    dig,
    enumerated,
    get,
    items,
    mapping,
    maps,
    owner_references,
    same_repository,
    sh,
    text_at,
    texts,
)
from argolint.values.kubernetes import kubectl_kind
from argolint.values.patterns import regex

from ..shared.messages import catalogue
from ._failures import Failed, refusal_match
from ._failures import classify as refusal_of
from ._leftovers import leftover_sentence
from ._managed import managed_namespace_facts
from ._objects import object_named
from ._options import compare_options_with
from ._refusals import refusal_fixes
from ._sources import pointer_of_source, pull_requests_of, renderers, source_in, usual_revision
from ._values_addresses import pointer_of_address, second_source_facts
from ._webhooks import webhook_service

_ABSENT = regex(r"open (?:<path to cached source>|/tmp/[^/\s]++/[^/\s]++)?+/?([^\n]{1,500}?): no such file")
_UNPROMOTED = "its path is missing from the branch that it syncs until the hydrateTo branch is merged there"
_SOURCE_POINTERS = {"path": "/path", "revision": "/targetRevision", "auth": "/repoURL"}
_OWN_COMPARISON = frozenset({"server-side-diff", "structured-merge", "three-way"})
"""Stages after rendering: the repo-server caches none of their errors."""


@cache
def _empty_facts() -> Mapping[str, str]:
    """All facts that a message may contain, with empty values."""
    return dict.fromkeys(catalogue().names("comparison-error"), "")


@dataclass(frozen=True, slots=True)
class Meaning:
    """The meaning of a message: the topic of its advice, its cause, `fact` as in Read, and the values in it."""

    name: str
    cause: str
    fact: str
    values: Mapping[str, str]
    whole: bool = False


_UNKNOWN = Meaning("unknown", "unknown", "argolint does not know the reason", {})


def classify(message: str, *, hydrated: bool = False) -> Meaning:
    """The meaning of the message of a failed comparison, or of a source hydrator, by the catalogue."""
    where = unwrap(message).stage
    found = catalogue().match(message, *(("hydrate", "target-state") if hydrated else (where or "comparison",)))
    if found is None:
        return _dry_run_meaning(message) if where == "server-side-diff" else _UNKNOWN
    named = {name: excerpt(value, 200) for name, value in found.facts.items()}
    whole = any(f"${name}" in found.entry.says for name, value in named.items() if value)
    return Meaning(found.entry.advice, found.entry.cause, found.entry.sentence(named), named, whole)


def _dry_run_meaning(message: str) -> Meaning:
    """The API server's refusal in the dry run of a server-side diff; its messages are the same as in a sync."""
    refused = refusal_match(message)
    why = refused.says if refused else "the API server refuses the object"
    return Meaning("refused", "diff", f"the dry run of its server-side diff is refused, since {why}", {})


@dataclass(frozen=True, slots=True)
class ComparisonFault:
    """The meaning of a comparison error. `fact` completes "… cannot sync:"; `whole`: it includes the names. `pointer`: a place in the Application."""

    name: str
    cause: str
    fact: str
    pointer: str
    resource: Resource | None
    fixes: tuple[Fix, ...]
    whole: bool


def comparison_fault(app: App, fleet: Fleet, message: str, *, dry: bool = False) -> ComparisonFault:
    """The reason in the message, and its fixes. `dry` is True for an error of a source hydrator about its dry source."""
    bad = unparsable_jq_pointers(app)
    entry = classify(message, hydrated=dry)
    if entry is _UNKNOWN and bad:
        known = catalogue()["comparison/ignore-rule"]
        entry = Meaning(known.advice, known.cause, known.says, {})
    former = _former_commit(app, message) if entry.name in ("revision", "revision-unadvertised") else ""
    if former:
        fact = f"its repository lacks commit {former[:7]}, which was synced before"
        entry = Meaning("revision-former", entry.cause, fact, entry.values)
    cause = entry.cause
    source = source_in(app, message, dry=dry)
    base = pointer_of_source(app, message, dry=dry)
    if entry.name == "path" and not dry and mapping(app.spec, "sourceHydrator", "hydrateTo"):
        entry = replace(entry, name="path-hydrated", fact=_UNPROMOTED)
    if entry.name == "health-check" and fleet.overrides and not _overridden_checks(app, fleet):
        entry = replace(entry, name="health-built-in")
    if bad and cause == "ignore-rule":
        pointer = bad[0]
    elif entry.name == "helm-values-file":
        pointer = _values_file_pointer(source, base, message)
    elif entry.name == "helm-values-address":
        pointer = pointer_of_address(source, base, entry.values["file"])
    else:
        own = cause in _SOURCE_POINTERS and not entry.name.startswith("dependency-") and not former
        pointer = base + _SOURCE_POINTERS[cause] if own else ""
        pointer = pointer.replace("/syncSource/targetRevision", "/syncSource/targetBranch")
    resource = object_named(app, message)
    facts = _facts(app, fleet, entry, source, base, pointer, bad, message, resource)
    first = (
        refusal_fixes(app, fleet, Failed(resource.id if resource else None, message, *refusal_of(message)))
        if entry.name == "refused"
        else ()
    )
    if facts["plugin_env"]:
        fact = f"its plugin reads {facts['plugin_env']}, which Argo CD passes only with the prefix ARGOCD_ENV_"
        entry = replace(entry, fact=fact, whole=True)
    topics = [*(["plugin-env"] if facts["plugin_env"] else []), entry.name]
    remembers = _may_be_cached(cause, message) and not entry.name.startswith(("hydrate", "deadline"))
    topics += ["remembered"] if remembers else []
    left = leftover_sentence(resource.as_compared if resource else None, message) if entry.name == "refused" else ""
    return ComparisonFault(
        entry.name,
        cause,
        f"its server-side diff {left}" if left else entry.fact,
        pointer,
        resource,
        (*first, *(fix for topic in topics for fix in advice(__package__, f"comparison-error/{topic}", facts))),
        entry.whole,
    )


def _overridden_checks(app: App, fleet: Fleet) -> list[str]:
    """The kinds of the application's objects whose health check argocd-cm overrides."""
    scripts = [key for key, override in fleet.overrides.items() if text_at(override, "health.lua")]
    kinds = {f"{row.group}/{row.kind}" if row.group else row.kind for row in app.rows}
    return sorted(kind for kind in kinds if any(fnmatchcase(kind, key) for key in scripts))


def _judged_kinds(app: App) -> list[tuple[str, str]]:
    """The custom kinds of the application, for some of which Argo CD has a script of its own."""
    return sorted(
        {(row.group, row.kind) for row in app.rows if row.group.count(".") and not row.group.endswith(".k8s.io")}
    )


def repeats_comparison(app: App, condition: Condition) -> bool:
    """Whether it is the UnknownError of a refresh for the reason that a ComparisonError gives already (controller/appcontroller.go)."""
    return (
        condition.type == "UnknownError"
        and bool(condition.message)
        and any(c.type == "ComparisonError" and condition.message in c.message for c in app.conditions)
    )


_COMMIT = regex(r"(?:not our ref|unadvertised object|failed to fetch) ([0-9a-f]{40})\b")


def _former_commit(app: App, message: str) -> str:
    """The commit in the message, if it is one of the history and no source names it: of another repository, or of rewritten branches."""
    found = _COMMIT.search(message)
    named = {text_at(source, "targetRevision") for source in app.sources}
    past = {
        str(r) for entry in maps(app.status, "history") for r in (entry.get("revision"), *items(entry, "revisions"))
    }
    return found[1] if found and found[1] in past - named else ""


def _waiting_with(app: App, fleet: Fleet, source: Object) -> str:
    """The number of applications of this repository that get no answer in time, if this one is not alone."""
    repo = text_at(source, "repoURL")
    late = [
        other.ref
        for other in fleet.apps
        if any(c.type == "ComparisonError" and classify(c.message).name == "deadline" for c in other.conditions)
        and any(same_repository(repo, text_at(one, "repoURL")) for one in other.sources)
    ]
    return f"{len(late)} applications" if len(late) > 1 and app.ref in late else ""


def _rendered_before(app: App, source: Object) -> str:
    """The last commit that was synced from this path of this repository; empty without one, or if it is the present one."""
    now = {text_at(app.status, "sync", "revision"), *texts(app.status, "sync", "revisions")}
    for entry in reversed(maps(app.status, "history")):
        past = (mapping(entry, "source"), *maps(entry, "sources"))
        same = [
            one for one in past if (one.get("repoURL"), one.get("path")) == (source.get("repoURL"), source.get("path"))
        ]
        revision = text_at(entry, "revision")
        if same and revision and revision not in now:
            return revision
    return ""


def _may_be_cached(cause: str, message: str) -> bool:
    """Whether the repo-server may answer from its cache of errors: it caches rendering errors, never errors of a cluster."""
    return cause != "cluster" and unwrap(message).stage not in _OWN_COMPARISON


def unparsable_jq_pointers(app: App) -> tuple[str, ...]:
    """Pointers, in the Application, of the jq expressions of ignoreDifferences that do not parse."""
    return tuple(
        f"{rule.origin}/jqPathExpressions/{place}"
        for rule in application_rules(app.raw)
        for place, path in enumerate(rule.jq_paths)
        if replace(rule, jq_paths=(path,)).errors
    )


def _values_file_pointer(source: Object, base: str, message: str) -> str:
    """The pointer of the valueFiles entry whose path ends like the file that the message misses; empty if there is none."""
    absent = _ABSENT.search(unwrap(message).said)
    found = (
        (len(tail), place) for place, tail in _values_file_paths(source) if absent and f"/{absent[1]}".endswith(tail)
    )
    place = max(found, default=None)
    return f"{base}/helm/valueFiles/{place[1]}" if place else ""


def _values_file_paths(source: Object) -> Iterator[tuple[int, str]]:
    """The path of each values file in its repository: from the root for an absolute entry, from the other root for `$ref/`."""
    for place, entry in enumerate(items(source, "helm", "valueFiles")):
        root = entry.startswith(("/", "$"))
        path = entry.partition("/")[2] if root else posixpath.join(str(source.get("path") or ""), entry)
        yield place, posixpath.normpath("/" + path.lstrip("/"))


def _entries_from_root(app: App, source: Object, pointer: str) -> list[Json]:
    """The edits of the valueFiles at and around `pointer` that refer to a source with a path, as if its ref meant that folder."""
    at, _, place = pointer.rpartition("/")
    right = [_entry_from_root(app, entry) for entry in items(source, "helm", "valueFiles")]
    if not (place.isdigit() and int(place) < len(right) and right[int(place)]):
        return []
    return [{"op": "replace", "path": f"{at}/{n}", "value": value} for n, value in enumerate(right) if value]


def _entry_from_root(app: App, entry: Json) -> str:
    """The entry below the path of the source that it refers to; empty if that source has no path, or the entry holds it already."""
    ref, _, rest = entry.removeprefix("$").partition("/") if isinstance(entry, str) else ("", "", "")
    if not isinstance(entry, str) or not entry.startswith("$"):
        return ""
    below = next((str(s.get("path") or "") for s in app.sources if s.get("ref") == ref), "")
    folder = posixpath.normpath(below).strip("/") if below else "."
    return "" if folder == "." or f"{rest}/".startswith(f"{folder}/") else f"${ref}/{folder}/{rest}"


def _may_be_manifest(file: str) -> bool:
    """Whether the name of a YAML file suggests a manifest."""
    name = posixpath.basename(file)
    of_tools = {"values", "chart", "Chart", "kustomization"}.intersection(re.split(r"[._-]", name))
    return name.endswith((".yaml", ".yml")) and not of_tools


def _libs_with_own_path(source: Object) -> list[Json]:
    """jsonnet's folders with the source's own path in front; none if one of them starts at the root already."""
    path = str(source.get("path") or "").strip("/")
    libs = [str(each).strip("/") for each in items(source, "directory", "jsonnet", "libs")]
    below = [each if f"{each}/".startswith(f"{path}/") else posixpath.join(path, each) for each in libs]
    return [*below] if path not in ("", ".") and below != libs else []


def _entry_with_unused_ref(app: App, source: Object, pointer: str) -> str:
    """The valueFiles entry at `pointer`, in the only source whose ref no values file uses; empty if there is no such source."""
    place = pointer.rpartition("/helm/valueFiles/")[2]
    entries = items(source, "helm", "valueFiles")
    entry = entries[int(place)] if place.isdigit() and int(place) < len(entries) else ""
    refs = [str(s["ref"]) for s in app.sources if s.get("ref")]
    named = any(file.startswith("$") for s in app.sources for file in items(s, "helm", "valueFiles"))
    if not entry or named or len(refs) != 1:
        return ""
    return f"${refs[0]}/{entry.lstrip('/')}"


def _facts(
    app: App,
    fleet: Fleet,
    entry: Meaning,
    source: Object,
    base: str,
    pointer: str,
    bad: tuple[str, ...],
    message: str,
    resource: Resource | None,
) -> Mapping[str, Json]:
    """The facts for the comparison-error topics in advice.yaml."""
    read = {**_empty_facts(), **entry.values}
    return {
        **read,
        **_object_facts(app, resource),
        **_application_facts(app, bad),
        **_cluster_facts(app, fleet, read["user"], message),
        **_repository_facts(source, entry, message),
        **_chart_facts(source, read["chart"], message),
        **_path_facts(app, source, pointer, message),
        "waiting": _waiting_with(app, fleet, source) if entry.name == "deadline" else "",
        "own_namespace": fleet.control_plane,
        "was_there": _rendered_before(app, source),
        "arrives": f"no Application or set makes {app.ref}: argocd app set {app.ref} --path NEW, or kubectl apply, brings it"
        if not owner_references(app.brief) and not renderers(app, fleet)
        else f"what makes {app.ref} brings the new path once it is in Git",
        "values": _values_flags(source),
        **_release_facts(app, source, base),
        **_inline_patch_facts(source, base, read["id"]),
        "values_place": _values_place(app, source, base, read["value"]),
        **_file_facts(read, message),
        "base": base,
        "pointer": pointer,
        "group": read["group"] or read["api"].partition("/")[0],
        "helm_version": base if text_at(source, "helm", "version") else "",
        "option": next((m[1] for m in _OPTION.finditer(message)), ""),
        "other": read["other"] or "of the same branch",
        "plugin": bool(source.get("plugin")),
        "plugin_env": _plugin_env(source, message) if fleet.at_least(2, 4) else "",
        "usual": usual_revision(fleet, app, source) if entry.name == "revision" else "",
        "asked": pull_requests_of(app, fleet, source) if entry.name == "revision-unadvertised" else "",
    }


def _application_facts(app: App, bad: tuple[str, ...]) -> Mapping[str, Json]:
    """Of the Application: its names, its options of comparison, its ignore entries without the bad ones."""
    return {
        "place": application_place(app),
        "app": str(app.ref),
        "name": app.name,
        "project": app.project,
        "namespace": app.destination_namespace or "default",
        "with_ssd": compare_options_with(app, "ServerSideDiff=true"),
        "without_ssd": compare_options_with(app, "ServerSideDiff=false"),
        "with_webhooks": compare_options_with(app, "ServerSideDiff=true,IncludeMutationWebhook=true"),
        "staged": text_at(app.spec, "sourceHydrator", "hydrateTo", "targetBranch"),
        "synced": text_at(app.spec, "sourceHydrator", "syncSource", "targetBranch"),
        "removals": ignore_less(app, bad),
    }


def _cluster_facts(app: App, fleet: Fleet, user: str, message: str) -> Mapping[str, Json]:
    """Of the cluster: its names, the Service of a webhook, the kind that could not be listed, the rights of Argo CD's account."""
    service_namespace, service = webhook_service(message)
    listed = _LISTED.search(message)
    return {
        "cluster": app.cluster,
        "own_cluster": app.cluster == IN_CLUSTER,
        "cluster_name": str(dig(fleet.clusters.get(app.cluster), "name") or "<name of the cluster>"),
        "excluded_on": ", ".join(f'"{url}"' for url in _urls_of_cluster(app, message)),
        "judged": enumerated([kind for _, kind in _judged_kinds(app)], "kind", limit=2),
        "judged_key": "_".join(_judged_kinds(app)[0]) if len(_judged_kinds(app)) == 1 else "GROUP_KIND",
        "listed_kind": listed["kind"] if listed else "",
        "listed_group": (listed["group"] or "") if listed else "",
        "service_namespace": service_namespace,
        "service": service,
        **_account_facts(user, message),
        **managed_namespace_facts(app, fleet, user, message),
    }


def _repository_facts(source: Object, entry: Meaning, message: str) -> Mapping[str, Json]:
    """Of the repository or registry that was asked: the source's, or another one that the message names."""
    repo, chart = text_at(source, "repoURL"), text_at(source, "chart")
    address = _other_repository(message, repo)
    registry = _registry_address(address, message) if _DEPENDENCY.search(message) else ""
    return {
        "repo": registry or address or excerpt(repo) if entry.cause == "auth" else excerpt(repo),
        "address_or_repo": address or excerpt(repo),
        "host": _HOST.sub(r"\1", address or repo),
        "ecr": bool(_ECR.search(address or repo)),
        "repo_login": _login_options(registry or address or repo, registry or (chart if not address else "")),
        "indexed": repo.startswith(("http://", "https://")),
        "https_repo": f"https://{repo}" if chart and "://" not in repo and not _SSH.match(repo) else "",
    }


def _chart_facts(source: Object, named: str, message: str) -> Mapping[str, Json]:
    """Of the chart; `named`: the one in the message."""
    repo, chart, revision = text_at(source, "repoURL"), text_at(source, "chart"), text_at(source, "targetRevision")
    folders, _, bare = chart.rpartition("/")
    return {
        "chart": named or chart,
        "chart_name": chart or ".",
        "chart_here": _chart_arguments(repo, chart, revision, text_at(source, "path")),
        "chart_versions": _versions_command(repo, chart),
        "chart_address": excerpt(_oci_address(repo, chart)) if chart and "://" not in repo else "",
        "chart_folders": excerpt(folders),
        "chart_bare": bare,
        "repo_with_folders": excerpt(f"{repo.rstrip('/')}/{folders}"),
        "oci_chart": _last_path_segment(repo) if repo.startswith("oci://") and not chart else "",
        "oci_folder": repo.removeprefix("oci://").rpartition("/")[0],
        "own_chart": bool(chart or repo.startswith("oci://")) and not _OF_DEPENDENCY.search(message),
        "ref": revision or "HEAD",
        "shown_ref": repr(revision or "HEAD"),
        "shown_revision": repr(revision),
    }


def _path_facts(app: App, source: Object, pointer: str, message: str) -> Mapping[str, Json]:
    """Of the path of the source."""
    path = text_at(source, "path")
    return {
        "path": path or ".",
        "shown_path": repr(path),
        "path_below": posixpath.normpath(path.replace("\\", "/").lstrip("/") or "."),
        "kustomization": next((m[1] for m in reversed([*_WITHIN.finditer(message)])), path or "."),
        "values_of": text_at(source, "chart") or (path if posixpath.normpath(path or ".") != "." else str(app.ref)),
        "from_root": _entries_from_root(app, source, pointer),
        "with_ref": _entry_with_unused_ref(app, source, pointer),
        **_values_file_facts(app, source, pointer),
        **second_source_facts(app, source, pointer),
        "libs_from_root": _libs_with_own_path(source),
        "libs": f"[{', '.join(posixpath.join(path or '.', each) for each in ('vendor', 'lib'))}]",
    }


def _values_file_facts(app: App, source: Object, pointer: str) -> Mapping[str, Json]:
    """Of the values file at `pointer`: the repository and revision that should hold it, and its name without folders."""
    place = pointer.rpartition("/helm/valueFiles/")[2]
    entry = str(items(source, "helm", "valueFiles")[int(place)]) if place.isdigit() else ""
    ref = entry[1:].partition("/")[0] if entry.startswith("$") else ""
    held = next((s for s in app.sources if ref and s.get("ref") == ref), source)
    return {
        "values_repo": excerpt(text_at(held, "repoURL")),
        "values_ref": text_at(held, "targetRevision") or "HEAD",
        "values_name": posixpath.splitext(posixpath.basename(entry))[0],
    }


_NO_KIND = "Object 'Kind' is missing in '"


def _is_bare(message: str) -> bool:
    """Whether the message is about an object that has nothing of a manifest, such as a dashboard or values."""
    _, said, shown = message.partition(_NO_KIND)
    return bool(said) and '"apiVersion"' not in shown and '"spec"' not in shown


def _file_facts(read: Mapping[str, str], message: str) -> Mapping[str, Json]:
    """Of the file that the message names."""
    place = read["file"] or read["directory"]
    return {
        "lock": read["lock"] or "Chart.lock",
        "at_path": f" at {read['path']}" if read["path"] else "",
        "file_named": f" ({place})" if place else "",
        "file_shown": place or "the template",
        "nameless": not read["file"] and not _is_bare(message),
        "bare": not read["file"] and _is_bare(message),
        "file_or_files": place or "files that are no manifests",
        "lacks_kind": read["file"] if _may_be_manifest(read["file"]) else "",
        "excluded": posixpath.basename(read["file"]) or "{values.yaml,*.json}",
    }


def _account_facts(user: str, message: str) -> Mapping[str, str]:
    """The namespace of an account that lacks rights in the whole cluster: Argo CD's own in another namespace than install.yaml binds, or that of `argocd cluster add`."""
    account = user.split(":")
    namespace, name = account[2:] if len(account) == 4 and "at the cluster scope" in message else ("", "")
    return {
        "rebind": namespace if name == "argocd-application-controller" and namespace != "argocd" else "",
        "manager": namespace if name == "argocd-manager" else "",
    }


def _plugin_env(source: Object, message: str) -> str:
    """The variables of the source's plugin that the command in the message reads without their prefix."""
    names = (text_at(entry, "name") for entry in maps(source, "plugin", "env"))
    return ", ".join(name for name in names if name and re.search(rf"\$\{{?{re.escape(name)}\b", message))


_LISTED = regex(r"initial state of resource (?P<kind>\w{1,63})(?:\.(?P<group>[\w.-]{1,253}))?: ")
"""The kind that Argo CD could not list, as gitops-engine says it."""


_READ_CLUSTER = regex(r"failed to sync cluster (?P<url>https?://[^\s\"':]{1,253}(?::\d{1,5})?): ")


def _urls_of_cluster(app: App, message: str) -> tuple[str, ...]:
    """The addresses of the destination for an entry of resource.exclusions: the one that Argo CD reads it by, and that of the Application.

    They differ for the cluster that Argo CD runs in (gitops-engine pkg/utils/kube: config.Host; controller/state.go: the destination's server).
    """
    found = _READ_CLUSTER.search(message)
    named = () if app.cluster.startswith("name:") else (app.cluster,)
    if found is None and IN_CLUSTER in named:
        return ("*",)
    return tuple(dict.fromkeys((*((found["url"],) if found else ()), *named))) or ("*",)


def _last_path_segment(address: str) -> str:
    return address.rstrip("/").rpartition("/")[2]


_OPTION = regex(r"--set(?:-string)? ([A-Za-z][\w.-]{0,200}=(?:true|false|\d{1,9})\b)")
"""The switch or number that a chart's own message asks for, as an option of Helm."""
_WITHIN = regex(
    r"(?:make target for|recursed accumulation of) path '(?:<path to cached source>|/tmp/[^/'\n]{1,200})/([^'\n]{1,300})'"
)
"""The directory of a kustomization that another one names, as kustomize says it; the last is the one that fails."""
_ADDRESS = regex(r"(?:https?|ssh|oci|git)://[^\s\"'`<>]{1,300}|git@[\w.-]{1,253}:[^\s\"'`<>]{1,300}")
_BASE = regex(r"accumulating resources from '((?:github\.com|gitlab\.com|bitbucket\.org)/[\w.-]{1,100}/[\w.-]{1,100})")
_HOST = regex(r"^(?:\w+://)?(?:[^@/]*@)?([\w.-]+)[\s\S]*$")


def _other_repository(message: str, repo: str) -> str:
    """The repository in the message that is not the source's own nor below it, such as that of a dependency or a remote base."""
    bare_base = _BASE.search(message)
    for address in (*_ADDRESS.findall(message), *((f"https://{bare_base[1]}",) if bare_base else ())):
        bare = excerpt(address.rstrip(".,:;)]")).removesuffix("/index.yaml")
        if not (_API.search(bare) or (repo and f"{bare_address(bare)}/".startswith(f"{bare_address(repo)}/"))):
            return bare
    return ""


def _chart_arguments(repo: str, chart: str, revision: str, path: str) -> Shell:
    """What helm needs to read the source's chart: of its repository, or the folder in a clone."""
    version = f" --version {sh(revision)}" if revision else ""
    if chart and repo.startswith(("http://", "https://")):
        return Shell(f"{sh(chart)} --repo {sh(repo)}{version}")
    if chart or repo.startswith("oci://"):
        return Shell(sh(_oci_address(repo, chart)) + version)
    return Shell(sh(posixpath.normpath(path or ".")))


def _release_facts(app: App, source: Object, base: str) -> Mapping[str, Json]:
    """The release name, and the edit that gives one which Helm takes."""
    release = text_at(source, "helm", "releaseName") or app.name
    short = re.sub(r"[^a-z0-9-]+", "-", release.lower())[:_LONGEST_RELEASE].strip("-")
    pointer = f"{base}/helm/releaseName"
    return {"release": release, "release_edit": set_field(app.raw, pointer, short)}


_LONGEST_RELEASE = 53
"""Helm's own limit (chartutil.ValidateReleaseName)."""


def _inline_patch_facts(source: Object, base: str, absent: str) -> Mapping[str, Json]:
    """The pointer of the Application's own kustomize patch that names the absent path or object; empty if it is one of the repository."""
    absent = absent.rstrip(":")
    patches = enumerate(maps(source, "kustomize", "patches"))
    found = next((n for n, each in patches if absent and absent in text_at(each, "patch")), None)
    return {"absent": absent, "inline_patch": "" if found is None else f"{base}/kustomize/patches/{found}"}


def _values_place(app: App, source: Object, base: str, value: str) -> str:
    """The place of the value: in the Application, if that gives it itself, else the values of the chart."""
    pointer = value if value.startswith("/") else "/" + value.lstrip(".").replace(".", "/")
    if value and get(mapping(source, "helm", "valuesObject"), pointer, None) is not None:
        return f"{application_place(app)} at {base}/helm/valuesObject{pointer}"
    of = text_at(source, "chart") or text_at(source, "path")
    return f"the values of {of if posixpath.normpath(of or '.') != '.' else app.ref}"


def _values_flags(source: Object) -> Shell:
    """What gives helm the values of the source: its files from the root of their repositories, and a file to write for those in the Application."""
    entries = zip(items(source, "helm", "valueFiles"), (path for _, path in _values_file_paths(source)), strict=True)
    of_chart = bool(text_at(source, "chart"))
    files = [
        without_secrets(entry) if "://" in entry else path.lstrip("/")
        for entry, path in entries
        if not of_chart or "://" in entry or entry.startswith("$")
    ]
    inline = any(mapping(source, "helm").get(key) for key in ("values", "valuesObject", "parameters", "fileParameters"))
    return Shell("".join(f" --values {sh(file)}" for file in (*files, *(["VALUES_FILE"] if inline else []))))


def _versions_command(repo: str, chart: str) -> Shell:
    """The command that lists a chart's versions: those of an index, or the newest in an OCI registry."""
    if repo.startswith(("http://", "https://")):
        name = sh(f"chart-repository/{_last_path_segment(chart)}")
        return Shell(f"helm repo add chart-repository {sh(repo)} --force-update\nhelm search repo {name} --versions")
    return Shell(f"helm show chart {sh(_oci_address(repo, chart))}")


def _oci_address(repo: str, chart: str) -> str:
    """The address of a chart in an OCI registry; one with oci:// may name the chart already."""
    bare = repo.removeprefix("oci://").rstrip("/")
    of_chart = chart and not (repo.startswith("oci://") and f"/{bare}".endswith(f"/{chart}"))
    return f"oci://{bare}/{chart}" if of_chart else f"oci://{bare}"


_OF_DEPENDENCY = regex(r"`helm (?:dependency|repo add)|helm dependency build")
_DEPENDENCY = regex(r"helm dependency|could not download oci://")


def _registry_address(address: str, message: str) -> str:
    """The registry of a dependency's chart in the form that Argo CD registers for Helm: without oci:// and the chart's name."""
    if not address.startswith("oci://"):
        return ""
    bare = address.removeprefix("oci://").rstrip("/")
    return bare if f"list of tags for repository {address}" in message else bare.rpartition("/")[0]


def _login_options(repo: str, chart: str) -> Shell:
    """The options of `argocd repo add` for the login and for the type of a chart repository (cmd/argocd/commands/repo.go)."""
    if _SSH.match(repo):
        return Shell("--ssh-private-key-path KEY_FILE")
    of_type = ""
    if repo.startswith("oci://"):
        of_type = "--type oci --name NAME "
    elif chart:
        of_type = f"--type helm --name NAME {'' if '://' in repo else '--enable-oci '}"
    ecr = _ECR.search(repo)
    login = f'AWS --password "$(aws ecr get-login-password --region {ecr[1]})"' if ecr else 'USER --password "$TOKEN"'
    return Shell(f"{of_type}--username {login}")


_SSH = regex(r"ssh://|[\w.-]+@[\w.-]+:")
_ECR = regex(r"\b\d{12}\.dkr\.ecr\.([a-z0-9-]{1,40})\.amazonaws\.com\b")
_API = regex(r"/v2/|/token|oauth|/info/refs")  # an endpoint of a registry or Git host, not a repository


def _object_facts(app: App, resource: Resource | None) -> Mapping[str, Json]:
    id_ = resource.id if resource else None
    return {
        "object": str(id_) if id_ else "",
        "object_or_app": str(id_ or f"Application {app.ref}"),
        "object_name": id_.name if id_ else "",
        "object_kind": kubectl_kind(id_) if id_ else "",
        "in_namespace": ["-n", id_.namespace] if id_ and id_.namespace else [],
    }
