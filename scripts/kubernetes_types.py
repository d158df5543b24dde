"""Writes argolint/values/kubernetes_types.yaml: the fields of Kubernetes' own types, from the models of its Python client.

pip download kubernetes==33.1.0 --no-deps -d DIR && unzip -d DIR DIR/*.whl
python scripts/kubernetes_types.py DIR/kubernetes/client/models 1.33 > argolint/values/kubernetes_types.yaml
"""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

KINDS = {
    "v1": "ConfigMap LimitRange Namespace PersistentVolume PersistentVolumeClaim Pod ReplicationController ResourceQuota Secret Service ServiceAccount",
    "apps/v1": "DaemonSet Deployment ReplicaSet StatefulSet",
    "autoscaling/v2": "HorizontalPodAutoscaler",
    "batch/v1": "CronJob Job",
    "networking.k8s.io/v1": "Ingress IngressClass NetworkPolicy",
    "policy/v1": "PodDisruptionBudget",
    "rbac.authorization.k8s.io/v1": "ClusterRole ClusterRoleBinding Role RoleBinding",
    "scheduling.k8s.io/v1": "PriorityClass",
    "storage.k8s.io/v1": "StorageClass",
}
_REQUIRED = re.compile(r"Invalid value for `(\w+)`, must not be `None`")
_SIMPLE = {
    "str": "string",
    "int": "integer",
    "float": "number",
    "bool": "boolean",
    "datetime": "string",
    "object": "any",
}


def main(models: Path, version: str) -> None:
    classes = dict(_classes(models))
    roots = {f"{api} {kind}": _class(api, kind) for api, kinds in KINDS.items() for kind in kinds.split()}
    lines: dict[str, str] = {}
    left = list(roots.values())
    while left:
        name = left.pop()
        if name in lines or name not in classes:
            continue
        fields, found = classes[name]
        lines[name] = " ".join(fields)
        left += found
    print("# Fields of Kubernetes' own types; `!` marks a required one. Written by scripts/kubernetes_types.py.")
    print(f"# Source: the models of the Python client of Kubernetes {version}, made from its OpenAPI.")
    print(f"version: '{version}'")
    print("kinds:")
    print("\n".join(f"  {kind}: {name}" for kind, name in roots.items()))
    print("types:")
    print("\n".join(f"  {name}: '{text}'" for name, text in sorted(lines.items())))


def _class(api: str, kind: str) -> str:
    return f"{api.rpartition('/')[2].title()}{kind}"


def _classes(models: Path):  # type: ignore[no-untyped-def]
    for file in sorted(models.glob("*.py")):
        text = file.read_text()
        for node in ast.parse(text).body:
            if isinstance(node, ast.ClassDef):
                held = {
                    t.id: s.value
                    for s in node.body
                    if isinstance(s, ast.Assign)
                    for t in s.targets
                    if isinstance(t, ast.Name)
                }
                if "openapi_types" in held:
                    types, names = ast.literal_eval(held["openapi_types"]), ast.literal_eval(held["attribute_map"])
                    needed = set(_REQUIRED.findall(text))
                    fields = [f"{names[n]}{'!' if n in needed else ''}={_spelled(t)}" for n, t in types.items()]
                    yield node.name, (fields, [u for t in types.values() for u in re.findall(r"V\d\w+|\w+V\d\w+", t)])


def _spelled(kind: str) -> str:
    if found := re.fullmatch(r"list\[(.+)\]", kind):
        return f"[{_spelled(found[1])}]"
    if found := re.fullmatch(r"dict\(str, (.+)\)", kind):
        return f"{{{_spelled(found[1])}}}"
    return _SIMPLE.get(kind, kind)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
