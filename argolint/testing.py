"""The fixture harness, public for plugin authors: a YAML file is a small Argo CD, and the real engine reads it.

A fixture is `tests/rules/<rule-id>/bad-*.yaml` (the rule has findings) or `good-*.yaml` (no rule reports a warning or error)::

    about: one sentence
    server: {version: v3.5.1, settings: {...},           # before 3.0 it tracks by label, if the settings do not say otherwise
             clusters: [...], projects: [...], applicationsets: [...]}   # all optional
    taken_at: 2026-01-01T12:00:00Z                       # the current time of the check
    apps:
    - name: web                                          # missing parts of the Application get defaults
      metadata: {...}
      spec: {...}
      status: {...}
      operation: {...}                                   # a sync that is requested and not begun
      resources:                                         # managed objects
      - desired: {...}                                   # left out: not desired (to be pruned)
        live: {...}                                      # left out: not live (to be created)
        normalized: {...}                                # left out: argolint's own comparison
        predicted: {...}
        health: {status: Degraded, message: ...}
        status: OutOfSync                                # left out: from the comparison; "": only has copied tracking data
        hook: true                                       # a hook of the last run that is still on the cluster; `live` only
      nodes: [{kind: Pod, name: web-1, uid: u1, parentRefs: [...], health: {...}}]   # more of the resource tree
      events: {Pod/web-1: [{type: Warning, reason: ..., message: ..., lastTimestamp: ...}]}   # Application/<name>: its own
      manifests: [{...}]                                 # plain render
      renders: [[{...}], [{...}]]                        # two fresh renders
      syncwindows: {...}
      revisions: {<commit>: {author: ..., message: ...}}     # data on a commit
    live: [{...}]                                        # objects that only a read of the cluster shows
    expect:                                              # bad fixtures: every finding of the rule, in order, whole
    - {app: web, resource: Deployment/web, pointer: /spec/replicas, message: the whole sentence, cause: x, severity: error,
       confidence: proven, evidence: [...], related: [db], fix: title of the first fix, before: [commands], edit: its content,
       verified: true, caveat: ..., effects: [restarts], fixes: [titles of all fixes]}
    near:                                                # near misses: what the rule alone finds after a small change
    - change: {/apps/0/resources/0/live/spec/replicas: 2, /apps/0/nodes/1: null}   # JSON pointers in the fixture; null removes
      gone: [Deployment/web]                             # texts of `expect` that it no longer says; `all`: it finds nothing
      says: ["severity: warning"]                        # texts that it says now, and `expect` lacks
      same: true                                         # all messages are those of `expect`

`whole` is the form of a finding in `expect`: only empty fields are left out, anything else that is missing is a mismatch. Write the
objects, let `scripts/expect.py FILE...` fill in `expect`, and read the result.

A near miss costs a line where another fixture would cost a file. It searches lines `key: value` of the findings, among them those of later fixes, which `expect` lacks
(`edit 2: ...`, `caveat 2: ...`, `safe 1: true`); for these alone, `change` may be left out. A change reaches what an anchor's aliases share, as an edit of the file does.

For a rule of several Argo CDs use `servers` instead of `apps`: a list of `name`, `apps`, perhaps `server`, `live`, and `clusters`
(names for clusters, as in a servers file).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from argolint.application.fleet import IN_CLUSTER, cluster_of
from argolint.application.resource import State
from argolint.application.rule import Rule
from argolint.comparison import compare
from argolint.engine import pipeline, servers
from argolint.engine.plan import ChosenRule, Plan
from argolint.engine.servers import Source
from argolint.errors import NotRecorded
from argolint.model import Json, Object, stats
from argolint.reports import assemble, document
from argolint.server.transport import Answer, Query, Stats
from argolint.suppression import suppress
from argolint.values import dig, knowledge, owner_references, parse_time, parse_version

_VERSION = "v3.5.1"
_PERMISSIVE: Json = {
    "sourceRepos": ["*"],
    "destinations": [{"server": "*", "namespace": "*"}],
    "clusterResourceWhitelist": [{"group": "*", "kind": "*"}],
}
"""Argo CD's default spec of its project `default`."""
DEFAULT_NOW = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)
"""The `taken_at` of a fixture without one."""


@dataclass(frozen=True)
class Fixture:
    """A small Argo CD read from a file."""

    path: Path
    data: Mapping[str, Json]

    @property
    def expected(self) -> Sequence[Mapping[str, Json]]:
        return self.data.get("expect") or ()


def load_fixture(path: Path) -> Fixture:
    """The fixture in a file; ValueError names what is missing."""
    data = knowledge.parse(path.read_bytes())
    if not isinstance(data, dict) or not (data.get("apps") or data.get("servers")) or not data.get("about"):
        raise ValueError(f"{path}: a fixture needs `about` and `apps`, or `servers` that have `apps`")
    return Fixture(path, data)


def check(fixture: Fixture, rules: Sequence[Rule]) -> document.Report:
    """The report of a whole check of the fixture, with default options."""
    plan = Plan(tuple(ChosenRule(r, r.default_options) for r in rules), workers=1, manifests=True)
    read, failures, remarks = servers.read_servers([*_sources(fixture)])
    part = servers.examine_servers(read, failures, remarks, plan, lambda name: lambda done, total: None)
    ids = frozenset(r.id for r in rules)
    now = parse_time(part.started_at)
    outcome = pipeline.conclude(part, plan.rules, suppress.Suppressions(known_rules=ids, now=now))
    return assemble.build(
        outcome,
        servers=part.servers,
        started_at=part.started_at,
        stats=stats.Stats(),
        tool_version="0",
    )


def _sources(fixture: Fixture) -> Iterator[Source]:
    """The Argo CD of the fixture's `apps`, or those of its `servers`: each has a `name`, `apps`, perhaps `server` and `clusters` (aliases, as in a servers file)."""
    if "servers" not in fixture.data:
        yield Source("", FixtureTransport(fixture.data))
    for given in fixture.data.get("servers") or ():
        server = given.get("server") or {}
        settings = {"url": f"https://{given['name']}.example.com", **(server.get("settings") or {})}
        data = {**given, "taken_at": fixture.data.get("taken_at"), "server": {**server, "settings": settings}}
        yield Source(given["name"], FixtureTransport(data), given.get("clusters") or {})


def mismatches(found: document.Report, rule_id: str, expected: Sequence[Mapping[str, Json]]) -> list[str]:
    """The differences between the rule's findings and the expected ones, in words; empty if there are none."""
    own_findings = [f for f in found.findings if f.rule == rule_id]
    lines = [f"failure: {f.stage}: {f.error}" for f in found.failures]
    if len(own_findings) != len(expected):
        lines.append(f"{len(own_findings)} findings, {len(expected)} expected")
    for number, (finding, want) in enumerate(zip(own_findings, expected, strict=False)):
        have = whole(finding)
        lines += [
            f"finding {number}: {key} is {have.get(key)!r}, expected {want.get(key)!r}"
            for key in {**have, **want}
            if have.get(key) != want.get(key)
        ]
    lines += [f"unexpected: {json.dumps(whole(f), ensure_ascii=False)}" for f in own_findings[len(expected) :]]
    return lines


def near_mismatches(fixture: Fixture, rule: Rule) -> list[str]:
    """What the rule alone gets wrong in the near misses of the fixture, in words; ValueError for one that states nothing new."""
    lines = []
    before, messages = _lines(fixture.expected), [want.get("message") for want in fixture.expected]
    for number, near in enumerate(fixture.data.get("near") or ()):
        gone, says, same = near.get("gone") or (), near.get("says") or (), near.get("same")
        if near.keys() - {"change", "gone", "says", "same"} or not (gone or says or same):
            raise ValueError(
                f"{fixture.path}: near miss {number} needs `gone`, `says` or `same: true`, and nothing else but `change`"
            )
        if any(text in before for text in says) or not (
            before if gone == "all" else all(text in before for text in gone)
        ):
            raise ValueError(f"{fixture.path}: near miss {number}: `gone` must be in `expect`, and `says` must not")
        report = check(Fixture(fixture.path, _changed(fixture.data, near.get("change") or {})), [rule])
        own_findings = [finding for finding in report.findings if finding.rule == rule.id]
        after = _lines(_every_fix(finding) for finding in own_findings)
        left = [after] if gone == "all" and after else [text for text in gone if gone != "all" and text in after]
        wrong = [f"failure: {f.stage}: {f.error}" for f in report.failures]
        wrong += [f"still says {text}" for text in left]
        wrong += [f"does not say {text}, but:\n{after}" for text in says if text not in after]
        if same and [finding.message for finding in own_findings] != messages:
            wrong.append(f"does not say the same, but:\n{after}")
        lines += [f"near miss {number}: {text}" for text in wrong]
    return lines


_ABSENT = object()


def _every_fix(finding: document.ReportedFinding) -> Mapping[str, Json]:
    """The form of `expect`, with what it leaves out of the fixes."""
    fields = ("caveat", "verified", "safe")
    later = {
        f"{key} {number}": value
        for number, fix in enumerate(finding.fixes, 1)
        for key, value in (("edit", fix.edit.content), *((field, getattr(fix, field)) for field in fields))
    }
    return {**whole(finding), **later}


def _lines(findings: Iterable[Mapping[str, Json]]) -> str:
    """One line for each text of a field, be it one or a list; another value as JSON."""
    return "\n".join(
        f"{key}: {each if isinstance(each, str) else json.dumps(each, ensure_ascii=False, default=str)}"
        for finding in findings
        for key, value in finding.items()
        for each in (value if isinstance(value, list) and all(isinstance(v, str) for v in value) else [value])
    )


def _changed(data: Mapping[str, Json], change: Mapping[str, Json]) -> Mapping[str, Json]:
    """A copy with other values at JSON pointers; the parent of each must be there. `-` appends to a list, None removes."""
    import jsonpatch
    import jsonpointer

    copied = deepcopy(data)
    for at, value in change.items():
        there = not at.endswith("/-") and jsonpointer.resolve_pointer(copied, at, _ABSENT) is not _ABSENT
        op = "remove" if value is None else "replace" if there else "add"
        jsonpatch.apply_patch(copied, [{"op": op, "path": at, "value": value}], in_place=True)
    return copied


def whole(finding: document.ReportedFinding) -> dict[str, Json]:
    """A finding in the form of `expect`: every field with a value; `fixes` only if there are several."""
    first = finding.fixes[0] if finding.fixes else None
    resource = finding.resource
    written: dict[str, Json] = {
        "app": finding.app.name,
        "resource": f"{resource.kind}/{resource.name}" if resource else None,
        "pointer": finding.pointer,
        "severity": finding.severity,
        "confidence": finding.confidence,
        "cause": finding.cause,
        "message": finding.message,
        "evidence": list(finding.evidence),
        "related": [_related(r) for r in finding.related],
    }
    if first:
        written |= {
            "fix": first.title,
            "before": list(first.before),
            "edit": first.edit.content,
            "verified": first.verified,
            "caveat": first.caveat,
            "effects": list(first.effects),
            "safe": first.safe or None,
            "fixes": [fix.title for fix in finding.fixes[1:] and finding.fixes],
        }
    return {key: value for key, value in written.items() if value not in (None, "", [])}


def _related(related: document.ReportedRelated) -> str:
    return related.app.name if related.resource is None else f"{related.resource.kind}/{related.resource.name}"


class FixtureTransport:
    """Answers API requests from a fixture's data."""

    offline = True
    server = "https://argocd.example.com"

    def __init__(self, data: Mapping[str, Json]) -> None:
        self.stats = Stats()
        self._data = data
        self._server = data.get("server") or {}
        self._apps = {app["name"]: app for app in data["apps"]}
        self._settings = {
            "url": self.server,
            "trackingMethod": "label" if (parse_version(self._server.get("version")) or (3,)) < (3,) else "annotation",
            "controllerNamespace": "argocd",
            "resourceOverrides": {"*/*": {"ignoreDifferences": "jsonPointers:\n- /status\n"}},
            **(self._server.get("settings") or {}),
        }
        clusters = self._server.get("clusters") or [{"server": IN_CLUSTER, "name": "in-cluster"}]
        self._clusters = {str(c["server"]): c for c in clusters}
        self._answered: dict[int, dict[str, Any]] = {}

    def now(self) -> datetime:
        return parse_time(str(self._data.get("taken_at") or "").replace(" ", "T")) or DEFAULT_NOW

    def get(self, path: str, query: Query = (), *, anonymous: bool = False) -> Answer:
        found = self._answer([unquote(part) for part in path.split("/")[2:]], dict(query))
        body = json.dumps(found, default=str).encode()
        self.stats.count(len(body))
        return Answer(200, "application/json", body)

    def _answer(self, path: Sequence[str], query: Mapping[str, str]) -> Json:
        match path:
            case ["version"]:
                return {"Version": self._server.get("version") or _VERSION}
            case ["v1", "settings"]:
                return self._settings
            case ["v1", "session", "userinfo"]:
                return {"loggedIn": True, "username": "argolint"}
            case ["v1", "clusters"]:
                return {"items": list(self._clusters.values())}
            case ["v1", "projects"] if "projects" not in self._server:
                names = {str((app.get("spec") or {}).get("project") or "default") for app in self._apps.values()}
                return {"items": [{"metadata": {"name": name}, "spec": _PERMISSIVE} for name in sorted(names)]}
            case ["v1", "applicationsets"] if "applicationsets" not in self._server:
                owners = (o for a in self._apps.values() for o in owner_references(a))
                makers = {str(o.get("name")) for o in owners if o.get("kind") == "ApplicationSet"}
                return {"items": [{"metadata": {"name": name, "namespace": "argocd"}} for name in sorted(makers)]}
            case ["v1", ("projects" | "repositories" | "applicationsets") as name]:
                return {"items": self._server.get(name) or None}
            case ["v1", "applications"]:
                return {"items": [self._application(a) for a in self._apps.values()]}
            case ["v1", "applications", name, what]:
                return self._about(self._apps[name], what, query)
            case ["v1", "applications", name, "revisions", revision, "metadata"]:
                return self._commit(self._apps[name], revision, int(query.get("sourceIndex", "0")))
            case _:
                raise NotRecorded(f"the fixture has no answer for {'/'.join(path)}")

    def _about(self, app: Mapping[str, Json], what: str, query: Mapping[str, str]) -> Json:
        match what:
            case "managed-resources":
                kept = [r for r in app.get("resources") or () if not r.get("hook")]  # the server leaves hooks out
                answers = (self._managed(app, r) for r in kept)
                return {"items": [{k: v for k, v in each.items() if (k, v) != ("name", "")} for each in answers]}
            case "resource-tree":
                return {
                    "nodes": [*self._tree(app), *(app.get("nodes") or ())],
                    "orphanedNodes": app.get("orphanedNodes") or [],
                }
            case "events" if "resourceName" in query:
                return {"items": _of_name(app.get("events"), query["resourceName"])}
            case "events" if f"Application/{app['name']}" in (app.get("events") or {}):
                return {"items": app["events"][f"Application/{app['name']}"]}
            case "resource":
                return {"manifest": json.dumps(self._live(app, query), default=str)}
            case "manifests":
                given = (
                    app["renders"][int(query["render"]) - 1]
                    if query.get("noCache") and app.get("renders")
                    else app.get("manifests")
                )
                if given is None or (query.get("noCache") and not app.get("renders")):
                    raise NotRecorded("the fixture holds no such render")
                return {"manifests": [json.dumps(m, default=str) for m in given]}
            case "syncwindows" if "syncwindows" in app:
                return app["syncwindows"]
            case _:
                raise NotRecorded(f"the fixture has no {what} of {app['name']}")

    def _commit(self, app: Mapping[str, Json], revision: str, source: int) -> Json:
        """The commit's data, as the server returns it for a single source's repository, by default the first source's."""
        several = dig(app.get("status"), "sync", "revisions")
        if revision not in (app.get("revisions") or {}) or (several and several[source] != revision):
            raise NotRecorded(f"the fixture has no revision {revision} of {app['name']}")
        return app["revisions"][revision]

    def _application(self, app: Mapping[str, Json]) -> Json:
        spec = _over(
            {
                "project": "default",
                "destination": {"server": IN_CLUSTER, "namespace": "default"},
                "source": {
                    "repoURL": "https://git.example.com/apps.git",
                    "path": app["name"],
                    "targetRevision": "main",
                },
            },
            app.get("spec") or {},
        )
        given = app.get("spec") or {}
        if given.get("sources") and "source" not in given:
            spec.pop("source", None)
        elif dig(given, "source", "chart") and "path" not in given["source"]:
            del spec["source"]["path"]
        managed = [(r, self._managed(app, r)) for r in app.get("resources") or ()]
        resources = [
            {
                "group": m.get("group", ""),
                "version": str(_any(r).get("apiVersion", "")).rpartition("/")[2],
                "kind": m["kind"],
                "namespace": m.get("namespace", ""),
                "name": m["name"],
                **_listed(r, m),
            }
            for r, m in managed
        ]
        out = any(r.get("status") == "OutOfSync" for r in resources)
        status = _over(
            {
                "sync": {
                    "status": "OutOfSync" if out else "Synced",
                    "revision": "1f0e3dad99908345f7439f8ffabdffc4c1a0b0d5",
                },
                "health": {"status": "Healthy"},
                "resources": resources,
            },
            app.get("status") or {},
        )
        metadata = _over({"name": app["name"], "namespace": "argocd"}, app.get("metadata") or {})
        requested = {"operation": app["operation"]} if app.get("operation") else {}
        return {"metadata": metadata, "spec": spec, "status": status, **requested}

    def _managed(self, app: Mapping[str, Json], r: Mapping[str, Json]) -> dict[str, Json]:
        """An object in the form of managed-resources, compared once: the list and the tree use it, too."""
        if id(r) not in self._answered:
            self._answered[id(r)] = self._compared(app, r)
        return self._answered[id(r)]

    def _compared(self, app: Mapping[str, Json], r: Mapping[str, Json]) -> dict[str, Json]:
        desired, live = r.get("desired"), r.get("live")
        group, _, _ = str(_any(r)["apiVersion"]).rpartition("/")
        metadata = _any(r)["metadata"]
        states: dict[str, State] = {"targetState": desired, "liveState": live}
        modified = False
        if desired is not None and live is not None:
            spec = app.get("spec") or {}
            raw = {"metadata": {**(app.get("metadata") or {}), "name": app["name"]}, "spec": spec}
            version = str(self._server.get("version") or _VERSION)
            rules = compare.rules_of(raw, self._settings, version)
            made = compare.compare(live, desired, rules, compare.strategy_of(raw, desired, version))
            states |= {
                "normalizedLiveState": r.get("normalized", made.normalized),
                "predictedLiveState": r.get("predicted", made.predicted),
            }
            modified = states["normalizedLiveState"] != states["predictedLiveState"]
        else:
            states |= {"normalizedLiveState": live, "predictedLiveState": desired}
            modified = live is None
        return {
            "group": group,
            "kind": _any(r)["kind"],
            "namespace": metadata.get("namespace", ""),
            "name": metadata.get("name", ""),
            **{key: json.dumps(value, default=str) for key, value in states.items()},
            **({"modified": True} if modified else {}),
            **({"hook": True} if r.get("hook") else {}),
        }

    def _tree(self, app: Mapping[str, Json]) -> list[Json]:
        nodes = []
        for r in app.get("resources") or ():
            m = self._managed(app, r)
            uid = (
                dig(r.get("live"), "metadata", "uid")
                or hashlib.sha256(f"{m['kind']}/{m['name']}".encode()).hexdigest()[:12]
            )
            nodes.append(
                {
                    **{k: m[k] for k in ("group", "kind", "namespace", "name")},
                    "version": str(_any(r).get("apiVersion", "")).rpartition("/")[2],
                    **({"uid": uid} if r.get("live") else {}),
                    **({"createdAt": dig(r.get("live"), "metadata", "creationTimestamp")} if r.get("live") else {}),
                    "health": r.get("health") or ({} if r.get("live") else {"status": "Missing"}),
                }
            )
        return nodes

    def _live(self, app: Mapping[str, Json], query: Mapping[str, str]) -> Json:
        cluster = cluster_of(app.get("spec") or {}, {})
        hooks = [r["live"] for r in app.get("resources") or () if r.get("hook") and r.get("live")]
        for obj in (*hooks, *(self._data.get("live") or ())):
            metadata = obj["metadata"]
            same = (obj["kind"], metadata["name"], metadata.get("namespace", "")) == (
                query["kind"],
                query["resourceName"],
                query["namespace"],
            )
            if same and obj.get("cluster", cluster) == cluster:
                return obj
        raise NotRecorded(f"the fixture has no live {query['kind']} {query['resourceName']}")


def _listed(r: Mapping[str, Json], managed: Mapping[str, Json]) -> dict[str, Json]:
    """The sync part of a list row: no status for hooks and for copied tracking data (controller/state.go)."""
    if r.get("status") == "":
        return {}
    extra = {"requiresPruning": True} if managed["targetState"] == "null" else {}
    if r.get("hook"):
        return {"hook": True, **extra}
    differs = managed.get("modified") or "null" in (managed["liveState"], managed["targetState"])
    return {"status": r.get("status") or ("OutOfSync" if differs else "Synced"), **extra}


def _any(r: Mapping[str, Json]) -> Object:
    found: Object | None = r.get("desired") or r.get("live")
    if not found:
        raise ValueError("a resource of a fixture needs `desired` or `live`")
    return found


def _of_name(events: Json, name: str) -> list[Json]:
    return [e for key, found in (events or {}).items() if key.rpartition("/")[2] == name for e in found]


def _over(base: dict[str, Json], given: Mapping[str, Json]) -> dict[str, Json]:
    """`base` with the values of `given`, maps merged."""
    merged = dict(base)
    for key, value in given.items():
        both = isinstance(value, Mapping) and isinstance(merged.get(key), Mapping)
        merged[key] = _over(merged[key], value) if both else value
    return merged
