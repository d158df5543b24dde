"""Writes argolint/values/argocd_types.yaml: the fields of Application and AppProject, from Argo CD's CustomResourceDefinitions.

python -m scripts.argocd_types 3.6.0 application-crd.yaml appproject-crd.yaml > argolint/values/argocd_types.yaml
The files are in manifests/crds of Argo CD. Status and operation are left out: no manifest in Git has them.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import yaml

_LEFT_OUT = ("status", "operation", "apiVersion", "kind", "metadata")


class _Types:
    """The types by name; alike schemas have one name, that of the first place."""

    def __init__(self) -> None:
        self.lines: dict[str, str] = {}
        self._names: dict[str, str] = {}

    def of(self, schema: dict[str, Any], name: str) -> str:
        if schema.get("x-kubernetes-int-or-string") or schema.get("x-kubernetes-preserve-unknown-fields"):
            return "any"
        match schema.get("type"):
            case "array":
                return f"[{self.of(schema.get('items') or {}, name.removesuffix('s'))}]"
            case "object" if "properties" in schema:
                return self._struct(schema, name)
            case "object" if isinstance(schema.get("additionalProperties"), dict):
                return f"{{{self.of(schema['additionalProperties'], name)}}}"
            case "string" | "integer" | "boolean" | "number" as simple:
                return simple
        return "any"

    def _struct(self, schema: dict[str, Any], name: str) -> str:
        shape = json.dumps(_without_texts(schema), sort_keys=True)
        if shape in self._names:
            return self._names[shape]
        self._names[shape] = name
        needed = schema.get("required", ())
        fields = {
            key: self.of(child, f"{name}{key[0].upper()}{key[1:]}") for key, child in schema["properties"].items()
        }
        self.lines[name] = " ".join(f"{key}{'!' if key in needed else ''}={of}" for key, of in fields.items())
        return name


def _without_texts(schema: Any) -> Any:
    if isinstance(schema, dict):
        return {
            key: _without_texts(child)
            for key, child in schema.items()
            if not (key == "description" and isinstance(child, str))
        }
    return schema


def main(version: str, *files: str) -> None:
    types, kinds = _Types(), {}
    for file in files:
        spec = yaml.safe_load(Path(file).read_text())["spec"]
        (served,) = spec["versions"]
        kind = spec["names"]["kind"]
        properties = served["schema"]["openAPIV3Schema"]["properties"]
        own = {key: child for key, child in properties.items() if key not in _LEFT_OUT}
        fields = [f"{key}={types.of(child, kind + key.title())}" for key, child in own.items()]
        bare = ["apiVersion=string", "kind=string", "metadata=V1ObjectMeta"]
        bare += [f"{key}=any" for key in ("status", "operation") if key in properties]
        types.lines[kind] = " ".join([*bare, *fields])
        kinds[f"{spec['group']}/{served['name']} {kind}"] = kind
    print("# Fields of Argo CD's own types; `!` marks a required one. Written by scripts/argocd_types.py.")
    print(f"# Source: manifests/crds of Argo CD {version}.")
    print(f"version: '{version}'\nkinds:")
    print("\n".join(f"  {kind}: {name}" for kind, name in kinds.items()))
    print("types:")
    print("\n".join(f"  {name}: '{text}'" for name, text in sorted(types.lines.items())))


if __name__ == "__main__":
    main(*sys.argv[1:])
