"""Write the files that follow from the chart's values: values.schema.json and README.md. Run by `make docs`; --check only reports whether they are current."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

CHART = Path(__file__).resolve().parents[1] / "deploy" / "helm" / "argolint"
_TIME = {"type": "string", "pattern": "^[0-9]+(s|m|h)$"}
_TEXTS = {"type": "object", "additionalProperties": {"type": "string"}}
_NAMED = {"type": "string", "minLength": 1}
_FREE = {"type": "object"}
_PROBE = {"type": ["object", "null"]}
_COUNT = {"type": "integer", "minimum": 0}
_PORT = {"type": "integer", "minimum": 1, "maximum": 65535}
# Types of values that their defaults do not show. A key may have globs.
_MORE: dict[str, dict[str, Any]] = {
    "mode": {"enum": ["serve", "cron"]},
    "image.digest": {"type": "string", "pattern": "^$|^sha256:[0-9a-f]{64}$"},
    "image.pullPolicy": {"enum": ["Always", "IfNotPresent", "Never"]},
    "imagePullSecrets": {
        "type": "array",
        "items": {
            "type": "object",
            "additionalProperties": False,
            "properties": {"name": {"type": "string"}},
            "required": ["name"],
        },
    },
    "argocd.server": _NAMED,
    "argocd.existingSecret.name": _NAMED,
    "argocd.existingSecret.key": _NAMED,
    "argocd.caSecret.key": _NAMED,
    "serve.existingTokenSecret.key": _NAMED,
    "extension.existingTokenSecret.key": _NAMED,
    "serve.interval": _TIME,
    "serviceMonitor.interval": _TIME,
    "podMonitor.interval": _TIME,
    "serve.port": {"type": "integer", "minimum": 1024, "maximum": 65535},
    "cron.concurrencyPolicy": {"enum": ["Allow", "Forbid", "Replace"]},
    "cron.activeDeadlineSeconds": {"type": "integer", "minimum": 1},
    "cron.startingDeadlineSeconds": _COUNT,
    "cron.backoffLimit": _COUNT,
    "cron.successfulJobsHistoryLimit": _COUNT,
    "cron.failedJobsHistoryLimit": _COUNT,
    "cron.failOn": {"enum": ["error", "warning", "info", "never"]},
    "extraArgs": {"type": "array", "items": {"type": "string"}},
    "service.type": {"enum": ["ClusterIP", "NodePort", "LoadBalancer"]},
    "networkPolicy.egressPorts": {"type": "array", "items": _PORT},
    "ingress.hosts": {"type": "array", "items": _NAMED},
    "httpRoute.hostnames": {"type": "array", "items": _NAMED},
    "config": _FREE,
    "resources": _FREE,
    "affinity": _FREE,
    "podSecurityContext": _FREE,
    "securityContext": _FREE,
    "startupProbe": _PROBE,
    "livenessProbe": _PROBE,
    "readinessProbe": _PROBE,
}
_README = """\
<!-- Made by `make docs` from values.yaml and Chart.yaml: change those. -->
# {name}

{description}

```console
$ kubectl -n argocd create secret generic argolint --from-literal=token=...        # `argolint explain --setup` says how to make the account
$ helm install argolint CHART --namespace argocd --set image.repository=IMAGE
```

CHART is this folder, or where the chart was published; IMAGE is an image of `deploy/Containerfile`. `examples/` has values for a service, a schedule, an Ingress and a Gateway.

## Values

| value | default | what it is |
|---|---|---|
{rows}
"""


def schema(values: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON Schema of the values: from their defaults and from `_MORE`."""
    made = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Values of the argolint chart",
        **_object(values, ""),
    }
    made["properties"]["global"] = _FREE
    return made


def _object(values: Mapping[str, Any], path: str) -> dict[str, Any]:
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": {key: _of(value, f"{path}{key}") for key, value in values.items()},
    }


def _of(value: Any, path: str) -> dict[str, Any]:
    if path in _MORE:
        return _MORE[path]
    if isinstance(value, Mapping):
        return _object(value, f"{path}.") if value else _TEXTS
    kinds = {bool: "boolean", int: "integer", str: "string", list: "array"}
    return {"type": kinds[type(value)]}


def readme(text: str, about: Mapping[str, Any]) -> str:
    """The page of the chart: each value with its default and the comment after it, or above its parent map."""
    values = yaml.safe_load(text)
    comments = dict(_comments(text))
    rows = [
        f"| `{path}` | {_shown(value)} | {comments.get(path, '').replace('|', chr(92) + '|')} |"
        for path, value in _leaves(values, "")
    ]
    return _README.format(name=about["name"], description=about["description"], rows="\n".join(rows))


def _leaves(values: Mapping[str, Any], path: str) -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        here = f"{path}{key}"
        whole = here in _MORE or not isinstance(value, Mapping) or not value
        if whole:
            yield here, value
        else:
            yield from _leaves(value, f"{here}.")


def _shown(value: Any) -> str:
    return "-" if value in ("", [], {}) else f"`{json.dumps(value)}`"


def _comments(text: str) -> Iterator[tuple[str, str]]:
    """Path and comment, by indentation: values.yaml is ours, and flat enough."""
    path: list[str] = []
    above = ""
    for line in text.splitlines():
        if line.startswith("#"):
            above = f"{above} {line.lstrip('# ')}".strip()
            continue
        found = re.match(r"^( *)(\w+):(?: *(?:\"[^\"]*\"|[^#\"])*)(?:# *(.*))?$", line)
        if found:
            path = [*path[: len(found[1]) // 2], found[2]]
            said = found[3] or (above if len(path) == 1 else "")
            yield ".".join(path), said
            above = ""
        elif not line.strip():
            above = ""


def files() -> dict[str, str]:
    """Text by name below the chart."""
    text = (CHART / "values.yaml").read_text(encoding="utf-8")
    about = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))
    return {
        "values.schema.json": json.dumps(schema(yaml.safe_load(text)), indent=2) + "\n",
        "README.md": readme(text, about),
    }


def main() -> int:
    """Write the files; with --check only report whether they are current."""
    stale = [
        (name, text)
        for name, text in files().items()
        if not (CHART / name).is_file() or (CHART / name).read_text(encoding="utf-8") != text
    ]
    for name, text in stale:
        if "--check" in sys.argv:
            sys.stderr.write(f"{name} of the chart is not current: run `make docs`\n")
        else:
            (CHART / name).write_text(text, encoding="utf-8")
    return int(bool(stale) and "--check" in sys.argv)


if __name__ == "__main__":
    sys.exit(main())
