"""What the live suite makes, as data: objects with its label, and the commands that change only those."""

from __future__ import annotations

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


def git_server(image: str) -> Iterator[Object]:
    """A namespace, and a pod in it that serves /srv/git over git's own protocol, pushes included."""
    yield labelled({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
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


def repo_url() -> str:
    """The repository as Argo CD reaches it."""
    return f"git://git.{NAMESPACE}.svc:{GIT_PORT}/live.git"


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
                "project": "default",
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
            application("one", "ownership/shared", namespace),
            application("two", "ownership/shared", namespace),
        ),
        "nondeterminism": (application("drawn", "nondeterminism", namespace),),
        "secrets": (application("breakfast", "secrets", namespace),),
    }


def clean_up(namespace: str = "argocd") -> Sequence[Sequence[str]]:
    """The kubectl commands that remove what the suite made: by its label, and its own namespace."""
    return (
        ("-n", namespace, "delete", "applications.argoproj.io", "-l", f"{LABEL}=true", "--wait", "--timeout=180s"),
        ("delete", "namespace", "-l", f"{LABEL}=true", "--wait", "--timeout=180s"),
    )
