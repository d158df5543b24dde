"""A real Argo CD on the loopback, to try a fault and its fix: `python -m scripts.lab.lab up`, see README.md here.

It runs etcd, the Kubernetes API server with its controllers and scheduler, Redis and Argo CD as processes,
and plays the kubelets itself (kubelet.py). Everything listens on 127.0.0.1 and lies in one folder.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click
import requests
import yaml

HERE = Path(__file__).parent
TOKEN = "lab-admin"  # of a server that only this machine reaches
PASSWORD = "lab-password"
API = "https://127.0.0.1:16443"
ARGOCD = "http://127.0.0.1:18080"
WAIT_SECONDS = 90


def folder() -> Path:
    return Path(os.environ.get("ARGOLINT_LAB", Path.home() / ".cache" / "argolint-lab"))


class Kubernetes:
    """Plain requests to the lab's API server."""

    def __init__(self) -> None:
        self._session = requests.Session()
        self._session.headers["Authorization"] = f"Bearer {TOKEN}"
        self._session.verify = False  # its certificate is its own, and only this machine reaches it
        self._session.trust_env = False
        self._kinds: dict[tuple[str, str], tuple[str, bool]] = {}

    def send(self, method: str, path: str, body: Any = None, content: str = "application/json") -> Any:
        """The answer of the server, as data; raises `requests.HTTPError` with the server's own words."""
        data = None if body is None else json.dumps(body)
        answer = self._session.request(method, API + path, data=data, headers={"Content-Type": content}, timeout=30)
        if not answer.ok:
            raise requests.HTTPError(f"{method} {path}: {answer.status_code} {answer.text[:600]}")
        return answer.json() if "json" in answer.headers.get("Content-Type", "") else answer.text

    def path(self, thing: Mapping[str, Any]) -> str:
        """The path of an object; its kind is looked up in the server's discovery."""
        version, kind = thing["apiVersion"], thing["kind"]
        if (version, kind) not in self._kinds:
            root = f"/apis/{version}" if "/" in version else f"/api/{version}"
            for each in self.send("GET", root)["resources"]:
                if "/" not in each["name"]:
                    self._kinds[(version, each["kind"])] = (f"{root}|{each['name']}", each["namespaced"])
        place, namespaced = self._kinds[(version, kind)]
        root, plural = place.split("|")
        namespace = thing["metadata"].get("namespace", "default")
        middle = f"/namespaces/{namespace}" if namespaced else ""
        return f"{root}{middle}/{plural}/{thing['metadata']['name']}"

    def apply(self, thing: Mapping[str, Any], manager: str = "lab") -> Any:
        """Writes an object by server-side apply, as another writer than Argo CD."""
        return self.send(
            "PATCH",
            f"{self.path(thing)}?fieldManager={manager}&force=true",
            dict(thing),
            "application/apply-patch+yaml",
        )


def documents(text: str) -> list[dict[str, Any]]:
    return [each for each in yaml.safe_load_all(text) if each]


def wait(what: str, ready: Callable[[], Any], seconds: int = WAIT_SECONDS) -> Any:
    """What `ready` answers as soon as it is true; an error of the network counts as not yet."""
    end = time.monotonic() + seconds
    last: object = None
    while time.monotonic() < end:
        try:
            if answer := ready():
                return answer
        except (requests.RequestException, KeyError) as error:
            last = error
        time.sleep(0.5)
    raise click.ClickException(f"{what} was not there after {seconds} s. {last or ''}")


def _start(
    name: str, command: list[str], environment: Mapping[str, str] | None = None, program: str | None = None
) -> None:
    """Start a command; `program` is the file to run where the command's first word is another name."""
    home = folder()
    with (home / "logs" / f"{name}.log").open("ab") as log:
        process = subprocess.Popen(
            command,
            executable=program,
            stdout=log,
            stderr=log,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            env={**os.environ, **(environment or {})},
            cwd=home,
        )
    (home / "pids" / name).write_text(str(process.pid))


def _kubeconfig() -> Path:
    path = folder() / "kubeconfig"
    path.write_text(yaml.safe_dump({
        "apiVersion": "v1", "kind": "Config", "current-context": "lab",
        "clusters": [{"name": "lab", "cluster": {"server": API, "insecure-skip-tls-verify": True}}],
        "users": [{"name": "lab", "user": {"token": TOKEN}}],
        "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": "lab", "namespace": "argocd"}}],
    }))  # fmt: skip
    return path


def _cluster(programs: Path) -> None:
    home = folder()
    for name in ("logs", "pids", "repos"):
        (home / name).mkdir(parents=True, exist_ok=True)
    key = home / "service-account.key"
    if not key.exists():
        subprocess.run(["openssl", "genrsa", "-out", str(key), "2048"], check=True, capture_output=True)
    (home / "tokens.csv").write_text(f'{TOKEN},lab,lab,"system:masters"\n')
    config = str(_kubeconfig())
    client = "http://127.0.0.1:12379"
    _start("etcd", [
        str(programs / "etcd"), "--data-dir", str(home / "etcd"), "--listen-client-urls", client,
        "--advertise-client-urls", client, "--listen-peer-urls", "http://127.0.0.1:12380",
        "--unsafe-no-fsync", "--log-level=error",
    ])  # fmt: skip
    _start("apiserver", [
        str(programs / "kube-apiserver"), f"--etcd-servers={client}", "--secure-port=16443",
        "--bind-address=127.0.0.1", f"--cert-dir={home / 'certs'}", f"--token-auth-file={home / 'tokens.csv'}",
        "--authorization-mode=RBAC", "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-signing-key-file={key}", f"--service-account-key-file={key}",
        "--service-cluster-ip-range=10.0.0.0/16", "--endpoint-reconciler-type=none",
        "--allow-privileged=true",
    ])  # fmt: skip
    kubernetes = Kubernetes()
    wait("the API server", lambda: kubernetes.send("GET", "/readyz") == "ok")
    _start("manager", [
        str(programs / "kube-controller-manager"), f"--kubeconfig={config}", "--leader-elect=false",
        f"--service-account-private-key-file={key}", "--use-service-account-credentials=true",
        "--controllers=*,-node-lifecycle-controller,-node-ipam-controller,-node-route-controller",
        "--secure-port=0", f"--root-ca-file={home / 'certs' / 'apiserver.crt'}",
        "--concurrent-deployment-syncs=2", "--horizontal-pod-autoscaler-sync-period=5s",
    ])  # fmt: skip
    _start("scheduler", [
        str(programs / "kube-scheduler"), f"--kubeconfig={config}", "--leader-elect=false", "--secure-port=0",
    ])  # fmt: skip
    _start("kubelet", [sys.executable, "-m", "scripts.lab.kubelet"], {
        "PYTHONPATH": str(HERE.parent.parent), "PYTHONWARNINGS": "ignore",
    })  # fmt: skip


def _settings(kubernetes: Kubernetes, programs: Path) -> None:
    for file in sorted((programs / "crds").glob("*-crd.yaml")):
        for thing in documents(file.read_text()):
            kubernetes.apply(thing)
    hashed = subprocess.run(
        [str(programs / "argocd"), "account", "bcrypt", "--password", PASSWORD],
        env={**os.environ, "ARGOCD_BINARY_NAME": "argocd"}, check=True, capture_output=True, text=True,
    ).stdout.strip()  # fmt: skip
    labels = {"app.kubernetes.io/part-of": "argocd"}
    things: list[dict[str, Any]] = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "argocd"}},
        {"apiVersion": "v1", "kind": "Secret", "stringData": {
            "admin.password": hashed, "admin.passwordMtime": "2026-01-01T00:00:00Z",
            "server.secretkey": "lab-only"},
         "metadata": {"name": "argocd-secret", "namespace": "argocd", "labels": labels}},
        {"apiVersion": "v1", "kind": "ConfigMap", "data": {
            "timeout.reconciliation": "10s", "timeout.reconciliation.jitter": "0s"},
         "metadata": {"name": "argocd-cm", "namespace": "argocd", "labels": labels}},
    ]  # fmt: skip
    for name in ("argocd-rbac-cm", "argocd-cmd-params-cm", "argocd-ssh-known-hosts-cm",
                 "argocd-tls-certs-cm", "argocd-gpg-keys-cm", "argocd-notifications-cm"):  # fmt: skip
        things.append({"apiVersion": "v1", "kind": "ConfigMap",
                       "metadata": {"name": name, "namespace": "argocd", "labels": labels}})  # fmt: skip
    for thing in things:
        kubernetes.apply(thing)
    project = {"apiVersion": "argoproj.io/v1alpha1", "kind": "AppProject",
               "metadata": {"name": "default", "namespace": "argocd"},
               "spec": {"sourceRepos": ["*"], "destinations": [{"namespace": "*", "server": "*"}],
                        "clusterResourceWhitelist": [{"group": "*", "kind": "*"}]}}  # fmt: skip
    wait("the kind AppProject", lambda: kubernetes.apply(project))


def _argocd(programs: Path) -> None:
    home = folder()
    environment = {
        "KUBECONFIG": str(home / "kubeconfig"), "ARGOCD_FAKE_IN_CLUSTER": "true", "HOSTNAME": "lab-controller-0",
        "ARGOCD_TLS_DATA_PATH": str(home / "tls"), "ARGOCD_SSH_DATA_PATH": str(home / "ssh"),
        "ARGOCD_GPG_ENABLED": "false", "ARGOCD_RECONCILIATION_JITTER": "0", "TMPDIR": str(home / "tmp"),
        "ARGOCD_GNUPGHOME": str(home / "gpg"), "PATH": f"{home / 'bin'}:{os.environ['PATH']}",
    }  # fmt: skip
    for name in ("tls", "ssh", "tmp", "gpg", "bin"):
        (home / name).mkdir(exist_ok=True, mode=0o700)
    verify = home / "bin" / "git-verify-wrapper.sh"
    verify.write_text("#!/bin/sh\nexit 0\n")  # the image's own program; it prints a commit's signature, here none
    verify.chmod(0o700)
    (home / "ssh" / "ssh_known_hosts").touch()
    redis, render = "127.0.0.1:16379", "127.0.0.1:18081"
    _start("redis", ["redis-server", "--port", "16379", "--bind", "127.0.0.1", "--save", "", "--dir", str(home)])
    roles = {
        "argocd-repo-server": ["--redis", redis, "--port", "18081", "--metrics-port", "18082", "--disable-tls",
                               "--client-ca-path=",
                               "--address", "127.0.0.1", "--metrics-address", "127.0.0.1"],
        "argocd-application-controller": ["--redis", redis, "--repo-server", render, "--repo-server-plaintext",
                                          "--metrics-port", "18083", "--app-resync", "10",
                                          "--repo-server-timeout-seconds", "60", "--namespace", "argocd"],
        "argocd-server": ["--redis", redis, "--repo-server", render, "--repo-server-plaintext", "--insecure",
                          "--port", "18080", "--address", "127.0.0.1", "--metrics-port", "18084",
                          "--metrics-address", "127.0.0.1", "--namespace", "argocd"],
        "argocd-applicationset-controller": ["--argocd-repo-server", render, "--repo-server-plaintext",
                                             "--metrics-addr", "127.0.0.1:18085", "--namespace", "argocd",
                                             "--probe-addr", "127.0.0.1:18086", "--webhook-addr", "127.0.0.1:18087"],
    }  # fmt: skip
    for name, flags in roles.items():
        # Under its own name, as in the image: client-go takes the name of the field manager from it.
        _start(name, [name, *flags, "--loglevel", "warn"],
               {**environment, "ARGOCD_BINARY_NAME": name}, str(programs / "argocd"))  # fmt: skip


def _external_secrets(programs: Path) -> None:
    kubernetes = Kubernetes()
    for file in sorted((programs / "external-secrets-crds").glob("*.yaml")):
        for thing in documents(file.read_text()):
            kubernetes.apply(thing)
    _start("external-secrets", [
        str(programs / "external-secrets"), "--metrics-addr=127.0.0.1:18088",
        "--loglevel=info",
        "--store-requeue-interval=30s",
    ], {
        # Where a stand-in of AWS may listen, and credentials that are good nowhere.
        "KUBECONFIG": str(folder() / "kubeconfig"), "AWS_SECRETSMANAGER_ENDPOINT": "http://127.0.0.1:18095",
        "AWS_SSM_ENDPOINT": "http://127.0.0.1:18095", "AWS_STS_ENDPOINT": "http://127.0.0.1:18095",
        "AWS_EC2_METADATA_DISABLED": "true",
    })  # fmt: skip


def token() -> str:
    """A session of the lab's administrator."""
    answer = requests.post(f"{ARGOCD}/api/v1/session", json={"username": "admin", "password": PASSWORD}, timeout=10)
    answer.raise_for_status()
    return str(answer.json()["token"])


@click.group()
def main() -> None:
    """Runs a real Argo CD here, puts an application on it, and shows what became of it."""


@main.command()
@click.option("--programs", type=click.Path(path_type=Path), required=True, help="The folder that build.sh filled.")
def up(programs: Path) -> None:
    """Start the cluster and Argo CD, both empty."""
    _end()
    shutil.rmtree(folder(), ignore_errors=True)
    _cluster(programs.resolve())
    kubernetes = Kubernetes()
    _settings(kubernetes, programs.resolve())
    _argocd(programs.resolve())
    wait("Argo CD", token)
    if (programs / "external-secrets").exists():
        _external_secrets(programs.resolve())
    click.echo(f"ARGOCD_SERVER={ARGOCD} and kubeconfig {folder() / 'kubeconfig'}")


def _end() -> None:
    for file in (folder() / "pids").glob("*"):
        number = int(file.read_text())
        for _ in range(40):
            try:
                os.kill(number, signal.SIGTERM)
            except ProcessLookupError:
                break
            time.sleep(0.25)
        else:
            os.kill(number, signal.SIGKILL)
        file.unlink()


@main.command()
def down() -> None:
    """End every process that `up` started."""
    _end()


@main.command("token")
def print_token() -> None:
    """Print a token for `argolint check --server`."""
    click.echo(token())


def _git(repository: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", "-C", str(repository), "-c", "user.name=lab", "-c", "user.email=lab@localhost", *arguments],
        check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip


@main.command()
@click.argument("name")
@click.argument("source", type=click.Path(exists=True, file_okay=False, path_type=Path))
def commit(name: str, source: Path) -> None:
    """Make SOURCE the whole content of the repository NAME; its address is printed."""
    repository = folder() / "repos" / name
    repository.mkdir(parents=True, exist_ok=True)
    if not (repository / ".git").exists():
        _git(repository, "init", "-q", "-b", "main")
    for old in repository.iterdir():
        if old.name != ".git":
            shutil.rmtree(old) if old.is_dir() else old.unlink()
    shutil.copytree(source, repository, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".git"))
    _git(repository, "add", "-A")
    _git(repository, "commit", "-q", "--allow-empty", "-m", f"State of {name}")
    click.echo(f"file://{repository}")


if __name__ == "__main__":
    main()
