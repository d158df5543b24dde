"""What the live suite makes, as data: objects with its label, the commands that change only those, and fixes carried out as they are printed."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

NAMESPACE = "argolint-live"
LABEL = "argolint.dev/live"
REPOSITORY = Path(__file__).parent / "repository"
GIT_PORT = 9418

Object = dict[str, Any]


def labelled(obj: Object) -> Object:
    """The object with the suite's label, without which nothing is changed or deleted."""
    metadata = obj.get("metadata", {})
    return {**obj, "metadata": {**metadata, "labels": {**metadata.get("labels", {}), LABEL: "true"}}}


def is_ours(obj: Object) -> bool:
    """True for an object that the suite has made."""
    return bool(obj.get("metadata", {}).get("labels", {}).get(LABEL) == "true")


def namespace() -> Object:
    """The suite's own namespace."""
    return labelled({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})


def git_server(image: str) -> Iterator[Object]:
    """A pod that serves /srv/git over git's own protocol, pushes included."""
    script = (
        "git init --quiet --bare --initial-branch=main /srv/git/live.git && "
        f"exec git daemon --reuseaddr --base-path=/srv/git --export-all --enable=receive-pack --port={GIT_PORT}"
    )
    container = {
        "name": "git",
        "image": image,
        "command": ["sh", "-c", script],
        "ports": [{"containerPort": GIT_PORT}],
        "env": [{"name": "HOME", "value": "/srv/git"}],
        "volumeMounts": [{"name": "repositories", "mountPath": "/srv/git"}],
        "readinessProbe": {"tcpSocket": {"port": GIT_PORT}, "periodSeconds": 2},
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
    }
    pod = {"containers": [container], "volumes": [{"name": "repositories", "emptyDir": {}}]}
    labels = {"app": "git"}
    yield labelled(
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "git", "namespace": NAMESPACE},
            "spec": {
                "replicas": 1,
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": pod},
            },
        }
    )
    yield labelled(
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "git", "namespace": NAMESPACE},
            "spec": {"selector": labels, "ports": [{"port": GIT_PORT, "targetPort": GIT_PORT}]},
        }
    )


def shared_folder() -> str:
    """A folder for the repository that this machine shares with Argo CD's repo-server; empty without one."""
    return os.environ.get("ARGOLINT_LIVE_FOLDER", "")


def repo_url() -> str:
    """The repository as Argo CD reaches it."""
    return f"file://{shared_folder()}" if shared_folder() else f"git://git.{NAMESPACE}.svc:{GIT_PORT}/live.git"


def project(namespace: str = "argocd") -> Object:
    """The project of the suite's Applications; its role `reader` may see them and nothing else."""
    return labelled(
        {
            "apiVersion": "argoproj.io/v1alpha1",
            "kind": "AppProject",
            "metadata": {"name": NAMESPACE, "namespace": namespace},
            "spec": {
                "sourceRepos": [repo_url()],
                "destinations": [{"server": "https://kubernetes.default.svc", "namespace": NAMESPACE}],
                "clusterResourceWhitelist": [{"group": "rbac.authorization.k8s.io", "kind": "ClusterRole"}],
                "roles": [
                    {
                        "name": "reader",
                        "policies": [f"p, proj:{NAMESPACE}:reader, applications, get, {NAMESPACE}/*, allow"],
                    }
                ],
            },
        }
    )


def application(name: str, path: str, namespace: str = "argocd", revision: str = "main") -> Object:
    """An Application of the suite, synced by itself."""
    return labelled(
        {
            "apiVersion": "argoproj.io/v1alpha1",
            "kind": "Application",
            "metadata": {
                "name": f"{NAMESPACE}-{name}",
                "namespace": namespace,
                "finalizers": ["resources-finalizer.argocd.argoproj.io"],
            },
            "spec": {
                "project": NAMESPACE,
                "source": {"repoURL": repo_url(), "path": path, "targetRevision": revision},
                "destination": {"server": "https://kubernetes.default.svc", "namespace": NAMESPACE},
                "syncPolicy": {"automated": {"prune": True, "selfHeal": True}, "retry": {"limit": 2}},
            },
        }
    )


def applications(namespace: str = "argocd") -> Mapping[str, tuple[Object, ...]]:
    """The Applications of each family."""
    return {
        "ownership": (
            application("one", "ownership/one", namespace),
            application("two", "ownership/two", namespace),
        ),
        "nondeterminism": (application("drawn", "nondeterminism", namespace),),
        "secrets": (application("breakfast", "secrets", namespace),),
    }


def clean_up(namespace: str = "argocd") -> Sequence[Sequence[str]]:
    """The kubectl commands that remove what the suite made: by its label, and its own namespace."""
    return (
        ("-n", namespace, "delete", "applications.argoproj.io", "-l", f"{LABEL}=true", "--wait", "--timeout=180s"),
        ("-n", namespace, "delete", "appprojects.argoproj.io", "-l", f"{LABEL}=true", "--wait", "--timeout=60s"),
        ("delete", "namespace", "-l", f"{LABEL}=true", "--wait", "--timeout=180s"),
    )


def carry_out(fix: Mapping[str, Any], subject: Mapping[str, Any], folder: Path) -> str:
    """Do in a checkout what a finding's fix says, and nothing else; the file that was changed. ValueError for a fix that names no edit of it.

    Two forms: a JSON patch of the object in Git, and the words `delete its manifest from PATH of REPOSITORY`.
    """
    import jsonpatch
    import yaml

    content = fix["edit"]["content"]
    below = re.search(r"delete its manifest from (\S+) of ", content) if isinstance(content, str) else None
    if fix["edit"]["kind"] != "json-patch" and below is None:
        raise ValueError(f"no edit of a checkout: {json.dumps(fix)}")
    for file in sorted((folder / below[1] if below else folder).rglob("*.yaml")):
        if "templates" in file.parts:
            continue
        found = list(yaml.safe_load_all(file.read_text(encoding="utf-8")))
        held = [o for o in found if isinstance(o, dict) and _is(o, subject)]
        if held:
            changed = (
                [o for o in found if o not in held]
                if below
                else [jsonpatch.apply_patch(o, content) if o in held else o for o in found]
            )
            file.write_text(yaml.safe_dump_all(changed), encoding="utf-8")
            if not changed:
                file.unlink()
            return file.relative_to(folder).as_posix()
    raise ValueError(f"no {subject['kind']} {subject['name']} in the checkout")


def _is(obj: Mapping[str, Any], subject: Mapping[str, Any]) -> bool:
    return (obj.get("kind"), obj.get("metadata", {}).get("name")) == (subject["kind"], subject["name"])
