"""Every random item of every known chart, at versions before and after each of its pins: found, and pinned rightly.

The judge reads charts.yaml by itself. `pytest -rP tests/test_nondeterminism_charts.py` shows the table.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from argolint_rules.nondeterminism import nondeterministic_checksum, nondeterministic_field, nondeterministic_secret

from argolint.application.app import App, app_from_list
from argolint.application.fleet import Fleet
from argolint.application.resource import ManagedResource
from argolint.model import Finding

SHARED = Path(__file__).parents[1] / "rules/shared"
DATA = yaml.load((SHARED / "charts.yaml").read_bytes(), Loader=yaml.CSafeLoader)
DATA["charts"] = [
    chart
    for file in sorted((SHARED / "chart_data").iterdir())
    for chart in yaml.load(file.read_bytes(), Loader=yaml.CSafeLoader)
]
RULES = [module.RULE for module in (nondeterministic_secret, nondeterministic_checksum, nondeterministic_field)]
RELEASE, NAMESPACE, REVISION = "rel", "space", "1f0e3dad99908345f7439f8ffabdffc4c1a0b0d5"
NOW = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)
CORE = {"Secret", "ConfigMap", "Pod"}
GROUPS = {
    "Deployment": "apps",
    "StatefulSet": "apps",
    "DaemonSet": "apps",
    "Job": "batch",
    "CronJob": "batch",
    "MutatingWebhookConfiguration": "admissionregistration.k8s.io",
    "ValidatingWebhookConfiguration": "admissionregistration.k8s.io",
    "APIService": "apiregistration.k8s.io",
    "CustomResourceDefinition": "apiextensions.k8s.io",
}


@dataclass(frozen=True)
class Row:
    """One item of one chart version, as the table shows it."""

    chart: str
    version: str
    item: str
    found: bool
    pin: str
    right: bool

    def __str__(self) -> str:
        marks = f"{'yes' if self.found else 'NO':5} {'yes' if self.right else 'NO':5}"
        return f"{self.chart:32} {self.version:10} {self.item[:58]:58} {marks} {self.pin}"


def number(text: Any) -> tuple[int, ...] | None:
    """A chart version as numbers; None for a date or a Git head."""
    parts = str(text or "").split(" ")[0].removeprefix("v").split("-")[0].split(".")
    return tuple(int(p) for p in parts) if len(parts) > 1 and all(p.isdigit() for p in parts) else None


def since(pin: Mapping[str, Any]) -> Mapping[str, Any]:
    """values key -> the version that brought it."""
    told = pin.get("key_since")
    return told if isinstance(told, dict) else dict.fromkeys(values(pin), told)


def values(pin: Mapping[str, Any]) -> Mapping[str, Any]:
    return {**(pin.get("values") or {}), **((pin.get("existing_secret") or {}).get("values") or {})}


def counts(pin: Mapping[str, Any], key: str) -> bool:
    """False for a value that only picks a key of the Secret."""
    return values(pin)[key] not in ((pin.get("existing_secret") or {}).get("keys") or ())


def usable(pin: Mapping[str, Any], version: str) -> bool:
    have = number(version)
    needed = [number(v) for k, v in since(pin).items() if counts(pin, k)]
    until = number(pin.get("key_until"))
    known = all(n is None or have is None or n <= have for n in needed)
    return bool(values(pin)) and known and (until is None or have is None or have < until)


def below(version: tuple[int, ...]) -> str | None:
    """The version just before this one, in any scheme: 1.17.0 gives 1.16.99."""
    major, minor, patch = (*version, 0, 0)[:3]
    if patch:
        return f"{major}.{minor}.{patch - 1}"
    if minor:
        return f"{major}.{minor - 1}.99"
    return f"{major - 1}.99.99" if major else None


def versions(chart: Mapping[str, Any]) -> list[str]:
    """The verified version, and those around each pin's first one, as far as the entry speaks for them."""
    newest = number(chart["verified_version"]) or number(
        str(chart["verified_version"]).rpartition("tag ")[2].rstrip(")")
    )
    told = [
        n for item in chart.get("random") or () for pin in item["pin"] for n in map(number, since(pin).values()) if n
    ]
    newest = newest or max(told, default=(1, 0, 0))
    found = {newest}
    for item in chart.get("random") or ():
        for pin in item["pin"]:
            for first in filter(None, map(number, since(pin).values())):
                found |= {first, number(below(first)) or first}
    return [".".join(map(str, v)) for v in sorted(v for v in found if v <= newest)]


def fill(template: str, chart: Mapping[str, Any]) -> str:
    full = chart.get("fullname_default") or (RELEASE if chart["chart"] in RELEASE else f"{RELEASE}-{chart['chart']}")
    return template.replace("{fullname}", full).replace("{release}", RELEASE).replace("{namespace}", NAMESPACE)


def lives(item: Mapping[str, Any], version: str) -> bool:
    first, end, have = number(item.get("since")), number(item.get("until")), number(version)
    return have is None or ((first is None or have >= first) and (end is None or have < end))


def places(chart: Mapping[str, Any], version: str) -> Iterator[tuple[str, str, str, str, Mapping[str, Any]]]:
    """(item, kind, name, "hook" or "", state without its value): where each item shows; {} stands for the value."""
    for item in chart.get("random") or ():
        if not lives(item, version):
            continue
        for secret in item.get("secrets") or ():
            hook = "hook" if secret.get("helm_hook") else ""
            yield (
                item["what"],
                "Secret",
                fill(secret["name"], chart),
                hook,
                {"data": dict.fromkeys(secret["keys"], "{}")},
            )
        for key, where in (item.get("checksums") or {}).items():
            for workload in where:
                kind, _, name = fill(workload, chart).partition("/")
                template = {"metadata": {"annotations": {key: "{}"}}}
                yield item["what"], kind, name, "", {"spec": {"template": template}}
        for field in item.get("other_fields") or ():
            where, _, pointer = fill(field, chart).partition(": ")
            kind, _, name = where.partition("/")
            state: Any = "{}"
            for token in reversed(pointer.split("/")[1:]):
                state = [state] if token == "*" else {token: state}
            if isinstance(state, dict) and "*" not in name and not pointer.startswith("/spec/template"):
                yield item["what"], kind, name, "", state


def with_value(state: Any, value: str) -> Any:
    if isinstance(state, dict):
        return {k: with_value(v, value) for k, v in state.items()}
    return [with_value(v, value) for v in state] if isinstance(state, list) else value


def over(one: Any, other: Any) -> Any:
    if isinstance(one, dict) and isinstance(other, dict):
        return {k: over(one[k], other[k]) if k in one and k in other else {**one, **other}[k] for k in {**one, **other}}
    return other


def made(chart: Mapping[str, Any], version: str) -> App:
    """An application of the chart that was synced at the revision which now renders other values; hooks are listed."""
    objects: dict[tuple[str, str], Any] = {}
    hooks = set()
    for _, kind, name, hook, state in places(chart, version):
        if hook:
            hooks.add(name)
        else:
            objects[kind, name] = over(objects.get((kind, name), {}), state)
    ids = [
        {"group": GROUPS.get(kind, ""), "kind": kind, "namespace": NAMESPACE, "name": name} for kind, name in objects
    ]
    raw = {
        "metadata": {"name": RELEASE, "namespace": "argocd"},
        "spec": {
            "destination": {"namespace": NAMESPACE},
            "source": {
                "repoURL": chart["repositories"][0].removeprefix("oci://"),
                "chart": chart["chart"],
                "targetRevision": version,
            },
        },
        "status": {
            "sourceType": "Helm",
            "sync": {"revision": version},
            "resources": [
                *({**id_, "status": "OutOfSync"} for id_ in ids),
                *({"kind": "Secret", "namespace": NAMESPACE, "name": name, "hook": True} for name in sorted(hooks)),
            ],
            "operationState": {
                "phase": "Succeeded",
                "syncResult": {"revision": version, "resources": [{**id_, "status": "Synced"} for id_ in ids]},
            },
        },
    }
    app = app_from_list(raw, server="", cluster="c", control_plane="argocd", observed_at=NOW)
    states = [_managed(chart, version, id_, objects[id_["kind"], id_["name"]]) for id_ in ids]
    return app.with_states(states, None)


def _managed(chart: Mapping[str, Any], version: str, id_: Mapping[str, str], state: Any) -> ManagedResource:
    secret = id_["kind"] == "Secret"
    draws = ("+" * 8, "+" * 12) if secret else ("1a2b3c4d5e", "6f7a8b9c0d")
    metadata = {
        "name": id_["name"],
        "namespace": id_["namespace"],
        "labels": {"helm.sh/chart": f"{chart['chart']}-{version}"},
    }
    fields: dict[str, Any] = {f"f:{key}": {} for key in state}
    writer = {"manager": "argocd-controller", "operation": "Update", "time": "2026-01-01T11:00:00Z", "fieldsV1": fields}
    api = f"{id_['group']}/v1" if id_["group"] else "v1"
    desired, live = (
        {"apiVersion": api, "kind": id_["kind"], "metadata": metadata, **with_value(state, draw)} for draw in draws
    )
    held = {**live, "metadata": {**metadata, "managedFields": [writer]}}
    return ManagedResource(
        kind=id_["kind"],
        name=id_["name"],
        group=id_["group"],
        namespace=id_["namespace"],
        target_state=json.dumps(desired),
        live_state=json.dumps(held),
        normalized_live_state=json.dumps(live),
        predicted_live_state=json.dumps(desired),
        modified=True,
    )


def findings(app: App) -> list[Finding]:
    fleet = Fleet("", "v3.5.1", {}, (app,))
    return [f for rule in RULES if rule.check for f in rule.check(app, fleet, rule.default_options)]


def flat(node: Any, prefix: str = "") -> Iterator[str]:
    """Dotted keys of a values block, inner ones too: a pinned map counts as its own key."""
    if isinstance(node, dict):
        for key, child in node.items():
            yield f"{prefix}{key}"
            yield from flat(child, f"{prefix}{key}.")


def keys_of(finding: Finding) -> list[set[str]]:
    """The values keys that each of the finding's fixes sets."""
    return [set(flat(yaml.safe_load(f.edit.content))) for f in finding.fixes if f.edit.kind == "yaml"]


def judged(chart: Mapping[str, Any], version: str) -> Iterator[Row]:
    found = findings(made(chart, version))
    items = [i for i in chart.get("random") or () if lives(i, version)]
    for item in items:
        spots = [(kind, name) for what, kind, name, _, _ in places(chart, version) if what == item["what"]]
        if not spots or _only_kept(item):
            continue
        mine = [
            f
            for f in found
            if {(r.kind, r.name) for r in (f.at.resource, *(x.resource for x in f.related)) if r} & set(spots)
        ]
        named = [keys for f in mine for keys in keys_of(f)]
        can = [p for p in item["pin"] if usable(p, version)]
        wanted = [{k for k in values(p) if counts(p, k)} for p in can]
        keys = {k for s in item.get("secrets") or () for k in s["keys"]}
        names = {s["name"] for s in item.get("secrets") or ()}
        wanted += [
            {k for k in values(p) if counts(p, k)}
            for other in items
            if names & {s["name"] for s in other.get("secrets") or ()}
            for p in other["pin"]
            if usable(p, version) and keys and keys <= set((p.get("existing_secret") or {}).get("keys") or ())
        ]
        titles = [f.fixes[0].title for f in mine]
        if wanted:
            right = any(w <= n for w in wanted for n in named)
        else:
            right = any(
                "unknown, upgrade chart" in fix.title or fix.title.startswith(("Ask the maint", "Upgrade chart"))
                for f in mine
                for fix in f.fixes
            )
        yield Row(chart["chart"], version, item["what"], bool(mine), titles[0] if titles else "-", bool(mine) and right)


def _only_kept(item: Mapping[str, Any]) -> bool:
    """A hook Secret with another delete policy than before-hook-creation stays as it was made: no fault. Without any, that is the default."""
    secrets = item.get("secrets") or ()
    hooks = [s.get("helm_hook") or "" for s in secrets]
    return (
        bool(secrets)
        and all("delete-policy" in h and "before-hook-creation" not in h for h in hooks)
        and not item.get("checksums")
    )


def _alone(chart: Mapping[str, Any]) -> bool:
    """False for the older of two entries of one repository; test_charts.py tells which of them serves a version."""
    same = [
        c
        for c in DATA["charts"]
        if c["chart"] == chart["chart"] and set(c["repositories"]) & set(chart["repositories"])
    ]
    return chart is same[0]


CHARTS: Sequence[Mapping[str, Any]] = [c for c in DATA["charts"] if c.get("random") and _alone(c)]


def test_every_known_item_is_found_and_pinned_as_its_chart_version_allows() -> None:
    rows = [row for chart in CHARTS for version in versions(chart) for row in judged(chart, version)]
    sys.stdout.write(f"{'chart':32} {'version':10} {'item':58} found right pin named\n" + "\n".join(map(str, rows)))
    assert len({row.chart for row in rows}) > 100
    assert [str(row) for row in rows if not (row.found and row.right)] == []


AIRFLOW = next(c for c in CHARTS if c["repositories"] == ["https://airflow.apache.org"])


@pytest.mark.parametrize(
    ("version", "secret", "title"),
    [
        ("1.15.0", "webserver-secret-key", 'Create Secret rel-webserver-secret-key-pinned and name it in "webserverSecretKeySecretName"'),
        ("1.17.0", "jwt-secret", 'Create Secret rel-jwt-secret-pinned and name it in "jwtSecretName"'),
        ("1.22.0", "api-secret-key", 'Create Secret rel-api-secret-key-pinned and name it in "apiSecretKeySecretName"'),
        ("1.15.0", "fernet-key", 'Create Secret rel-fernet-key-pinned and name it in "fernetKeySecretName"'),
        ("1.15.0", "redis-password", 'Create Secrets rel-redis-password-pinned and rel-broker-url-pinned and name them in "redis.passwordSecretName" and "data.brokerUrlSecretName"'),
    ],
)  # fmt: skip
def test_airflow_names_the_key_of_each_secret(version: str, secret: str, title: str) -> None:
    titles = [
        f.fixes[0].title
        for f in findings(made(AIRFLOW, version))
        if f.at.resource and f.at.resource.name == f"rel-{secret}"
    ]
    assert titles == [title]


@pytest.mark.parametrize(
    ("version", "absent"), [("1.16.0", "jwt-secret"), ("1.17.0", "api-secret-key"), ("1.0.0", "webserver-secret-key")]
)
def test_airflow_before_a_key_came_is_not_told_to_set_it(version: str, absent: str) -> None:
    named = [f.at.resource.name for f in findings(made(AIRFLOW, version)) if f.at.resource]
    assert f"rel-{absent}" not in named


def test_before_any_key_the_oldest_version_seen_with_one_is_named() -> None:
    bitnami = next(c for c in CHARTS if c["chart"] == "airflow" and c["repositories"][0].endswith("/bitnami"))
    titles = {fix.title for f in findings(made(bitnami, "8.0.99")) for fix in f.fixes if fix.target == "helm-values"}
    assert titles == {'Set "auth.existingSecret"; if it is unknown, upgrade chart airflow to 8.1.0'}


def test_no_pin_names_a_secret_that_the_chart_renders() -> None:
    for chart in CHARTS:
        for version in versions(chart)[-1:]:
            app = made(chart, version)
            rendered = {r.name for r in app.of_kind("Secret", "")}
            for fix in (fix for f in findings(app) for fix in f.fixes if fix.edit.kind == "yaml"):
                block = yaml.safe_load(fix.edit.content)
                assert not rendered & set(_leaves(block)), (chart["chart"], fix.title)


def _leaves(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        for child in node.values():
            yield from _leaves(child)
    elif isinstance(node, str):
        yield node
