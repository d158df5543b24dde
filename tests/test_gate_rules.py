"""What rules foresee of a change, and what they must not: each change on a real repository, judged by every rule."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from argolint import App, AppRef, Finding, Fleet, Rule
from argolint.application.fleet import IN_CLUSTER
from argolint.engine.plan import ChosenRule, Plan
from argolint.engine.servers import Source
from argolint.gate.change import GatedChange
from argolint.gate.deletes import deletion_sentences
from argolint.gate.judge import judge
from argolint.gate.verdict import Verdict, gate_report
from argolint.plugins import load_rules
from argolint.server.transport import Answer, Query
from argolint.sources.git import Git

from .gitops import REPO, REVISION, GitServer, Manifest, commit, git

RULES = load_rules()
PLAN = Plan(tuple(ChosenRule(r, r.default_options) for r in RULES.values()), workers=2)


def deployment(name: str, **container: Any) -> Manifest:
    main = {
        "name": "main",
        "image": f"{name}:1",
        "envFrom": [{"configMapRef": {"name": f"{name}-config"}}],
        **container,
    }
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [main]}}
    return made(
        "Deployment", name, "apps/v1", spec={"replicas": 2, "selector": {"matchLabels": labels}, "template": template}
    )


def made(kind: str, name: str, api: str = "v1", **body: Any) -> Manifest:
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name}, **body}


def as_applied(manifest: Manifest, app: str) -> Manifest:
    """What client-side apply adds to a live object."""
    group, _, _ = manifest["apiVersion"].rpartition("/")
    name = f"{app}:{group}/{manifest['kind']}:shop/{manifest['metadata']['name']}"
    annotations = {"argocd.argoproj.io/tracking-id": name}
    sent = {**manifest, "metadata": {**manifest["metadata"], "namespace": "shop", "annotations": annotations}}
    return {
        "metadata": {
            "annotations": {**annotations, "kubectl.kubernetes.io/last-applied-configuration": json.dumps(sent)}
        }
    }


def config(name: str) -> Manifest:
    return made("ConfigMap", f"{name}-config", data={"MODE": "fast"})


def without_replicas(one: Manifest) -> Manifest:
    return {**one, "spec": {k: v for k, v in one["spec"].items() if k != "replicas"}}


LABELLED = deployment("web")
LABELLED["spec"]["template"]["metadata"]["labels"]["tier"] = "front"
LABELLED["spec"]["selector"] = {"matchLabels": {"app": "web"}}
ROLE = made("ClusterRole", "shop-reader", "rbac.authorization.k8s.io/v1", rules=[])
STORE = made("ClusterSecretStore", "main", "external-secrets.io/v1", spec={"provider": {"fake": {"data": []}}})
ISSUER = made("ClusterIssuer", "main", "cert-manager.io/v1", spec={"selfSigned": {}})
CERTIFICATE = made(
    "Certificate",
    "web",
    "cert-manager.io/v1",
    spec={
        "secretName": "web-tls",
        "dnsNames": ["web.example.com"],
        "issuerRef": {"kind": "ClusterIssuer", "name": "main"},
    },
)
READY = {
    "status": {
        "refreshTime": "2026-01-01T11:50:00Z",
        "conditions": [{"type": "Ready", "status": "True", "reason": "Valid"}],
    }
}
SCALER = made(
    "HorizontalPodAutoscaler",
    "web",
    "autoscaling/v2",
    spec={
        "minReplicas": 4,
        "maxReplicas": 8,
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
        "metrics": [
            {
                "type": "Resource",
                "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 70}},
            }
        ],
    },
)
TIDES = made(
    "CustomResourceDefinition",
    "tides.sea.example",
    "apiextensions.k8s.io/v1",
    spec={
        "group": "sea.example",
        "names": {"kind": "Tide", "plural": "tides"},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "properties": {
                                    "height": {"type": "integer"},
                                    "way": {"type": "string", "enum": ["in", "out"]},
                                },
                            }
                        },
                    }
                },
            }
        ],
    },
)


CLASS = made("IngressClass", "nginx", "networking.k8s.io/v1", spec={"controller": "k8s.io/ingress-nginx"})


def binding(name: str, namespace: str, account: str) -> Manifest:
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "shop-reader"}
    subject = {"kind": "ServiceAccount", "name": account, "namespace": namespace}
    return made("RoleBinding", name, "rbac.authorization.k8s.io/v1", roleRef=role, subjects=[subject])


def with_spec(one: Manifest, **fields: Any) -> Manifest:
    return {**one, "spec": {**one["spec"], **fields}}


def labelled(one: Manifest, **labels: str) -> Manifest:
    """A workload with further labels in its selector and its pods, as kustomize's commonLabels write them."""
    selector = {"matchLabels": {**one["spec"]["selector"]["matchLabels"], **labels}}
    template = {**one["spec"]["template"], "metadata": {"labels": selector["matchLabels"]}}
    return with_spec(one, selector=selector, template=template)


def key_of(secret: str, key: str) -> Manifest:
    """A variable that reads a key of a Secret."""
    return {"name": key.upper(), "valueFrom": {"secretKeyRef": {"name": secret, "key": key}}}


def requiring(crd: Manifest, field: str) -> Manifest:
    one = json.loads(json.dumps(crd))
    one["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["required"] = [field]
    made_of: Manifest = one
    return made_of


def running_as(one: Manifest, account: str) -> Manifest:
    pod = {**one["spec"]["template"]["spec"], "serviceAccountName": account}
    return with_spec(one, template={**one["spec"]["template"], "spec": pod})


def on_nodes(one: Manifest, **labels: str) -> Manifest:
    pod = {**one["spec"]["template"]["spec"], "nodeSelector": labels}
    return with_spec(one, template={**one["spec"]["template"], "spec": pod})


def with_scratch(one: Manifest, size: str) -> Manifest:
    pod = {**one["spec"]["template"]["spec"], "volumes": [{"name": "scratch", "emptyDir": {"sizeLimit": size}}]}
    return with_spec(one, template={**one["spec"]["template"], "spec": pod})


def with_name(one: Manifest, name: str) -> Manifest:
    return {**one, "metadata": {**one["metadata"], "name": name}}


def claim(name: str) -> Manifest:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    return made("PersistentVolumeClaim", name, spec=spec)


def placed(one: Manifest, namespace: str) -> Manifest:
    return {**one, "metadata": {**one["metadata"], "namespace": namespace}}


def with_class(one: Manifest, name: str) -> Manifest:
    return with_spec(one, storageClassName=name)


def mounting(one: Manifest, name: str) -> Manifest:
    """A workload whose pods mount a claim."""
    pod = one["spec"]["template"]["spec"]
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": name}}]
    containers = [{**pod["containers"][0], "volumeMounts": [{"name": "data", "mountPath": "/data"}]}]
    template = {**one["spec"]["template"], "spec": {**pod, "volumes": volumes, "containers": containers}}
    return with_spec(one, template=template)


def budget(name: str, **bound: Any) -> Manifest:
    return made("PodDisruptionBudget", name, "policy/v1", spec={"selector": {"matchLabels": {"app": name}}, **bound})


def policy(text: str) -> Manifest:
    """Argo CD's own policy."""
    one = made("ConfigMap", "argocd-rbac-cm", data={"policy.csv": text})
    return {**one, "metadata": {"name": "argocd-rbac-cm", "namespace": "argocd"}}


def guarded(level: str) -> Manifest:
    labels = {"pod-security.kubernetes.io/enforce": level}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "labels": labels}}


def service(name: str, **spec: Any) -> Manifest:
    return made("Service", name, spec={"selector": {"app": name}, "ports": [{"port": 80}], **spec})


def node_port(name: str, port: int) -> Manifest:
    return service(name, type="NodePort", ports=[{"port": 80, "nodePort": port}])


def ingress(name: str, host: str = "shop.example.com") -> Manifest:
    backend = {"service": {"name": name, "port": {"number": 80}}}
    rule = {"host": host, "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": backend}]}}
    return made("Ingress", name, "networking.k8s.io/v1", spec={"ingressClassName": "nginx", "rules": [rule]})


def stateful(name: str, image: str = "db:1") -> Manifest:
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    main = {"name": "main", "image": image, "volumeMounts": [{"name": "data", "mountPath": "/data"}]}
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [main]}}
    claims = [{"metadata": {"name": "data"}, "spec": claim}]
    spec = {"serviceName": name, "selector": {"matchLabels": {"app": name}}, "template": template}
    return made("StatefulSet", name, "apps/v1", spec={**spec, "volumeClaimTemplates": claims})


def bounded(**entry: Mapping[str, str]) -> Manifest:
    return made("LimitRange", "range", spec={"limits": [{"type": "Container", **entry}]})


def of_version(crd: Manifest, name: str) -> Manifest:
    return {**crd, "spec": {**crd["spec"], "versions": [{**crd["spec"]["versions"][0], "name": name}]}}


BUDGET = {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}
BASE = {
    **{f"{name}/deployment.yaml": [deployment(name)] for name in ("web", "cart", "admin")},
    **{f"{name}/config.yaml": [config(name)] for name in ("web", "cart", "admin")},
    "admin/role.yaml": [ROLE],
}


def external_secret(name: str, store: Mapping[str, str], **spec: Any) -> Manifest:
    entry = {"secretKey": "a", "remoteRef": {"key": "a"}}
    whole = {"secretStoreRef": store, "refreshInterval": "1h0m0s", "data": [entry], **spec}
    return made("ExternalSecret", name, "external-secrets.io/v1", spec=whole)


def cart_application(**spec: Any) -> Manifest:
    source = {"repoURL": REPO, "path": "cart", "targetRevision": "main"}
    whole = {"project": "default", "source": source, "destination": {"server": IN_CLUSTER, "namespace": "shop"}, **spec}
    one = made("Application", "cart", "argoproj.io/v1alpha1", spec=whole)
    return {**one, "metadata": {"name": "cart", "namespace": "argocd"}}


def templated(text: str) -> Manifest:
    return external_secret("e", IN_MAIN, target={"name": "e", "template": {"data": {"a": text}}})


def granting(group: str, resource: str) -> Manifest:
    rule = {"apiGroups": [group], "resources": [resource], "verbs": ["get"]}
    return made("Role", "web", "rbac.authorization.k8s.io/v1", rules=[rule])


IN_MAIN = {"kind": "ClusterSecretStore", "name": "main"}


def annotated(one: Manifest, **annotations: str) -> Manifest:
    """In another sync wave, or as a hook."""
    named = {f"argocd.argoproj.io/{key.replace('_', '-')}": value for key, value in annotations.items()}
    return {**one, "metadata": {**one["metadata"], "annotations": named}}


def job(name: str, **container: Any) -> Manifest:
    spec = {"restartPolicy": "Never", "containers": [{"name": "main", "image": f"{name}:1", **container}]}
    return made("Job", name, "batch/v1", spec={"template": {"spec": spec}})


@dataclass(frozen=True)
class Case:
    """A change: files beyond BASE that base has, files that head writes (None removes one), and the new findings."""

    head: Mapping[str, list[Manifest] | None]
    new: tuple[tuple[str, str, str, str], ...] = ()  # rule, severity, application, pointer
    base: Mapping[str, list[Manifest]] = field(default_factory=dict)
    live: Mapping[str, Manifest] = field(default_factory=dict)
    more: Mapping[str, Manifest] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    projects: Sequence[Manifest] = ()


def verdict_on(server: GitServer, clone: Git | None = None, plan: Plan = PLAN) -> Verdict:
    return judge([Source("", server)], GatedChange(REPO, "feature", git=clone), plan)[0]


def path_in(folder: Path, name: str) -> Path:
    made = folder / name
    made.mkdir()
    return made


def run(case: Case, folder: Path, *, with_clone: bool = False, plan: Plan = PLAN) -> Verdict:
    def text(documents: list[Manifest] | None) -> str | None:
        return None if documents is None else "---\n".join(json.dumps(d) + "\n" for d in documents)

    git(folder, "init", "--quiet")
    commit(folder, {name: text(documents) for name, documents in {**BASE, **case.base}.items()})
    served = (
        *("v1/ConfigMap", "policy/v1", "policy/v1/PodDisruptionBudget", "external-secrets.io/v1/ExternalSecret"),
        *("cert-manager.io/v1", "cert-manager.io/v1/Certificate"),
    )
    cluster = {"serverVersion": "v1.33.0", "apiVersions": ["v1", "apps/v1", *served]}
    server = GitServer(folder, case.live, case.more, cluster, settings=case.settings, projects=case.projects)
    git(folder, "switch", "--create", "feature", "--quiet")
    commit(folder, {name: text(documents) for name, documents in case.head.items()})
    return verdict_on(server, Git(folder) if with_clone else None, plan)


CLAIM = made(
    "PersistentVolumeClaim",
    "files",
    spec={"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "2Gi"}}},
)


def sized(claim: Manifest, size: str) -> Manifest:
    return {**claim, "spec": {**claim["spec"], "resources": {"requests": {"storage": size}}}}


def of_role(role: str) -> Manifest:
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": role}
    subject = {"kind": "ServiceAccount", "name": "default", "namespace": "shop"}
    return made("RoleBinding", "web", "rbac.authorization.k8s.io/v1", roleRef=reference, subjects=[subject])


BOUND = {
    "PersistentVolumeClaim/files": {
        "spec": {"volumeName": "pv-1", "storageClassName": "slow"},
        "status": {"phase": "Bound", "capacity": {"storage": "2Gi"}},
    }
}


def storage_class(**fields: Any) -> Manifest:
    return made("StorageClass", "slow", "storage.k8s.io/v1", provisioner="example.com/disks", **fields)


def port_of(protocol: str) -> dict[str, Any]:
    return {"name": protocol.lower(), "port": 53, "protocol": protocol}


def replaced(one: Manifest) -> Manifest:
    options = annotated(one, sync_options="Replace=true")
    return {**options, "metadata": {**options["metadata"], "labels": {"team": "a"}}}


HARMLESS = {
    "a claim that grows in a class that lets it, and one of a class that nothing brings": Case(
        {"web/claim.yaml": [sized(CLAIM, "3Gi")]},
        base={"web/claim.yaml": [CLAIM], "admin/class.yaml": [storage_class(allowVolumeExpansion=True)]},
        live=BOUND,
    ),
    "a second protocol for a port by server-side apply, a new Service with two, and another port": Case(
        {
            "web/s.yaml": [
                annotated(service("web", ports=[port_of("TCP"), port_of("UDP")]), sync_options="ServerSideApply=true"),
                service("cart", ports=[port_of("TCP"), port_of("UDP")]),
                service("admin", ports=[port_of("UDP"), {"name": "tcp", "port": 54}]),
            ]
        },
        base={"web/s.yaml": [service("web", ports=[port_of("UDP")]), service("admin", ports=[port_of("UDP")])]},
    ),
    "a mounted claim that becomes a hook which no sync deletes": Case(
        {"web/files.yaml": [annotated(claim("files"), hook="PreSync", hook_delete_policy="HookFailed")]},
        base={
            "web/files.yaml": [claim("files")],
            "web/deployment.yaml": [with_spec(mounting(deployment("web"), "files"), replicas=1)],
        },
        live={"Deployment/web": {"status": {"replicas": 1}}},
    ),
    "a claim that is replaced with the name of its volume": Case(
        {"web/claim.yaml": [replaced(with_spec(CLAIM, volumeName="pv-1", storageClassName="slow"))]},
        base={"web/claim.yaml": [with_spec(CLAIM, volumeName="pv-1", storageClassName="slow")]},
        live=BOUND,
    ),
    "a claim that grows": Case(
        {"web/claim.yaml": [sized(CLAIM, "3Gi")]},
        base={"web/claim.yaml": [CLAIM]},
        live={"PersistentVolumeClaim/files": {"status": {"capacity": {"storage": "2Gi"}}}},
    ),
    "another role of a binding": Case(
        {"web/binding.yaml": [of_role("writer")]}, base={"web/binding.yaml": [of_role("reader")]}
    ),
    "a new workload": Case(
        {
            "web/extra.yaml": [
                deployment("extra"),
                config("extra"),
                made("Service", "extra", spec={"ports": [{"port": 80}]}),
            ]
        }
    ),
    "a workload that goes with all it names": Case(
        {"web/x.yaml": None}, base={"web/x.yaml": [deployment("x"), config("x")]}
    ),
    "another image": Case({"web/deployment.yaml": [deployment("web", image="web:2")]}),
    "other data": Case({"web/config.yaml": [{**config("web"), "data": {"MODE": "slow"}}]}),
    "a file that moves": Case({"web/config.yaml": None, "web/other.yaml": [config("web")]}),
    "a ConfigMap renamed with its reference": Case(
        {
            "web/config.yaml": [config("web2")],
            "web/deployment.yaml": [deployment("web", envFrom=[{"configMapRef": {"name": "web2-config"}}])],
        }
    ),
    "kinds that take their time": Case(
        {
            "web/more.yaml": [
                made("Service", "lb", spec={"type": "LoadBalancer", "ports": [{"port": 80}]}),
                made(
                    "PersistentVolumeClaim",
                    "p",
                    spec={"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
                ),
                made(
                    "Ingress",
                    "i",
                    "networking.k8s.io/v1",
                    spec={"defaultBackend": {"service": {"name": "web", "port": {"number": 80}}}},
                ),
                made(
                    "Job",
                    "j",
                    "batch/v1",
                    spec={
                        "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": "b:1"}]}}
                    },
                ),
            ]
        }
    ),
    "an autoscaler and no replicas": Case(
        {
            "web/hpa.yaml": [SCALER],
            "web/deployment.yaml": [without_replicas(deployment("web", resources={"requests": {"cpu": "1"}}))],
        }
    ),
    "a served API": Case({"web/pdb.yaml": [made("PodDisruptionBudget", "p", "policy/v1", spec=BUDGET)]}),
    "an ExternalSecret with its store": Case(
        {"web/es.yaml": [external_secret("e", IN_MAIN)]},
        base={"admin/store.yaml": [STORE]},
        live={"ClusterSecretStore/main": READY},
    ),
    "a node port and a host that move to another application": Case(
        {"web/s.yaml": None, "cart/s.yaml": [node_port("cart", 30080), service("c2"), ingress("c2")]},
        base={"web/s.yaml": [node_port("web", 30080), service("w2"), ingress("w2")]},
    ),
    "a user, a role and a template that work": Case(
        {
            "web/deployment.yaml": [deployment("web", securityContext={"runAsNonRoot": True, "runAsUser": 1000})],
            "web/role.yaml": [granting("apps", "deployments")],
            "web/es.yaml": [templated("{{ if .a }}{{ .a | b64dec }}{{ end }}")],
        },
        base={"admin/store.yaml": [STORE]},
        live={"ClusterSecretStore/main": READY},
    ),
    "another database in place of one": Case(
        {"web/db.yaml": [stateful("queue", "queue:1")]}, base={"web/db.yaml": [stateful("db")]}
    ),
    "pods within a LimitRange and a quota": Case(
        {"web/deployment.yaml": [deployment("web", resources={"limits": {"memory": "1Gi"}})]},
        base={
            "admin/range.yaml": [bounded(max={"memory": "1Gi"}, default={"memory": "512Mi"})],
            "admin/quota.yaml": [made("ResourceQuota", "compute", spec={"hard": {"limits.memory": "8Gi"}})],
        },
    ),
    "waves and a hook in an order that works": Case(
        {
            "web/new.yaml": [
                annotated(config("new"), sync_wave="-1"),
                deployment("new"),
                annotated(job("announce", envFrom=[{"configMapRef": {"name": "new-config"}}]), hook="PostSync"),
            ]
        }
    ),
    "an Ingress and a binding of what is there": Case(
        {
            "web/i.yaml": [
                {
                    **ingress("web"),
                    "metadata": {"name": "web", "annotations": {"cert-manager.io/cluster-issuer": "main"}},
                },
                service("web"),
                binding("web", "shop", "web"),
                binding("other", "other", "made-elsewhere"),
            ],
        },
        base={"admin/issuer.yaml": [ISSUER, CLASS], "web/account.yaml": [made("ServiceAccount", "web")]},
    ),
    "a budget with room, and one over pods of an operator": Case(
        {"web/budget.yaml": [budget("web", minAvailable=1), budget("made-elsewhere", maxUnavailable=0)]},
        base={"web/extra.yaml": [made("Cluster", "made-elsewhere", "databases.example.org/v1", spec={"instances": 1})]},
    ),
    "another line of Argo CD's own policy": Case(
        {"admin/rbac.yaml": [policy("p, role:dev, applications, sync, shop/*, allow\ng, someone, role:dev")]},
        base={"admin/rbac.yaml": [policy("p, role:dev, applications, sync, shop/*, allow")]},
    ),
    "pods that a quota has room for": Case(
        {"web/deployment.yaml": [with_spec(deployment("web"), replicas=4)]},
        base={"admin/quota.yaml": [made("ResourceQuota", "few", spec={"hard": {"pods": "10"}})]},
        live={"ResourceQuota/few": {"status": {"used": {"pods": "6"}}}},
    ),
    "a hook that changes and stays right": Case(
        {
            "web/migrate.yaml": [
                annotated(job("migrate", envFrom=[{"configMapRef": {"name": "web-config"}}]), hook="PreSync")
            ]
        },
        base={"web/migrate.yaml": [annotated(job("migrate"), hook="PreSync")]},
    ),
    "a wave for what a running workload reads": Case({"web/config.yaml": [annotated(config("web"), sync_wave="1")]}),
    "a namespaced object of a name that another namespace has": Case(
        {
            "web/config.yaml": [
                config("web"),
                {**config("cart"), "metadata": {"name": "cart-config", "namespace": "other"}},
            ]
        }
    ),
}
FAULTY = {
    "a ConfigMap behind the workload that reads it": Case(
        {"web/new.yaml": [annotated(config("new"), sync_wave="1"), deployment("new")]},
        (("sync-deadlock", "error", "web", "/metadata/annotations/argocd.argoproj.io~1sync-wave"),),
    ),
    "a PreSync hook that needs an object of the sync": Case(
        {
            "web/new.yaml": [
                config("new"),
                annotated(job("migrate", envFrom=[{"configMapRef": {"name": "new-config"}}]), hook="PreSync"),
            ]
        },
        (("sync-deadlock", "error", "web", ""),),
    ),
    "a running workload that will read what a PostSync hook brings": Case(
        {
            "web/late.yaml": [annotated(config("late"), hook="PostSync")],
            "web/deployment.yaml": [deployment("web", envFrom=[{"configMapRef": {"name": "late-config"}}])],
        },
        (("sync-deadlock", "error", "web", ""),),
    ),
    "an autoscaler over replicas": Case(
        {"web/hpa.yaml": [SCALER]},
        (("autoscaler-replicas", "warning", "web", "/spec/replicas"),),
        base={"web/deployment.yaml": [deployment("web", resources={"requests": {"cpu": "1"}})]},
    ),
    "replicas under an autoscaler": Case(
        {"web/deployment.yaml": [deployment("web")]},
        (("autoscaler-replicas", "warning", "web", "/spec/replicas"),),
        base={"web/hpa.yaml": [SCALER], "web/deployment.yaml": [without_replicas(deployment("web"))]},
    ),
    "an API that is gone": Case(
        {"web/pdb.yaml": [made("PodDisruptionBudget", "p", "policy/v1beta1", spec=BUDGET)]},
        (("removed-api", "error", "web", "/apiVersion"),),
    ),
    "a kind that nobody serves": Case(
        {"web/w.yaml": [made("Widget", "w", "example.com/v1", spec={"size": 1})]},
        (("crd-missing", "error", "web", "/kind"),),
    ),
    "one variable twice": Case(
        {"web/deployment.yaml": [deployment("web", env=[{"name": "A", "value": "1"}, {"name": "A", "value": "2"}])]},
        (("duplicate-env", "error", "web", "/spec/template/spec/containers/0/env/1"),),
    ),
    "one object twice": Case({"web/again.yaml": [config("web")]}, (("repeated-resource", "warning", "web", ""),)),
    "an object that another application has": Case(
        {"web/role.yaml": [ROLE]}, (("shared-resource", "error", "admin", ""),)
    ),
    "a third claimant of a shared object": Case(
        {"web/role.yaml": [ROLE]}, (("shared-resource", "error", "admin", ""),), base={"cart/role.yaml": [ROLE]}
    ),
    "an owner that lets a shared object go": Case(
        {"admin/role.yaml": None}, (("shared-resource-pruned", "error", "admin", ""),), base={"cart/role.yaml": [ROLE]}
    ),
    "a ConfigMap under its workload": Case(
        {"web/config.yaml": None}, (("pruned-while-referenced", "error", "web", ""),)
    ),
    "a store under ExternalSecrets of others": Case(
        {"admin/store.yaml": None},
        (("pruned-while-referenced", "error", "admin", ""),),
        base={"admin/store.yaml": [STORE], "web/es.yaml": [external_secret("e", IN_MAIN)]},
        live={"ClusterSecretStore/main": READY, "ExternalSecret/e": READY},
    ),
    "an issuer under certificates of others": Case(
        {"admin/issuer.yaml": None},
        (("pruned-while-referenced", "error", "admin", ""),),
        base={"admin/issuer.yaml": [ISSUER], "web/certificate.yaml": [CERTIFICATE]},
    ),
    "a store without its kind": Case(
        {"web/es.yaml": [external_secret("e", {"name": "main"})]},
        (("external-secret-sync-error", "error", "web", "/spec/secretStoreRef/kind"),),
        base={"admin/store.yaml": [STORE]},
        live={"ClusterSecretStore/main": READY},
    ),
    "a store that is nowhere": Case(
        {"web/es.yaml": [external_secret("e", {"kind": "ClusterSecretStore", "name": "mian"})]},
        (("external-secret-sync-error", "warning", "web", "/spec/secretStoreRef/name"),),
        base={"admin/store.yaml": [STORE]},
        live={"ClusterSecretStore/main": READY},
    ),
    "a second writer of a Secret": Case(
        {"cart/es.yaml": [external_secret("f", IN_MAIN, target={"name": "e"})]},
        (("external-secret-duplicate-target", "error", "cart", "/spec/target/name"),),
        base={"admin/store.yaml": [STORE], "web/es.yaml": [external_secret("e", IN_MAIN)]},
        live={"ClusterSecretStore/main": READY, "ExternalSecret/e": READY},
    ),
    "a selector that cannot change": Case(
        {
            "web/deployment.yaml": [
                {
                    **deployment("web"),
                    "spec": {**deployment("web")["spec"], "selector": {"matchLabels": {"app": "shop"}}},
                }
            ]
        },
        (("immutable-field", "error", "web", "/spec/selector"),),
    ),
    "a label more in a selector": Case(
        {
            "web/deployment.yaml": [
                {
                    **LABELLED,
                    "spec": {**LABELLED["spec"], "selector": {"matchLabels": {"app": "web", "tier": "front"}}},
                }
            ]
        },
        (("immutable-field", "error", "web", "/spec/selector"),),
        base={"web/deployment.yaml": [LABELLED]},
        live={"Deployment/web": as_applied(LABELLED, "web")},
    ),
    "a selector that leaves Git": Case(
        {"web/deployment.yaml": [{**LABELLED, "spec": {k: v for k, v in LABELLED["spec"].items() if k != "selector"}}]},
        (("immutable-field", "error", "web", "/spec/selector"),),
        base={"web/deployment.yaml": [LABELLED]},
        live={"Deployment/web": as_applied(LABELLED, "web")},
    ),
    "a whole spec that leaves Git": Case(
        {"web/deployment.yaml": [{k: v for k, v in LABELLED.items() if k != "spec"}]},
        (("sync-failed", "error", "web", "/spec/selector"),),
        base={"web/deployment.yaml": [LABELLED]},
        live={"Deployment/web": as_applied(LABELLED, "web")},
    ),
    "a request above its limit": Case(
        {
            "web/deployment.yaml": [
                deployment("web", resources={"requests": {"memory": "2Gi"}, "limits": {"memory": "1Gi"}})
            ]
        },
        (("sync-failed", "error", "web", "/spec/template/spec/containers/0/resources/requests"),),
    ),
    "a mount without its volume": Case(
        {"web/deployment.yaml": [deployment("web", volumeMounts=[{"name": "cache", "mountPath": "/cache"}])]},
        (("sync-failed", "error", "web", "/spec/template/spec/containers/0/volumeMounts/0/name"),),
    ),
    "a port name that no container has": Case(
        {
            "web/deployment.yaml": [
                deployment(
                    "web",
                    ports=[{"name": "http", "containerPort": 8080}],
                    readinessProbe={"httpGet": {"path": "/", "port": "admin"}},
                )
            ]
        },
        (
            (
                "probe-fails",
                "error",
                "web",
                "/spec/template/spec/containers/0/readinessProbe/httpGet/port",
            ),
        ),
    ),
    "another content of a ConfigMap that is marked immutable": Case(
        {"web/fixed.yaml": [{**made("ConfigMap", "fixed", data={"a": "2"}), "immutable": True}]},
        (("immutable-field", "error", "web", "/data"),),
        base={"web/fixed.yaml": [{**made("ConfigMap", "fixed", data={"a": "1"}), "immutable": True}]},
    ),
    "a custom resource that its definition refuses": Case(
        {"web/tide.yaml": [made("Tide", "low", "sea.example/v1", spec={"height": "small", "way": "round"})]},
        (("sync-failed", "error", "web", "/spec/height"),),
        base={
            "web/crd.yaml": [TIDES],
            "web/tide.yaml": [made("Tide", "low", "sea.example/v1", spec={"height": 1, "way": "in"})],
        },
    ),
    "a ConfigMap for client-side apply that is too long": Case(
        {"web/long.yaml": [made("ConfigMap", "long", data={"a": "x" * 300_000})]},
        (("annotation-too-long", "error", "web", "/metadata/annotations"),),
    ),
    "a quantity in bytes": Case(
        {"web/deployment.yaml": [deployment("web", resources={"limits": {"memory": "1GB"}})]},
        (("sync-failed", "error", "web", "/spec/template/spec/containers/0/resources/limits/memory"),),
    ),
    "a name that no object may have": Case(
        {"web/more.yaml": [made("ConfigMap", "Web_More", data={})]},
        (("sync-failed", "error", "web", "/metadata/name"),),
    ),
    "a field of another kind": Case(
        {"web/agent.yaml": [{**deployment("web"), "kind": "DaemonSet", "metadata": {"name": "agent"}}]},
        (("schema-field-unknown", "warning", "web", "/spec/replicas"),),
    ),
    "a wait that outlasts the default deadline": Case(
        {"web/deployment.yaml": [{**deployment("web"), "spec": {**deployment("web")["spec"], "minReadySeconds": 600}}]},
        (("sync-failed", "error", "web", "/spec/progressDeadlineSeconds"),),
    ),
    "an image that nothing filled in": Case(
        {"web/deployment.yaml": [deployment("web", image="web:<no value>")]},
        (("image-name-invalid", "error", "web", "/spec/template/spec/containers/0/image"),),
    ),
    "a misspelt ConfigMap": Case(
        {"web/deployment.yaml": [deployment("web", envFrom=[{"configMapRef": {"name": "web-confg"}}])]},
        (("target-missing", "error", "web", "/spec/template/spec/containers/0/envFrom/0/configMapRef/name"),),
    ),
    "a class that almost exists, an issuer of the other scope and a certificate of almost that name": Case(
        {
            "web/i.yaml": [
                {
                    **ingress("web"),
                    "metadata": {"name": "web", "annotations": {"cert-manager.io/issuer": "main"}},
                    "spec": {**ingress("web")["spec"], "ingressClassName": "ngnix"},
                },
                {
                    **ingress("mail", "mail.example.com"),
                    "spec": {"tls": [{"secretName": "web-tsl"}], **ingress("web")["spec"]},
                },
                service("web"),
            ],
        },
        (
            ("target-missing", "error", "web", "/spec/tls/0/secretName"),
            ("target-missing", "error", "web", "/metadata/annotations/cert-manager.io~1issuer"),
            ("target-missing", "error", "web", "/spec/ingressClassName"),
        ),
        base={"admin/issuer.yaml": [ISSUER, CLASS], "web/certificate.yaml": [CERTIFICATE]},
    ),
    "a binding for an account of another namespace": Case(
        {"web/binding.yaml": [binding("web", "default", "web")]},
        (("target-missing", "warning", "web", "/subjects/0/name"),),
        base={"web/account.yaml": [made("ServiceAccount", "web")]},
    ),
    "a budget that demands all pods": Case(
        {"web/budget.yaml": [budget("web", minAvailable=2)]},
        (("pdb-blocks", "warning", "web", "/spec/minAvailable"),),
    ),
    "fewer pods than a budget needs to let one go": Case(
        {"web/deployment.yaml": [with_spec(deployment("web"), replicas=1)]},
        (("pdb-blocks", "warning", "web", "/spec/minAvailable"),),
        base={"web/budget.yaml": [budget("web", minAvailable=1)]},
    ),
    "a line of Argo CD's own policy that it cannot read": Case(
        {"admin/rbac.yaml": [policy("p, role:dev, applications, sync, shop/*")]},
        (("rbac-policy-invalid", "error", "admin", "/data/policy.csv"),),
        base={"admin/rbac.yaml": [policy("p, role:dev, applications, sync, shop/*, allow")]},
    ),
    "a store that shuts a namespace out": Case(
        {"admin/store.yaml": [with_spec(STORE, conditions=[{"namespaces": ["other"]}])]},
        (("secret-store-shuts-out", "error", "admin", "/spec/conditions"),),
        base={"admin/store.yaml": [STORE], "web/es.yaml": [external_secret("e", IN_MAIN)]},
        live={"ClusterSecretStore/main": READY, "ExternalSecret/e": READY},
    ),
    "a level that refuses the pods of other applications": Case(
        {"ground/namespace.yaml": [guarded("restricted")]},
        (("pod-security-refused", "error", "ground", "/metadata/labels/pod-security.kubernetes.io~1enforce"),),
        base={"ground/namespace.yaml": [guarded("baseline")]},
    ),
    "a further label in a selector": Case(
        {"web/deployment.yaml": [labelled(deployment("web"), team="a")]},
        (("immutable-field", "error", "web", "/spec/selector"),),
    ),
    "a key that the ExternalSecret of another application never writes": Case(
        {"web/deployment.yaml": [deployment("web", env=[key_of("e", "b")])]},
        (
            (
                "external-secret-key-not-written",
                "error",
                "web",
                "/spec/template/spec/containers/0/env/0/valueFrom/secretKeyRef/key",
            ),
        ),
        base={"admin/store.yaml": [STORE], "cart/es.yaml": [external_secret("e", IN_MAIN)]},
        live={"ClusterSecretStore/main": READY, "ExternalSecret/e": READY},
    ),
    "a hook that reads a key which is never written": Case(
        {"web/migrate.yaml": [annotated(job("migrate", env=[key_of("e", "b")]), hook="PreSync")]},
        (
            (
                "external-secret-key-not-written",
                "error",
                "web",
                "/spec/template/spec/containers/0/env/0/valueFrom/secretKeyRef/key",
            ),
        ),
        base={"admin/store.yaml": [STORE], "cart/es.yaml": [external_secret("e", IN_MAIN)]},
        live={"ClusterSecretStore/main": READY, "ExternalSecret/e": READY},
    ),
    "a custom resource that lacks what a definition of another application requires": Case(
        {"web/tide.yaml": [made("Tide", "low", "sea.example/v1", spec={"way": "in"})]},
        (("sync-failed", "error", "web", "/spec/height"),),
        base={"admin/crd.yaml": [requiring(TIDES, "height")]},
    ),
    "an account that a binding does not follow": Case(
        {
            "web/deployment.yaml": [running_as(deployment("web"), "new")],
            "web/new.yaml": [made("ServiceAccount", "new")],
        },
        (("rights-left-behind", "error", "web", "/spec/template/spec/serviceAccountName"),),
        base={
            "web/deployment.yaml": [running_as(deployment("web"), "web")],
            "web/account.yaml": [made("ServiceAccount", "web"), binding("web", "shop", "web")],
        },
    ),
    "faults of a new hook": Case(
        {
            "web/migrate.yaml": [
                annotated(
                    job("migrate", comand=["a"], envFrom=[{"configMapRef": {"name": "web-confg"}}]), hook="PreSync"
                ),
                annotated(job("announce", image="web:<no value>"), hook="PostSync"),
            ]
        },
        (
            ("image-name-invalid", "error", "web", "/spec/template/spec/containers/0/image"),
            ("schema-field-unknown", "warning", "web", "/spec/template/spec/containers/0/comand"),
            ("target-missing", "error", "web", "/spec/template/spec/containers/0/envFrom/0/configMapRef/name"),
        ),
    ),
    "faults that an edit brings into a hook": Case(
        {
            "web/migrate.yaml": [
                annotated(job("migrate", volumeMounts=[{"name": "x", "mountPath": "/x"}]), hook="PreSync")
            ]
        },
        (("sync-failed", "error", "web", "/spec/template/spec/containers/0/volumeMounts/0/name"),),
        base={"web/migrate.yaml": [annotated(job("migrate"), hook="PreSync")]},
    ),
    "a type that makes a hook one of no phase": Case(
        {"web/migrate.yaml": [annotated(job("migrate"), hook="PreSnyc")]},
        (("unknown-option", "warning", "web", "/metadata/annotations/argocd.argoproj.io~1hook"),),
        base={"web/migrate.yaml": [annotated(job("migrate"), hook="PreSync")]},
    ),
    "an ExternalSecret that comes to write the Secret of another one": Case(
        {"cart/es.yaml": [external_secret("f", IN_MAIN, target={"name": "e"})]},
        (("external-secret-duplicate-target", "error", "cart", "/spec/target/name"),),
        base={
            "admin/store.yaml": [STORE],
            "web/es.yaml": [external_secret("e", IN_MAIN)],
            "cart/es.yaml": [external_secret("f", IN_MAIN)],
        },
        live={"ClusterSecretStore/main": READY, "ExternalSecret/e": READY, "ExternalSecret/f": READY},
    ),
    "a hook whose pods the namespace of another application refuses": Case(
        {
            "web/migrate.yaml": [
                annotated(job("migrate", securityContext={"privileged": True}), hook="PreSync"),
                annotated(job("large", resources={"limits": {"memory": "8Gi"}}), hook="PreSync"),
            ]
        },
        (
            ("pod-limits-refused", "error", "web", "/spec/template/spec/containers/0/resources/limits/memory"),
            ("pod-security-refused", "error", "web", "/spec/template/spec"),
        ),
        base={"admin/namespace.yaml": [guarded("baseline"), bounded(max={"memory": "4Gi"})]},
    ),
    "an autoscaler that names another workload, which is nowhere": Case(
        {"web/hpa.yaml": [with_spec(SCALER, scaleTargetRef={**SCALER["spec"]["scaleTargetRef"], "name": "web-app"})]},
        (("target-missing", "error", "web", "/spec/scaleTargetRef/name"),),
        base={
            "web/hpa.yaml": [SCALER],
            "web/deployment.yaml": [without_replicas(deployment("web", resources={"requests": {"cpu": "1"}}))],
        },
    ),
    "a size below nothing": Case(
        {"web/deployment.yaml": [with_scratch(deployment("web"), "-1Gi")]},
        (("sync-failed", "error", "web", "/spec/template/spec/volumes/0/emptyDir/sizeLimit"),),
    ),
    "a second certificate for a Secret": Case(
        {"cart/certificate.yaml": [with_name(CERTIFICATE, "cart")]},
        (("certificate-secret-shared", "error", "cart", "/spec/secretName"),),
        base={"admin/issuer.yaml": [ISSUER], "web/certificate.yaml": [CERTIFICATE]},
    ),
    "more pods than a quota of another application has room for": Case(
        {"web/deployment.yaml": [with_spec(deployment("web"), replicas=20)]},
        (("quota-exceeded", "error", "web", "/spec/replicas"),),
        base={"admin/quota.yaml": [made("ResourceQuota", "few", spec={"hard": {"pods": "10"}})]},
        live={"ResourceQuota/few": {"status": {"used": {"pods": "6"}}}},
    ),
    "a load balancer that a quota forbids": Case(
        {"web/door.yaml": [service("web", type="LoadBalancer")]},
        (("quota-exceeded", "error", "web", ""),),
        base={"admin/quota.yaml": [made("ResourceQuota", "few", spec={"hard": {"services.loadbalancers": "0"}})]},
    ),
    "a second protocol for a port of a Service": Case(
        {"web/s.yaml": [service("web", ports=[port_of("TCP"), port_of("UDP")])]},
        (("duplicate-env", "error", "web", "/spec/ports/0"),),
        base={"web/s.yaml": [service("web", ports=[port_of("UDP")])]},
    ),
    "a claim that becomes a hook while pods mount it": Case(
        {"web/files.yaml": [annotated(claim("files"), hook="PreSync")]},
        (("sync-deadlock", "error", "web", "/metadata/annotations/argocd.argoproj.io~1hook"),),
        base={
            "web/files.yaml": [claim("files")],
            "web/deployment.yaml": [with_spec(mounting(deployment("web"), "files"), replicas=1)],
        },
        live={"Deployment/web": {"status": {"replicas": 1}}},
    ),
    "two pods for a volume of one node": Case(
        {"web/files.yaml": [claim("files"), mounting(deployment("web"), "files")], "web/deployment.yaml": None},
        (("claim-one-node", "warning", "web", "/spec/template/spec/volumes/0/persistentVolumeClaim/claimName"),),
        base={"web/files.yaml": [claim("files")]},
    ),
    "a node port outside of the range": Case(
        {"web/s.yaml": [node_port("web", 8080)]},
        (("node-port-taken", "error", "web", "/spec/ports/0/nodePort"),),
    ),
    "pods that the namespace of another application refuses": Case(
        {"web/deployment.yaml": [deployment("web", securityContext={"privileged": True})]},
        (("pod-security-refused", "error", "web", "/spec/template/spec"),),
        base={"admin/namespace.yaml": [guarded("baseline")]},
    ),
    "a level that refuses the pods": Case(
        {"admin/namespace.yaml": [guarded("restricted")]},
        (
            ("pod-security-refused", "error", "admin", "/metadata/labels/pod-security.kubernetes.io~1enforce"),
            ("pod-security-refused", "error", "admin", "/spec/template/spec"),
        ),
        base={"admin/namespace.yaml": [guarded("baseline")]},
    ),
    "pods beyond the LimitRange of another application": Case(
        {"web/deployment.yaml": [deployment("web", resources={"limits": {"memory": "4Gi"}})]},
        (("pod-limits-refused", "error", "web", "/spec/template/spec/containers/0/resources/limits/memory"),),
        base={"admin/range.yaml": [bounded(max={"memory": "1Gi"})]},
    ),
    "a quota that pods of another application do not answer": Case(
        {"cart/quota.yaml": [made("ResourceQuota", "compute", spec={"hard": {"limits.memory": "8Gi"}})]},
        (
            ("pod-limits-refused", "error", "cart", ""),
            ("pod-limits-refused", "error", "cart", "/spec/template/spec/containers/0"),
        ),
    ),
    "an autoscaler on a percentage of what no container requests": Case(
        {"web/hpa.yaml": [SCALER], "web/deployment.yaml": [without_replicas(deployment("web"))]},
        (("hpa-metrics-unavailable", "warning", "web", "/spec/metrics/0/resource"),),
    ),
    "a StatefulSet under another name": Case(
        {"web/db.yaml": [stateful("shop-db")]},
        (("volumes-left-behind", "error", "web", "/metadata/name"),),
        base={"web/db.yaml": [stateful("db")]},
    ),
    "a node port of a Service of another application": Case(
        {"cart/s.yaml": [node_port("cart", 30080)]},
        (("node-port-taken", "error", "cart", "/spec/ports/0/nodePort"),),
        base={"web/s.yaml": [node_port("web", 30080)]},
    ),
    "a host and path of an Ingress of another application": Case(
        {"cart/i.yaml": [ingress("cart"), service("cart")]},
        (("ingress-path-taken", "error", "cart", "/spec/rules/0/http/paths/0/path"),),
        base={"web/i.yaml": [ingress("web"), service("web")]},
    ),
    "a user that the pods forbid": Case(
        {"web/deployment.yaml": [deployment("web", securityContext={"runAsNonRoot": True, "runAsUser": 0})]},
        (
            (
                "root-user-refused",
                "error",
                "web",
                "/spec/template/spec/containers/0/securityContext/runAsUser",
            ),
        ),
    ),
    "a role that names a resource under another API group": Case(
        {"web/role.yaml": [granting("", "deployments")]},
        (("rbac-wrong-group", "warning", "web", "/rules/0/resources/0"),),
    ),
    "a template that calls what no engine knows": Case(
        {"web/es.yaml": [templated("{{ .a | b64decc }}")]},
        (("external-secret-sync-error", "error", "web", "/spec/target/template/data/a"),),
        base={"admin/store.yaml": [STORE]},
        live={"ClusterSecretStore/main": READY},
    ),
    "an ExternalSecret that fetches nothing": Case(
        {"web/es.yaml": [external_secret("e", IN_MAIN, data=[])]},
        (("sync-failed", "error", "web", "/spec/data"),),
        base={"admin/store.yaml": [STORE]},
        live={"ClusterSecretStore/main": READY},
    ),
    "a claim that grows in a class of another application that lets no volume grow": Case(
        {"web/claim.yaml": [sized(CLAIM, "3Gi")]},
        (("sync-failed", "error", "web", "/spec/resources/requests/storage"),),
        base={"web/claim.yaml": [CLAIM], "admin/class.yaml": [storage_class()]},
        live=BOUND,
    ),
    "a bound claim that is replaced without the name of its volume": Case(
        {"web/claim.yaml": [replaced(CLAIM)]},
        (("immutable-field", "error", "web", "/spec/volumeName"),),
        base={"web/claim.yaml": [CLAIM]},
        live=BOUND,
    ),
    "a claim below the size of its volume": Case(
        {"web/claim.yaml": [sized(CLAIM, "1Gi")]},
        (("immutable-field", "error", "web", "/spec/resources/requests/storage"),),
        base={"web/claim.yaml": [CLAIM]},
        live={"PersistentVolumeClaim/files": {"status": {"capacity": {"storage": "2Gi"}}}},
    ),
    "another role of a binding that is replaced": Case(
        {"web/binding.yaml": [of_role("writer")]},
        (("immutable-field", "error", "web", "/roleRef"),),
        base={"web/binding.yaml": [of_role("reader")]},
        more={"web": {"spec": {"syncPolicy": {"automated": {}, "syncOptions": ["Replace=true"]}}}},
    ),
    "an empty image": Case(
        {"web/deployment.yaml": [deployment("web", image="")]},
        (("sync-failed", "error", "web", "/spec/template/spec/containers/0/image"),),
    ),
    "a version of a definition that objects are stored in": Case(
        {"admin/crd.yaml": [of_version(TIDES, "v2")]},
        (("sync-failed", "error", "admin", "/status/storedVersions/0"),),
        base={"admin/crd.yaml": [TIDES]},
        live={"CustomResourceDefinition/tides.sea.example": {"status": {"storedVersions": ["v1"]}}},
    ),
    "an ignore rule that loses its object": Case(
        {"web/deployment.yaml": [deployment("web2", envFrom=[{"configMapRef": {"name": "web-config"}}])]},
        (("ignore-rule-dead", "warning", "web", "/spec/replicas"),),
        more={
            "web": {
                "spec": {
                    "ignoreDifferences": [
                        {"group": "apps", "kind": "Deployment", "name": "web", "jsonPointers": ["/spec/replicas"]}
                    ]
                }
            }
        },
    ),
}


RULED = json.loads(json.dumps(TIDES))
RULED["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["x-kubernetes-validations"] = [
    {"rule": "self.height < 9", "message": "too high"}
]
ADMISSION = "admissionregistration.k8s.io/v1"


def admission(resource: str, only: str) -> list[Manifest]:
    """A policy on a kind, bound to one namespace."""
    rule = {"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["UPDATE"], "resources": [resource]}
    checks = [{"expression": "object.spec.replicas < 4", "message": "three at most"}]
    constraints = {"matchConstraints": {"resourceRules": [rule]}, "validations": checks}
    selector = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": only}}}
    bound = {"policyName": "few", "validationActions": ["Deny"], "matchResources": selector}
    return [
        made("ValidatingAdmissionPolicy", "few", ADMISSION, spec=constraints),
        made("ValidatingAdmissionPolicyBinding", "few", ADMISSION, spec=bound),
    ]


def reading(secret: str) -> Manifest:
    return deployment("web", env=[key_of(secret, "a")])


UNCHECKED: Mapping[str, tuple[Case, tuple[str, ...]]] = {
    "names that nothing brings": (
        Case({"web/deployment.yaml": [running_as(reading("till"), "till")]}),
        (
            "whether Secret shop/till is there, which Deployment shop/web names: no application brings it",
            "whether ServiceAccount shop/till is there, which Deployment shop/web names: no application brings it",
        ),
    ),
    "names that an application brings, an operator makes or a workload reads today": (
        Case(
            {
                "web/deployment.yaml": [running_as(reading("e"), "web")],
                "web/more.yaml": [{**reading("old"), "metadata": {"name": "more"}}],
            },
            base={
                "web/account.yaml": [made("ServiceAccount", "web"), {**reading("old"), "metadata": {"name": "old"}}],
                "admin/es.yaml": [external_secret("e", IN_MAIN), STORE],
            },
        ),
        (),
    ),
    "a name that another namespace has": (
        Case(
            {"web/deployment.yaml": [running_as(reading("till"), "till")]},
            base={
                "admin/far.yaml": [
                    placed(made("ServiceAccount", "till"), "far"),
                    placed(external_secret("till", IN_MAIN), "far"),
                    STORE,
                ]
            },
        ),
        (
            "whether Secret shop/till is there, which Deployment shop/web names: no application brings it; namespace far has ExternalSecret till",
            "whether ServiceAccount shop/till is there, which Deployment shop/web names: no application brings it; namespace far has ServiceAccount till",
        ),
    ),
    "a class that a live claim has, and the project that is always there": (
        Case(
            {
                "web/more.yaml": [with_class(claim("more"), "fast")],
                "web/app.yaml": [with_name(cart_application(), "more")],
            },
            base={"web/claim.yaml": [with_class(claim("files"), "fast")]},
        ),
        (),
    ),
    "a label of nodes": (
        Case({"web/deployment.yaml": [on_nodes(deployment("web"), disk="nvme")]}),
        ("whether a node has the label disk=nvme, which Deployment shop/web asks for",),
    ),
    "a label of nodes that another workload asks for": (
        Case(
            {"web/deployment.yaml": [on_nodes(deployment("web"), disk="nvme", **{"kubernetes.io/os": "linux"})]},
            base={"web/more.yaml": [on_nodes(deployment("more"), disk="nvme")], "web/c.yaml": [config("more")]},
        ),
        (),
    ),
    "a namespace in which nothing is": (
        Case({"web/far.yaml": [{**config("far"), "metadata": {"name": "far", "namespace": "far"}}]}),
        (
            "whether Namespace far is there, in which ConfigMap far/far comes: no application has it, or had an object in it",
        ),
    ),
    "a namespace in which another application is to be": (
        Case(
            {"web/far.yaml": [{**config("far"), "metadata": {"name": "far", "namespace": "far"}}]},
            more={"cart": {"spec": {"destination": {"server": IN_CLUSTER, "namespace": "far"}}}},
        ),
        (),
    ),
    "rules of a definition": (
        Case(
            {"web/tide.yaml": [made("Tide", "low", "sea.example/v1", spec={"height": 9})]},
            base={"web/crd.yaml": [RULED]},
        ),
        ("whether Tide shop/low keeps the rules of CustomResourceDefinition tides.sea.example: “too high”",),
    ),
    "a definition without rules": (
        Case(
            {"web/tide.yaml": [made("Tide", "low", "sea.example/v1", spec={"height": 9})]},
            base={"web/crd.yaml": [TIDES]},
        ),
        (),
    ),
    "a policy on the kind": (
        Case(
            {"web/deployment.yaml": [with_spec(deployment("web"), replicas=4)]},
            base={"admin/p.yaml": admission("deployments", "shop")},
        ),
        ("whether Deployment shop/web keeps ValidatingAdmissionPolicy few: “three at most”",),
    ),
    "policies on another kind or namespace": (
        Case(
            {"web/deployment.yaml": [with_spec(deployment("web"), replicas=4)]},
            base={"admin/p.yaml": admission("daemonsets", "shop"), "cart/p.yaml": admission("deployments", "other")},
        ),
        (),
    ),
}
"""Changes of which only the cluster knows the end, with what the report says of them."""


@pytest.mark.parametrize(("case", "said"), UNCHECKED.values(), ids=UNCHECKED)
def test_what_only_the_cluster_can_answer_is_named(case: Case, said: tuple[str, ...], tmp_path: Path) -> None:
    assert run(case, tmp_path).unchecked == said


@pytest.mark.parametrize(("with_clone", "name", "said"), [(True, "fast", 0), (True, "slow", 1), (False, "fast", 1)])
def test_a_class_that_files_of_base_name_is_no_news(with_clone: bool, name: str, said: int, tmp_path: Path) -> None:
    case = Case({"web/more.yaml": [with_class(claim("more"), name)]}, base={"notes.yaml": [{"classes": ["fast"]}]})
    assert len(run(case, tmp_path, with_clone=with_clone).unchecked) == said


@pytest.mark.parametrize("case", HARMLESS.values(), ids=HARMLESS)
def test_a_harmless_change_is_silent(case: Case, tmp_path: Path) -> None:
    verdict = run(case, tmp_path)
    assert [(f.rule, f.severity, f.message) for f in verdict.new if f.severity != "info"] == []
    assert verdict.failures + verdict.head.failures == ()


@pytest.mark.parametrize("case", FAULTY.values(), ids=FAULTY)
def test_a_fault_that_a_change_brings_is_told(case: Case, tmp_path: Path) -> None:
    verdict = run(case, tmp_path)
    told = [(f.rule, f.severity, f.at.app.name, f.at.pointer) for f in verdict.new if f.severity != "info"]
    assert told == list(case.new)
    assert verdict.failures + verdict.head.failures == ()
    assert {j.ref.name for j in verdict.apps} == {name.partition("/")[0] for name in case.head}


def test_a_project_that_its_parent_narrows_refuses_its_applications(tmp_path: Path) -> None:
    """Also one whose own render differs in nothing but a drawn value."""

    def project(namespace: str) -> Manifest:
        permits = {"sourceRepos": ["*"], "destinations": [{"server": "*", "namespace": namespace}]}
        one = made("AppProject", "default", "argoproj.io/v1alpha1", spec=permits)
        return {**one, "metadata": {**one["metadata"], "namespace": "argocd"}}

    drawn = deployment("web")
    drawn["spec"]["template"]["metadata"]["annotations"] = {"checksum/secret": "RANDOM"}
    base = {"apps/project.yaml": [project("*")], "web/deployment.yaml": [drawn]}
    of_helm = {"web": {"status": {"sourceType": "Helm", "sync": {"revision": REVISION}}}}
    case = Case({"apps/project.yaml": [project("cart")]}, base=base, more=of_helm)
    verdict = run(case, path_in(tmp_path, "all"))
    refused = {f.at.app.name for f in verdict.new if (f.rule, f.cause) == ("invalid-spec", "destination")}
    assert refused == {"admin", "apps", "cart", "web"}
    chosen = replace(PLAN, wanted=lambda app, fleet: app.name in ("apps", "cart"))
    verdict = run(case, path_in(tmp_path, "chosen"), plan=chosen)
    assert {f.at.app.name for f in verdict.new if f.rule == "invalid-spec"} == {"apps", "cart"}


def test_no_automated_sync_deletes_all_of_an_application(tmp_path: Path) -> None:
    """Argo CD refuses that unless the Application allows it."""
    head: dict[str, list[Manifest] | None] = {"docs/config.yaml": None, "docs/README": []}
    change = Case(head, base={"docs/config.yaml": [config("docs")]})
    allowing = {"docs": {"spec": {"syncPolicy": {"automated": {"prune": True, "allowEmpty": True}}}}}
    verdicts = [run(replace(change, more=more), path_in(tmp_path, name)) for name, more in (("a", {}), ("b", allowing))]
    assert [[(f.rule, f.at.app.name) for f in verdict.new] for verdict in verdicts] == [[("sync-failed", "docs")], []]
    gone = "1 object of argocd/docs is deleted, by the next automated sync: 1 ConfigMap."
    assert [deletion_sentences(v.apps, v.fleets) for v in verdicts] == [(), (gone,)]


def test_an_application_of_another_project_is_told_of_that_one(tmp_path: Path) -> None:
    permitted = {"sourceRepos": ["*"], "destinations": [{"server": "*", "namespace": "team-*"}]}
    open_ = {"sourceRepos": ["*"], "destinations": [{"server": "*", "namespace": "*"}]}
    projects = [{"metadata": {"name": n}, "spec": s} for n, s in (("default", open_), ("team", permitted))]
    base = {"apps/cart.yaml": [cart_application()]}
    verdict = run(Case({"apps/cart.yaml": [cart_application(project="team")]}, base=base, projects=projects), tmp_path)
    (finding,) = (f for f in verdict.new if f.at.app.name == "cart")
    assert (finding.rule, finding.cause) == ("invalid-spec", "destination")
    assert finding.fixes[0].title == "Permit this destination in project team"


@pytest.mark.parametrize(
    ("name", "gone"),
    [("web-2456789bcd", []), ("cart-2456789bcd", ["1 ConfigMap"]), ("web-more", ["1 ConfigMap"])],
    ids=("another hash", "another name", "no hash"),
)
def test_another_hash_of_a_generated_name_is_an_edit_and_no_deletion(
    name: str, gone: list[str], tmp_path: Path
) -> None:
    one, other = (made("ConfigMap", each, data={"A": each[-1]}) for each in ("web-bcdfghkmt2", name))
    verdict = run(Case({"web/generated.yaml": [other]}, base={"web/generated.yaml": [one]}), tmp_path)
    sentences = deletion_sentences(verdict.apps, verdict.fleets)
    assert [sentence.rpartition(": ")[2].rstrip(".") for sentence in sentences] == gone
    (app,) = gate_report(verdict, GatedChange(REPO, "feature")).apps
    assert sorted(change.what for change in app.changes) == (["added", "removed"] if gone else ["changed"])
    assert gone or [field.pointer for field in app.changes[0].fields] == ["/data/A", "/metadata/name"]


def test_slips_in_an_application_are_told_before_the_sync(tmp_path: Path) -> None:
    wrong = cart_application(syncPolicy={"automatd": {}, "syncOptions": {"CreateNamespace": True}})
    verdict = run(Case({"apps/cart.yaml": [wrong]}, base={"apps/cart.yaml": [cart_application()]}), tmp_path)
    assert sorted((f.rule, f.severity, f.at.app.name, f.at.pointer) for f in verdict.new if f.severity != "info") == [
        ("schema-field-unknown", "warning", "apps", "/spec/syncPolicy/automatd"),
        ("sync-failed", "error", "apps", "/spec/syncPolicy/syncOptions"),
    ]


def test_a_duration_of_retries_that_nothing_refuses_is_told(tmp_path: Path) -> None:
    wrong = cart_application(syncPolicy={"retry": {"limit": 3, "backoff": {"duration": "5 minutes"}}})
    verdict = run(Case({"apps/cart.yaml": [wrong]}, base={"apps/cart.yaml": [cart_application()]}), tmp_path)
    told = [(f.rule, f.at.app.name, f.at.pointer) for f in verdict.new]
    assert told == [("retry-invalid", "cart", "/spec/syncPolicy/retry/backoff/duration")]


def of_cart(**source: str) -> Manifest:
    """The Application cart with another source."""
    return cart_application(source={"repoURL": REPO, "path": "cart", "targetRevision": "main", **source})


@pytest.mark.parametrize(
    ("edited", "told", "noted"),
    [
        (of_cart(targetRevision="feature"), [("pruned-while-referenced", "")], False),
        (of_cart(targetRevision="v9.9"), [("comparison-error", "")], False),
        (of_cart(path="crat"), [], True),
        (cart_application(source={"repoURL": REPO}), [("invalid-spec", "/spec/source")], True),
        (cart_application(sources=[{"repoURL": REPO, "path": "cart"}]), [("source-ignored", "/spec/source")], True),
    ],
    ids=("another revision", "no revision", "another path", "no path", "sources as well"),
)
def test_another_source_of_a_child_is_rendered_or_named(
    edited: Manifest, told: list[tuple[str, str]], noted: bool, tmp_path: Path
) -> None:
    """The server renders another revision of what it renders today; anything else is named as not looked at."""
    base = {"apps/cart.yaml": [cart_application()]}
    verdict = run(Case({"apps/cart.yaml": [edited], "cart/config.yaml": None}, base=base), tmp_path)
    mine = [(f.rule, f.at.pointer) for f in verdict.new if f.at.app.name == "cart" and f.severity != "info"]
    assert mine == told
    assert any("what it will render is not known" in line for line in verdict.unlisted) is noted


OTHER = "https://10.0.0.2:6443"


@pytest.mark.parametrize(
    ("edited", "head", "told", "changes"),
    [
        (
            of_cart(path="more/cart"),
            {"more/cart/c.yaml": [config("cart")], "more/cart/d.yaml": [deployment("cart")]},
            [],
            0,
        ),
        (of_cart(path="more/cart"), {"more/cart/d.yaml": [deployment("cart")]}, ["pruned-while-referenced"], 1),
        (cart_application(destination={"server": IN_CLUSTER, "namespace": "store"}), {}, [], 4),
        (cart_application(destination={"server": OTHER, "namespace": "shop"}), {}, ["prune-disabled-drift"], 2),
        (cart_application(destination={"server": "https://10.0.0.9", "namespace": "shop"}), {}, ["cluster-unknown"], 0),
    ],
    ids=("a moved folder", "a moved folder without a file", "another namespace", "another cluster", "no cluster"),
)
def test_an_edited_source_or_destination_is_judged_where_the_clone_shows_the_manifests(
    edited: Manifest, head: Mapping[str, list[Manifest]], told: list[str], changes: int, tmp_path: Path
) -> None:
    moves = dict.fromkeys(("cart/config.yaml", "cart/deployment.yaml")) if head else {}
    case = Case({"apps/cart.yaml": [edited], **head, **moves}, base={"apps/cart.yaml": [cart_application()]})
    verdict = run(case, tmp_path, with_clone=True)
    assert [f.rule for f in verdict.new if f.at.app.name == "cart" and f.severity != "info"] == told
    (cart,) = (j for j in verdict.apps if j.ref.name == "cart")
    assert len(cart.delta.added) + len(cart.delta.removed) + len(cart.delta.changed) == changes
    assert bool(cart.unjudged) is (told == ["cluster-unknown"])


@pytest.mark.parametrize("is_new", [False, True], ids=["edited", "new"])
def test_a_path_that_no_folder_has_after_the_merge_is_told_where_a_clone_shows_it(is_new: bool, tmp_path: Path) -> None:
    base = {"apps/cart.yaml": [cart_application()]}
    for path, told in (("crat", True), ("fresh", False), ("cart", False)):
        edited = of_cart(path=path)
        name = "more" if is_new else "cart"
        edited = {**edited, "metadata": {**edited["metadata"], "name": name}}
        head = {f"apps/{name}.yaml": [edited], "fresh/config.yaml": [config("cart")]}
        verdict = run(Case(head, base=base), path_in(tmp_path, path.replace("/", "-")), with_clone=True)
        mine = [f.message for f in verdict.new if f.at.app.name == name and f.rule == "comparison-error"]
        assert [f"{path}: app path does not exist" in message for message in mine] == [True] * told


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({}, None),
        ({"fresh/kustomization.yaml": [{"resources": ["web.yaml"]}]}, None),
        (
            {"fresh/kustomization.yaml": [{"resources": ["web.yaml"], "nameSuffix": "-a"}]},
            " (--rendered takes what kustomize makes of its folder)",
        ),
        ({"fresh/Chart.yaml": [{"name": "fresh"}]}, " (--helm-render renders its chart)"),
        ({"fresh/main.jsonnet": [{}]}, ""),
        ({"fresh/README": [{"kind": "Note"}]}, None),
        ({"fresh/large.yaml": [{**config("large"), "data": {"a": "b" * 2_000_000}}]}, ""),
    ],
    ids=("plain", "kustomization", "suffix", "chart", "jsonnet", "another file", "too large"),
)
def test_a_new_application_of_plain_manifests_is_judged_from_the_clone(
    more: Mapping[str, list[Manifest]], why: str | None, tmp_path: Path
) -> None:
    """Of a folder that a tool renders, nothing is known before the merge, and the report says so, and what shows it."""
    made_of = with_name(of_cart(path="fresh"), "fresh")
    pod = deployment("late", envFrom=[{"configMapRef": {"name": "late-confg"}}])
    head = {"apps/fresh.yaml": [made_of], "fresh/web.yaml": [pod, config("late")], **more}
    verdict = run(Case(head, base={"apps/cart.yaml": [cart_application()]}), tmp_path, with_clone=True)
    mine = [f.rule for f in verdict.new if f.at.app.name == "fresh" and f.severity != "info"]
    assert mine == ["target-missing"] * (why is None)
    notes = [line for line in verdict.unlisted if "argocd/fresh" in line]
    assert notes == [f"argocd/fresh: it is new{why}: what it renders is not known before the merge"] * (why is not None)


@pytest.mark.parametrize(
    ("namespace", "settings", "told"),
    [
        ("shop", {}, True),
        ("argocd", {}, False),
        ("shop", {"appsInAnyNamespaceEnabled": True}, False),
    ],
    ids=("elsewhere", "of Argo CD", "any namespace"),
)
def test_a_child_in_a_namespace_that_argo_cd_does_not_serve_deploys_nothing(
    namespace: str, settings: Mapping[str, Any], told: bool, tmp_path: Path
) -> None:
    """It is judged as an object alone: nothing takes over what goes with the child of that name in another namespace."""
    child = cart_application()
    moved = {**child, "metadata": {**child["metadata"], "namespace": namespace}}
    case = Case({"apps/cart.yaml": [moved]}, base={"apps/cart.yaml": [child, config("apps")]}, settings=settings)
    verdict = run(case, tmp_path)
    assert [(f.rule, f.at.app.name, f.at.pointer) for f in verdict.new if f.rule == "child-app-unserved"] == (
        [("child-app-unserved", "apps", "/metadata/namespace")] * told
    )
    assert any(j.ref.namespace == "shop" for j in verdict.apps) is (namespace == "shop" and not told)
    asked = [line for line in verdict.unchecked if "serves namespace shop" in line]
    assert len(asked) == (namespace == "shop" and not told)


def test_a_neighbour_that_shares_an_object_no_longer_is_fixed(tmp_path: Path) -> None:
    """The change touches one application; the warning of the other ends with it."""
    said = {
        "type": "SharedResourceWarning",
        "message": "ClusterRole/shop-reader is part of applications argocd/admin and cart",
    }
    status = {"conditions": [{**said, "lastTransitionTime": "2026-01-01T10:00:00Z"}], "sourceType": "Directory"}
    base = {"cart/role.yaml": [ROLE]}
    verdict = run(Case({"cart/role.yaml": None}, base=base, more={"admin": {"status": status}}), tmp_path)
    assert [(f.rule, f.at.app.name) for f in verdict.fixed] == [("shared-resource", "admin")]
    assert [f.rule for f in verdict.head.findings if f.rule == "shared-resource"] == []


@pytest.mark.parametrize(("file", "reached"), [("web/more.yaml", False), ("web/role.yaml", True)])
def test_a_neighbour_that_cannot_be_read_counts_where_the_change_reaches_it(
    file: str, reached: bool, tmp_path: Path
) -> None:
    """An application that lists an object of the change is looked at; another one is named, and does not decide."""

    class Refusing(GitServer):
        def get(self, path: str, query: Query = (), *, anonymous: bool = False) -> Answer:
            if path.endswith("/admin/managed-resources"):
                return Answer(403, "application/json", b'{"error": "permission denied", "code": 7}')
            return super().get(path, query, anonymous=anonymous)

    git(tmp_path, "init", "--quiet")
    commit(tmp_path, {name: json.dumps(one) for name, (one,) in BASE.items()})
    server = Refusing(tmp_path, more={"admin": {"status": {"sync": {"status": "OutOfSync"}}}})
    git(tmp_path, "switch", "--create", "feature", "--quiet")
    commit(tmp_path, {file: json.dumps(ROLE if reached else config("more"))})
    verdict = verdict_on(server)
    assert {f.app.name for f in (*verdict.failures, *verdict.head.failures) if f.app} == (
        {"admin"} if reached else set()
    )
    aside = [line for line in verdict.unlisted if line.startswith("argocd/admin: not touched by the change")]
    assert len(aside) == (not reached)


def test_a_hook_with_a_drawn_name_is_the_same_hook_on_both_sides(tmp_path: Path) -> None:
    """What is wrong with it is neither fixed nor new, though base and head render another name."""
    hook = made("PodDisruptionBudget", "migrate-RANDOM", "policy/v1beta1", spec=BUDGET)
    hook["metadata"]["annotations"] = {"argocd.argoproj.io/hook": "PreSync"}
    other = {**hook, "spec": {**BUDGET, "minAvailable": 2}}
    verdict = run(Case({"web/hook.yaml": [other]}, base={"web/hook.yaml": [hook]}), tmp_path)
    assert [f.rule for f in verdict.new] == []
    assert [f.rule for f in verdict.fixed] == []
    assert "removed-api" in {f.rule for f in verdict.base.findings}


def test_an_object_that_fails_today_and_would_fail_for_another_cause_is_news(tmp_path: Path) -> None:
    """The status speaks of the spec as it was: what the branch breaks stands beside it. An edit that breaks nothing is silent."""
    condition = {
        "type": "Ready",
        "status": "False",
        "reason": "SecretSyncedError",
        "message": "could not update Secret: target is owned by another ExternalSecret",
        "lastTransitionTime": "2026-01-01T10:00:00Z",
    }
    live = {"ExternalSecret/db": {"status": {"refreshTime": "2026-01-01T11:50:00Z", "conditions": [condition]}}}
    base = {"web/es.yaml": [external_secret("db", IN_MAIN)], "admin/store.yaml": [STORE]}
    broken = external_secret("db", {"name": "main"})
    slower = external_secret("db", IN_MAIN, refreshInterval="2h0m0s")
    for folder, head, causes in (("a", broken, ["store-kind-omitted"]), ("b", slower, [])):
        (tmp_path / folder).mkdir()
        verdict = run(Case({"web/es.yaml": [head]}, base=base, live=live), tmp_path / folder)
        assert [f.cause for f in verdict.new if f.rule == "external-secret-sync-error"] == causes
        assert verdict.fixed == ()
        assert verdict.unchanged == 1


@pytest.mark.parametrize(("asks", "times"), [(False, 1), (True, 2)])
def test_an_application_is_examined_again_only_if_the_change_answers_it_otherwise(
    tmp_path: Path, *, asks: bool, times: int
) -> None:
    examined: Counter[str] = Counter()

    def check(app: App, fleet: Fleet, options: object) -> tuple[Finding, ...]:
        examined[app.name] += 1
        if asks:
            fleet.by_ref.get(AppRef(app.ref.namespace, "web", app.ref.project, app.ref.server))
        return ()

    rule = Rule(id="counting", family="drift", severity="info", doc="A rule.", check=check)
    added = {"web/note.yaml": [config("note")]}
    run(Case(added), tmp_path, plan=Plan((ChosenRule(rule, rule.default_options),), workers=1))
    assert {examined[name] for name in examined if name != "web"} == {times}
    assert len(examined) > 1
