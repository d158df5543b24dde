"""Write deploy/grafana/*.json. Run it after a change; --check only reports whether the files are current."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from argolint import DOCS

FOLDER = Path(__file__).resolve().parents[1] / "deploy" / "grafana"
SOURCE = {"type": "prometheus", "uid": "${datasource}"}
FLEET = 'argocd=~"$argocd"'
APPS = 'argocd=~"$argocd", project=~"$project", severity=~"$severity", rule=~"$rule"'
APP = 'argocd=~"$argocd", app_namespace=~"$app_namespace", app=~"$app"'
COLORS = {"error": "red", "warning": "orange", "info": "blue"}

Panel = dict[str, Any]


def dashboards() -> dict[str, dict[str, Any]]:
    """File name to dashboard."""
    return {"fleet.json": _fleet(), "application.json": _application()}


def _fleet() -> dict[str, Any]:
    errors = 'severity="error"'
    panels = [
        _stat("Errors", f"sum(argolint_findings{{{FLEET}, {errors}}})", 0),
        _stat(
            "Applications with errors",
            f"count(sum by (argocd, app_namespace, app) (argolint_app_findings{{{FLEET}, {errors}}}) > 0) or vector(0)",
            6,
        ),
        _stat(
            "Ownership conflicts",
            f'sum(argolint_findings{{{FLEET}, family="ownership", {errors}}})',
            12,
        ),
        _stat(
            "Age of the last complete check",
            f"time() - min(argolint_last_complete_check_timestamp_seconds{{{FLEET}}})",
            18,
            unit="s",
            warn=3600,
        ),
        _series("Findings by severity", f"sum by (severity) (argolint_findings{{{FLEET}}})", "{{severity}}", 0, 4, 12),
        _series(
            "Errors by family", f"sum by (family) (argolint_findings{{{FLEET}, {errors}}})", "{{family}}", 12, 4, 12
        ),
        _bars("Rules", f"topk(15, sum by (rule) (argolint_app_findings{{{APPS}}}))", "{{rule}}", 0, 12),
        _bars("Projects", f"topk(15, sum by (project) (argolint_app_findings{{{APPS}}}))", "{{project}}", 12, 12),
        _table(
            "Applications",
            f"sum by (argocd, project, app_namespace, app, rule, severity) (argolint_app_findings{{{APPS}}})",
            20,
        ),
        _series("Duration of a check", f"argolint_check_duration_seconds{{{FLEET}}}", "{{argocd}}", 0, 30, 6, "s"),
        _series("Requests of a check", f"argolint_check_requests{{{FLEET}}}", "{{argocd}}", 6, 30, 6),
        _series("Received by a check", f"argolint_check_received_bytes{{{FLEET}}}", "{{argocd}}", 12, 30, 6, "bytes"),
        _series(
            "Could not be looked at",
            f"sum by (stage) (argolint_check_failures{{{FLEET}}})",
            "{{stage}}",
            18,
            30,
            6,
        ),
        _series("Suppressed", f"sum by (by) (argolint_suppressed_findings{{{FLEET}}})", "{{by}}", 0, 38, 12),
        _series(
            "Series left out (max-series)", "max by (metric) (argolint_metrics_truncated)", "{{metric}}", 12, 38, 12
        ),
    ]
    variables = [
        _variable("argocd", "label_values(argolint_check_complete, argocd)"),
        _variable("project", f"label_values(argolint_app_findings{{{FLEET}}}, project)"),
        _severities(),
        _variable("rule", f"label_values(argolint_findings{{{FLEET}}}, rule)"),
    ]
    return _dashboard("argolint-fleet", "argolint / Fleet", panels, variables)


def _application() -> dict[str, Any]:
    panels = [
        _stat("Errors", f'sum(argolint_app_findings{{{APP}, severity="error"}}) or vector(0)', 0),
        _stat("Warnings", f'sum(argolint_app_findings{{{APP}, severity="warning"}}) or vector(0)', 6, warn=None),
        _stat("Last check complete", f"min(argolint_check_complete{{{FLEET}}})", 12, warn=None),
        _stat(
            "Age of the last check",
            f"time() - min(argolint_last_check_timestamp_seconds{{{FLEET}}})",
            18,
            unit="s",
            warn=3600,
        ),
        {
            **_panel("state-timeline", "Findings by rule", 0, 4, 24, 10),
            "targets": [_target(f"sum by (rule) (argolint_app_findings{{{APP}}})", "{{rule}}")],
            "options": {"mergeValues": True, "showValue": "auto", "rowHeight": 0.8},
        },
        _table(
            "Findings",
            f"sum by (argocd, project, app_namespace, app, rule, severity) (argolint_app_findings{{{APP}}})",
            14,
        ),
    ]
    variables = [
        _variable("argocd", "label_values(argolint_check_complete, argocd)", many=False),
        _variable("app_namespace", f"label_values(argolint_app_findings{{{FLEET}}}, app_namespace)"),
        _variable(
            "app",
            f'label_values(argolint_app_findings{{{FLEET}, app_namespace=~"$app_namespace"}}, app)',
            many=False,
        ),
    ]
    return _dashboard("argolint-application", "argolint / Application", panels, variables)


def _dashboard(uid: str, title: str, panels: list[Panel], variables: list[dict[str, Any]]) -> dict[str, Any]:
    for number, panel in enumerate(panels, 1):
        panel["id"] = number
    source = {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"}
    return {
        "uid": uid,
        "title": title,
        "tags": ["argolint", "argocd"],
        "schemaVersion": 39,
        "editable": True,
        "refresh": "5m",
        "time": {"from": "now-7d", "to": "now"},
        "timezone": "browser",
        "templating": {"list": [source, *variables]},
        "links": [
            {"type": "dashboards", "title": "argolint", "tags": ["argolint"], "keepTime": True, "includeVars": True}
        ],
        "panels": panels,
    }


def _variable(name: str, query: str, *, many: bool = True) -> dict[str, Any]:
    everything = {"includeAll": True, "allValue": ".*", "multi": True, "current": {"text": "All", "value": "$__all"}}
    return {
        "name": name,
        "type": "query",
        "datasource": SOURCE,
        "query": {"query": query, "refId": "variable"},
        "refresh": 2,
        "sort": 1,
        **(everything if many else {}),
    }


def _severities() -> dict[str, Any]:
    return {
        "name": "severity",
        "type": "custom",
        "query": ",".join(COLORS),
        "includeAll": True,
        "allValue": ".*",
        "multi": True,
        "current": {"text": "All", "value": "$__all"},
    }


def _panel(kind: str, title: str, x: int, y: int, w: int, h: int) -> Panel:
    return {"type": kind, "title": title, "datasource": SOURCE, "gridPos": {"x": x, "y": y, "w": w, "h": h}}


def _target(expression: str, legend: str = "", *, now: bool = False) -> dict[str, Any]:
    shape = {"instant": True, "range": False, "format": "table"} if now else {"range": True, "format": "time_series"}
    return {"refId": "A", "datasource": SOURCE, "expr": expression, "legendFormat": legend or "__auto", **shape}


def _stat(title: str, expression: str, x: int, *, unit: str = "short", warn: int | None = 1) -> Panel:
    steps: list[dict[str, Any]] = [{"color": "green", "value": None}]
    if warn is not None:
        steps.append({"color": "red", "value": warn})
    return {
        **_panel("stat", title, x, 0, 6, 4),
        "targets": [{**_target(expression), "instant": True, "range": False}],
        "fieldConfig": {
            "defaults": {"unit": unit, "thresholds": {"mode": "absolute", "steps": steps}},
            "overrides": [],
        },
        "options": {"reduceOptions": {"calcs": ["lastNotNull"]}, "colorMode": "value"},
    }


def _series(title: str, expression: str, legend: str, x: int, y: int, w: int, unit: str = "short") -> Panel:
    overrides = [
        {
            "matcher": {"id": "byName", "options": name},
            "properties": [{"id": "color", "value": {"mode": "fixed", "fixedColor": color}}],
        }
        for name, color in COLORS.items()
    ]
    return {
        **_panel("timeseries", title, x, y, w, 8),
        "targets": [_target(expression, legend)],
        "fieldConfig": {
            "defaults": {"unit": unit, "min": 0},
            "overrides": overrides if "{{severity}}" in legend else [],
        },
    }


def _bars(title: str, expression: str, legend: str, x: int, y: int) -> Panel:
    return {
        **_panel("bargauge", title, x, y, 12, 8),
        "targets": [{**_target(expression, legend), "instant": True, "range": False}],
        "options": {"orientation": "horizontal", "displayMode": "basic", "reduceOptions": {"calcs": ["lastNotNull"]}},
        "fieldConfig": {"defaults": {"unit": "short", "min": 0}, "overrides": []},
    }


def _table(title: str, expression: str, y: int) -> Panel:
    def link(column: str, *links: tuple[str, str]) -> dict[str, Any]:
        made = [{"title": name, "url": url, "targetBlank": True} for name, url in links]
        return {"matcher": {"id": "byName", "options": column}, "properties": [{"id": "links", "value": made}]}

    own = "argocd=${__data.fields.argocd}&var-app_namespace=${__data.fields.app_namespace}&var-app=${__data.fields.app}"
    return {
        **_panel("table", title, 0, y, 24, 10),
        "targets": [_target(expression, now=True)],
        "transformations": [
            {"id": "organize", "options": {"excludeByName": {"Time": True}, "renameByName": {"Value": "findings"}}}
        ],
        "fieldConfig": {
            "defaults": {"custom": {"filterable": True}},
            "overrides": [
                link("rule", ("About this rule", f"{DOCS}rules/${{__value.raw}}.md")),
                link(
                    "app",
                    ("History", f"/d/argolint-application?var-{own}"),
                    (
                        "In Argo CD",
                        "https://${__data.fields.argocd}/applications/${__data.fields.app_namespace}/${__value.raw}",
                    ),
                ),
            ],
        },
    }


def expressions() -> Iterator[tuple[str, str]]:
    """Title and expression of every panel."""
    for name, dashboard in dashboards().items():
        for panel in dashboard["panels"]:
            for target in panel["targets"]:
                yield f"{name}: {panel['title']}", target["expr"]


def main() -> int:
    """Write the files, or with --check compare them."""
    stale = []
    for name, dashboard in dashboards().items():
        text = json.dumps(dashboard, indent=1) + "\n"
        file = FOLDER / name
        if "--check" not in sys.argv:
            file.write_text(text, encoding="utf-8")
        elif not file.exists() or file.read_text(encoding="utf-8") != text:
            stale.append(name)
    for name in stale:
        print(f"deploy/grafana/{name} is stale: run scripts/dashboards.py")
    return int(bool(stale))


if __name__ == "__main__":
    sys.exit(main())
