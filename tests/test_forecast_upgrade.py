"""Forecasts of upgrades: every class of rows with a fleet that it concerns and one that it does not, and the recordings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from argolint.engine.load import read_fleet
from argolint.engine.plan import Plan
from argolint.errors import UsageError
from argolint.forecast.conditions import CONDITIONS
from argolint.forecast.releases import Product, has, products, shown, step
from argolint.forecast.table import TableError, rows
from argolint.forecast.today import oldest_cluster
from argolint.forecast.upgrade import Upgrade, order_sentences
from argolint.forecast.wanted import every_row, upgrades
from argolint.model import AppRef, Failure, Finding, Location
from argolint.plugins import upgrade_tables
from argolint.snapshots.reader import SnapshotTransport
from argolint.testing import FixtureTransport
from tests.conftest import PROFILE, recording
from tests.forecast_truth import forecast_of, score
from tests.here import run_here

Data = dict[str, Any]
ARGO = Product("argocd", "Argo CD", ("2.14", "3.0", "3.3", "3.4", "3.6"))


def forecast(data: Data, **wanted: str) -> Upgrade:
    """The forecast of a small Argo CD; products with a dash are written with an underscore."""
    return unread(data, (), **wanted)


def unread(data: Data, failures: tuple[Failure, ...], **wanted: str) -> Upgrade:
    """The same where some lists could not be read."""
    t = FixtureTransport(data)
    fleet, _ = read_fleet(t)
    asked = {name.replace("_", "-"): version for name, version in wanted.items()}
    return upgrades(t, fleet, failures, asked, Plan((), workers=1))[1]


def of(found: Upgrade, cause: str) -> list[Finding]:
    return [f for f in found.findings if f.cause == cause]


def fleet(*apps: Data, version: str = "v2.14.20", **server: Any) -> Data:
    settings = {"controllerNamespace": "argocd", "trackingMethod": "", **server.pop("settings", {})}
    return {"about": "inline", "server": {"version": version, "settings": settings, **server}, "apps": list(apps)}


def config(name: str, namespace: str = "shop", **metadata: Any) -> Data:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace, **metadata},
        "data": {"a": "b"},
    }


def app(name: str, *objects: Data, live: bool = True, **more: Any) -> Data:
    resources = [{"desired": o, **({"live": o} if live else {})} for o in objects]
    return {"name": name, "resources": resources, **more}


def storage_class(provisioner: str) -> Data:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "fast"},
        "provisioner": provisioner,
    }


def store(provider: str) -> Data:
    return {
        "apiVersion": "external-secrets.io/v1",
        "kind": "SecretStore",
        "metadata": {"name": "vault", "namespace": "shop"},
        "spec": {"provider": {provider: {}}},
    }


def templated(engine: str, text: str = "{{ .a }}") -> Data:
    return {
        "apiVersion": "external-secrets.io/v1beta1",
        "kind": "ExternalSecret",
        "metadata": {"name": "db", "namespace": "shop"},
        "spec": {"target": {"template": {"engineVersion": engine, "data": {"a": text}}}},
    }


def drawing(**spec: Any) -> Data:
    """An application with an ExternalSecret that draws a password once, next to an operator of 0.15."""
    source = {"generatorRef": {"kind": "Password", "name": "p"}}
    drawn = {
        "apiVersion": "external-secrets.io/v1beta1",
        "kind": "ExternalSecret",
        "metadata": {"name": "db", "namespace": "shop"},
        "spec": {"refreshInterval": "0", "dataFrom": [{"sourceRef": source}], **spec},
    }
    images = {"summary": {"images": ["ghcr.io/external-secrets/external-secrets:v0.15.0"]}}
    return app("web", drawn, status=images)


def pushing(metadata: Data) -> Data:
    """An application that pushes a Secret with metadata for the provider."""
    match = {"secretKey": "a", "remoteRef": {"remoteKey": "k"}}
    pushed = {
        "apiVersion": "external-secrets.io/v1alpha1",
        "kind": "PushSecret",
        "metadata": {"name": "db", "namespace": "shop"},
        "spec": {"data": [{"match": match, "metadata": metadata}]},
    }
    return app("web", pushed)


def external_secret(**reference: Any) -> Data:
    return {
        "apiVersion": "external-secrets.io/v1",
        "kind": "ExternalSecret",
        "metadata": {"name": "db", "namespace": "shop"},
        "spec": {"data": [{"secretKey": "a", "remoteRef": {"key": "k", **reference}}]},
    }


def applied(*objects: Data) -> Data:
    """An application that applies server-side, next to an operator of 2.2."""
    images = {"summary": {"images": ["ghcr.io/external-secrets/external-secrets:v2.2.0"]}}
    return app("web", *objects, spec={"syncPolicy": {"syncOptions": ["ServerSideApply=true"]}}, status=images)


def cron_job(success: str | None, active: int = 0) -> Data:
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "report", "namespace": "shop"},
        "spec": {"schedule": "@daily"},
        "status": {
            "lastScheduleTime": "2026-01-01T00:00:00Z",
            **({"lastSuccessfulTime": success} if success else {}),
            **({"active": [{"name": "report-1"}] * active} if active else {}),
        },
    }


def autoscaler(reason: str, version: str = "autoscaling/v2") -> Data:
    conditions = [
        {"type": "AbleToScale", "status": "True", "reason": "SucceededGetScale", "message": "scale was read"},
        {"type": "ScalingActive", "status": "False", "reason": reason, "message": "no metrics"},
    ]
    return {
        "apiVersion": version,
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"maxReplicas": 3},
        "status": {"conditions": conditions},
    }


def route(*conditions: Data) -> Data:
    return {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "HTTPRoute",
        "metadata": {"name": "web", "namespace": "shop", "generation": 2},
        "status": {
            "parents": [
                {"conditions": [{"type": "Accepted", "status": "False", "observedGeneration": 1}]},
                {"conditions": list(conditions)},
            ]
        },
    }


def scaled_job(ready: str) -> Data:
    conditions = [{"type": "Ready", "status": ready}]
    metadata = {"name": "web", "namespace": "shop"}
    return {
        "apiVersion": "keda.sh/v1alpha1",
        "kind": "ScaledJob",
        "metadata": metadata,
        "status": {"conditions": conditions},
    }


def database(name: str, ready: str | None) -> Data:
    conditions = [{"type": "Ready", "status": ready, "message": "an instance is down"}] if ready else []
    metadata = {"name": name, "namespace": "shop"}
    return {
        "apiVersion": "postgresql.cnpg.io/v1",
        "kind": "Cluster",
        "metadata": metadata,
        "status": {"conditions": conditions},
    }


def budget(reason: str) -> Data:
    conditions = [{"type": "DisruptionAllowed", "status": "False", "reason": reason}]
    metadata = {"name": "web", "namespace": "shop"}
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": metadata,
        "status": {"conditions": conditions},
    }


def plugin(value: str) -> Data:
    env = [{"name": "STAGE", "value": value}]
    return {"repoURL": "https://git.example.com/a.git", "path": "web", "plugin": {"env": env}}


def deployment(*env: Data) -> Data:
    spec = {"template": {"spec": {"containers": [{"name": "a", "image": "argocd", "env": list(env)}]}}}
    metadata = {"name": "repo", "namespace": "argocd"}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}


def placed(*keys: str) -> Data:
    tolerations = [{"key": key, "operator": "Exists"} for key in keys]
    metadata = {"name": "web", "namespace": "shop"}
    spec = {"template": {"spec": {"tolerations": tolerations}}}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}


def mounting(volume: str) -> Data:
    metadata = {"name": "web", "namespace": "shop"}
    spec = {"template": {"spec": {"volumes": [{"name": "a", volume: {"repository": "x"}}]}}}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}


def cluster(version: str, server: str = "https://kubernetes.default.svc") -> Data:
    return {"server": server, "name": server[-4:], "info": {"serverVersion": version}}


def stored(*versions: str) -> Data:
    made = crd("externalsecrets.external-secrets.io")
    return {**made, "status": {"storedVersions": list(versions)}}


def kubernetes_store(cert: Data) -> Data:
    made = store("kubernetes")
    made["spec"]["provider"]["kubernetes"]["auth"] = {"cert": cert}
    return made


def policy(*conditions: Data) -> Data:
    status = {"status": {"conditions": list(conditions)}} if conditions else {}
    return {"apiVersion": "kyverno.io/v1", "kind": "ClusterPolicy", "metadata": {"name": "limits"}, **status}


def crd(name: str, **spec: Any) -> Data:
    group = name.partition(".")[2]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": name},
        "spec": {"group": group, "names": {"kind": "Thing"}, **spec},
    }


def application_set(selector: Any, **spec: Any) -> Data:
    return {
        "metadata": {"name": "per-cluster", "namespace": "argocd"},
        "spec": {"generators": [{"clusters": {"selector": selector}}], "template": {"metadata": {}}, **spec},
    }


def generated(name: str) -> Data:
    owner = {"apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationSet", "name": "per-cluster"}
    return app(name, config(name), metadata={"ownerReferences": [owner]})


def project(*policies: str, **spec: Any) -> Data:
    roles = [{"name": "dev", "policies": list(policies)}]
    return {"metadata": {"name": "default"}, "spec": {"roles": roles, **spec}}


APPLIED = [{"manager": "argocd-controller", "operation": "Update"}]


def labelled(name: str, **metadata: Any) -> Data:
    return config(name, labels={"app.kubernetes.io/instance": "web"}, **metadata)


def shared(owner: str) -> Data:
    """An application that renders `common`, whose live label names web."""
    desired = config("common", labels={"app.kubernetes.io/instance": owner})
    return {"name": owner, "resources": [{"desired": desired, "live": labelled("common")}]}


LABEL = "argocd.argoproj.io/kubernetes-version"
READ_ONLY = "p, proj:default:dev, applications, get, default/*, allow"
CASES: Mapping[str, tuple[Data, Data, Mapping[str, str], str]] = {
    "master-label": (
        fleet(app("web", placed("node-role.kubernetes.io/master")), clusters=[cluster("1.23.4")]),
        fleet(
            app("web", placed("node-role.kubernetes.io/master", "node-role.kubernetes.io/control-plane")),
            clusters=[cluster("1.23.4")],
        ),
        {"kubernetes": "1.24"},
        "Deployment shop/web of argocd/web asks for node-role.kubernetes.io/master alone, a label that 1.24 and a taint that 1.25 removes from the nodes.",
    ),
    "gitrepo-volume": (
        fleet(app("web", mounting("gitRepo")), clusters=[cluster("1.32.0")]),
        fleet(app("web", mounting("emptyDir")), clusters=[cluster("1.32.0")]),
        {"kubernetes": "1.33"},
        "Deployment shop/web of argocd/web mounts a volume of type gitRepo, which the kubelet no longer mounts unless the gate GitRepoVolumeDriver is on; 1.36 has none.",
    ),
    "stored-v1alpha1": (
        fleet(app("eso", stored("v1alpha1", "v1beta1"))),
        fleet(app("eso", stored("v1beta1"))),
        {"external_secrets": "0.16"},
        "CustomResourceDefinition externalsecrets.external-secrets.io lists v1alpha1 among its stored versions, so the API server refuses the CRD of 0.16, which has no v1alpha1.",
    ),
    "kubernetes-cert-clientkey": (
        fleet(app("web", kubernetes_store({"clientCert": {"name": "a"}}))),
        fleet(app("web", kubernetes_store({"clientCert": {"name": "a"}, "clientKey": {"name": "a"}}))),
        {"external_secrets": "2.8"},
        "SecretStore shop/vault logs in by cert without clientKey, which the CRD of 2.8 requires, so no sync of it succeeds.",
    ),
    "health-checks-3.1": (
        fleet(app("web", database("a", "False"), database("b", None)), version="v3.0.0"),
        fleet(app("web", database("a", "True"), config("b")), version="v3.0.0"),
        {"argocd": "3.6"},
        "Cluster shop/a and 1 more of argocd/web get a health check, and none of their conditions says that they are ready.",
    ),
    "pdb-health": (
        fleet(app("web", budget("SyncFailed")), version="v2.12.0"),
        fleet(app("web", budget("InsufficientPods")), version="v2.12.0"),
        {"argocd": "2.13"},
        "PodDisruptionBudget shop/web turns Degraded, and with it the application, which is Healthy today: Argo CD has a health check for PodDisruptionBudget from then on.",
    ),
    "empty-plugin-variable": (
        fleet(app("web", config("a"), spec={"source": plugin("")})),
        fleet(app("web", config("a"), spec={"source": plugin("x")})),
        {"argocd": "3.0"},
        "The plugin of argocd/web gets the empty variable at /spec/source/plugin/env/0/value from then on, which it never saw before.",
    ),
    "pkce-login": (
        fleet(app("web", config("a")), version="v3.0.1", settings={"oidcConfig": {"enablePKCEAuthentication": True}}),
        fleet(app("web", config("a")), version="v3.0.1", settings={"oidcConfig": {"name": "sso"}}),
        {"argocd": "3.1"},
        "Logins by OIDC with PKCE end at /auth/callback of Argo CD, which the identity provider must allow.",
    ),
    "otlp-headers": (
        fleet(app("argo", deployment({"name": "ARGOCD_REPO_OTLP_HEADERS", "value": "a=b"})), version="v3.5.1"),
        fleet(app("argo", deployment({"name": "ARGOCD_REPO_SERVER_OTLP_HEADERS", "value": "a=b"})), version="v3.5.1"),
        {"argocd": "3.6"},
        "Deployment argocd/repo sets ARGOCD_REPO_OTLP_HEADERS, which the repo-server no longer reads, so its traces lose their headers.",
    ),
    "managed-namespace-metadata": (
        fleet(
            app("web", config("a"), spec={"syncPolicy": {"managedNamespaceMetadata": {"labels": {"a": "b"}}}}),
            version="v2.9.3",
        ),
        fleet(app("web", config("a")), version="v2.9.3"),
        {"argocd": "2.10"},
        "The next sync of argocd/web removes labels and annotations from its namespace that a client-side apply once put there.",
    ),
    "scoped-cluster": (
        fleet(
            app("web", config("a")),
            version="v2.11.0",
            clusters=[{"server": "https://kubernetes.default.svc", "name": "in-cluster", "project": "other"}],
        ),
        fleet(
            app("web", config("a")),
            version="v2.11.0",
            clusters=[{"server": "https://kubernetes.default.svc", "name": "in-cluster", "project": "default"}],
        ),
        {"argocd": "2.12"},
        "argocd/web of project default can no longer use cluster https://kubernetes.default.svc, which is scoped to project other.",
    ),
    "annotation-tracking": (
        fleet(app("web", config("a"))),
        fleet(app("web", config("a")), settings={"trackingMethod": "annotation"}),
        {"argocd": "3.0"},
        "Argo CD tracks the objects of 1 application by annotation instead of the label app.kubernetes.io/instance; the next sync of each writes it.",
    ),
    "orphaned-by-tracking": (
        fleet({"name": "web", "resources": [{"live": labelled("old", managedFields=APPLIED)}]}),
        fleet(
            {
                "name": "web",
                "resources": [
                    {
                        "live": labelled(
                            "old",
                            managedFields=APPLIED,
                            annotations={"argocd.argoproj.io/tracking-id": "web:/ConfigMap:shop/old"},
                        )
                    }
                ],
            }
        ),
        {"argocd": "3.0"},
        "ConfigMap shop/old left Git and is not pruned yet; only its label ties it to argocd/web, so Argo CD forgets it and it stays.",
    ),
    "copied-label-forgotten": (
        fleet({"name": "web", "resources": [{"live": labelled("made", managedFields=[{"manager": "operator"}])}]}),
        fleet({"name": "web", "resources": [{"live": labelled("made", managedFields=APPLIED)}]}),
        {"argocd": "3.0"},
        "ConfigMap shop/made has the label app.kubernetes.io/instance of argocd/web without being in its manifests; Argo CD no longer shows it there, nor prunes it.",
    ),
    "label-trouble-ends": (
        fleet(app("a" * 64, config("a"))),
        fleet(app("a" * 63, config("a"))),
        {"argocd": "3.0"},
        f"tracking-label-too-long no longer holds for argocd/{'a' * 64}, because labels no longer say what belongs to an application.",
    ),
    "shared-unseen": (
        fleet(shared("api"), shared("web")),
        fleet(shared("api"), shared("web"), settings={"trackingMethod": "annotation+label"}),
        {"argocd": "3.0"},
        "ConfigMap shop/common of argocd/api is shown as unshared and in sync, until web or argocd/api syncs it: no annotation names an owner yet.",
    ),
    "apply-out-of-sync-only": (
        fleet(app("web", config("a"), spec={"syncPolicy": {"syncOptions": ["ApplyOutOfSyncOnly=true"]}})),
        fleet(
            app("web", config("a"), spec={"syncPolicy": {"syncOptions": ["ApplyOutOfSyncOnly=true"]}}),
            settings={"trackingMethod": "annotation+label"},
        ),
        {"argocd": "3.0"},
        "The objects of argocd/web do not get the tracking annotation, because ApplyOutOfSyncOnly leaves out what is in sync.",
    ),
    "excluded-by-default": (
        fleet(
            app(
                "web",
                {
                    "apiVersion": "discovery.k8s.io/v1",
                    "kind": "EndpointSlice",
                    "metadata": {"name": "erp", "namespace": "shop"},
                },
            )
        ),
        fleet(app("web", {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "erp", "namespace": "shop"}})),
        {"argocd": "3.0"},
        "EndpointSlice shop/erp of argocd/web is no longer applied, compared or pruned: the new argocd-cm excludes discovery.k8s.io/EndpointSlice.",
    ),
    "logs-right": (
        fleet(app("web", config("a")), projects=[project(READ_ONLY)]),
        fleet(
            app("web", config("a")), projects=[project(READ_ONLY, "p, proj:default:dev, logs, get, default/*, allow")]
        ),
        {"argocd": "3.0"},
        "Role dev of project default can no longer read the logs of pods, which `applications, get` allowed unless logs were enforced.",
    ),
    "update-of-objects": (
        fleet(
            app("web", config("a")), projects=[project("p, proj:default:dev, applications, update, default/*, allow")]
        ),
        fleet(app("web", config("a")), projects=[project("p, proj:default:dev, applications, *, default/*, allow")]),
        {"argocd": "3.0"},
        "Role dev of project default can no longer patch the objects of its applications, since `update` covers the Application alone.",
    ),
    "repositories-in-argocd-cm": (
        fleet(
            app(
                "argo",
                {**config("argocd-cm", "argocd"), "data": {"repositories": "- url: https://git.example.com/a.git\n"}},
            )
        ),
        fleet(app("argo", config("argocd-cm", "argocd"))),
        {"argocd": "3.0"},
        "The repositories that ConfigMap argocd/argocd-cm lists under data.repositories are no longer known to Argo CD.",
    ),
    "metrics-gone": (
        fleet(
            app(
                "alerts",
                {
                    "apiVersion": "monitoring.coreos.com/v1",
                    "kind": "PrometheusRule",
                    "metadata": {"name": "argo", "namespace": "mon"},
                    "spec": {"groups": [{"rules": [{"expr": "argocd_app_sync_status == 0"}]}]},
                },
            )
        ),
        fleet(
            app(
                "alerts",
                {
                    "apiVersion": "monitoring.coreos.com/v1",
                    "kind": "PrometheusRule",
                    "metadata": {"name": "argo", "namespace": "mon"},
                    "spec": {"groups": [{"rules": [{"expr": "argocd_app_info == 0"}]}]},
                },
            )
        ),
        {"argocd": "3.0"},
        "PrometheusRule mon/argo asks for the metric argocd_app_sync_status, which no Argo CD exports any more.",
    ),
    "nested-selector": (
        fleet(
            generated("web"),
            applicationsets=[
                {
                    "metadata": {"name": "per-cluster"},
                    "spec": {
                        "generators": [
                            {
                                "matrix": {
                                    "generators": [
                                        {
                                            "merge": {
                                                "generators": [
                                                    {"clusters": {}, "selector": {"matchLabels": {"a": "b"}}}
                                                ]
                                            }
                                        }
                                    ]
                                }
                            }
                        ]
                    },
                }
            ],
        ),
        fleet(
            generated("web"),
            applicationsets=[
                {
                    "metadata": {"name": "per-cluster"},
                    "spec": {
                        "applyNestedSelectors": True,
                        "generators": [
                            {
                                "matrix": {
                                    "generators": [
                                        {
                                            "merge": {
                                                "generators": [
                                                    {"clusters": {}, "selector": {"matchLabels": {"a": "b"}}}
                                                ]
                                            }
                                        }
                                    ]
                                }
                            }
                        ],
                    },
                }
            ],
        ),
        {"argocd": "3.0"},
        "ApplicationSet argocd/per-cluster has a selector at /spec/generators/0/matrix/generators/0/merge/generators/0/selector that was ignored until now; it counts from then on, and what it does not select is deleted.",
    ),
    "cron-job-health": (
        fleet(app("web", cron_job("2025-12-31T00:00:00Z")), version="v3.1.0"),
        fleet(app("web", cron_job("2025-12-31T00:00:00Z", active=1)), version="v3.1.0"),
        {"argocd": "3.2"},
        "CronJob shop/report turns Degraded, and with it the application, which is Healthy today: Argo CD judges CronJobs by their last execution.",
    ),
    "route-health": (
        fleet(
            app("web", route({"type": "Accepted", "status": "False", "message": "no such listener"})), version="v3.0.0"
        ),
        fleet(app("web", route({"type": "Accepted", "status": "True"})), version="v3.0.0"),
        {"argocd": "3.1"},
        "HTTPRoute shop/web turns Degraded, and with it the application, which is Healthy today: Argo CD has a health check for HTTPRoute from then on.",
    ),
    "crd-health": (
        fleet(
            app(
                "web",
                {
                    **crd("things.shop.example.com"),
                    "status": {"conditions": [{"type": "NamesAccepted", "status": "False"}]},
                },
            )
        ),
        fleet(app("web", crd("things.shop.example.com"))),
        {"argocd": "3.0"},
        "CustomResourceDefinition things.shop.example.com turns Degraded, and with it the application, which is Healthy today: Argo CD has a health check for CustomResourceDefinition from then on.",
    ),
    "scaled-job-health": (
        fleet(app("web", scaled_job("Unknown")), version="v3.2.0"),
        fleet(app("web", scaled_job("True")), version="v3.2.0"),
        {"argocd": "3.3"},
        "ScaledJob shop/web turns Degraded, and with it the application, which is Healthy today: Argo CD has a health check for ScaledJob from then on.",
    ),
    "cluster-policy-health": (
        fleet(app("rules", policy()), version="v3.5.1"),
        fleet(app("rules", policy({"type": "Ready", "status": "True"})), version="v3.5.1"),
        {"argocd": "3.6"},
        "ClusterPolicy limits turns Progressing, and with it the application, which is Healthy today: Argo CD has a health check for ClusterPolicy from then on.",
    ),
    "hydrate-to-root": (
        fleet(
            app(
                "web",
                config("a"),
                spec={
                    "sourceHydrator": {
                        "drySource": {"repoURL": "https://git.example.com/a.git"},
                        "syncSource": {"targetBranch": "env", "path": "."},
                    }
                },
            ),
            version="v3.1.0",
        ),
        fleet(
            app(
                "web",
                config("a"),
                spec={
                    "sourceHydrator": {
                        "drySource": {"repoURL": "https://git.example.com/a.git"},
                        "syncSource": {"targetBranch": "env", "path": "web"},
                    }
                },
            ),
            version="v3.1.0",
        ),
        {"argocd": "3.2"},
        "argocd/web can no longer be hydrated, since it writes to the root of its repository.",
    ),
    "set-too-large": (
        fleet(app("argo", crd("applicationsets.argoproj.io")), version="v3.2.0"),
        fleet(
            app(
                "argo",
                crd("applicationsets.argoproj.io"),
                spec={"syncPolicy": {"syncOptions": ["ServerSideApply=true"]}},
            ),
            version="v3.2.0",
        ),
        {"argocd": "3.3"},
        "argocd/argo cannot apply CustomResourceDefinition applicationsets.argoproj.io of the new release, which is too large for a client-side apply.",
    ),
    "kubernetes-version-label": (
        fleet(generated("web"), version="v3.3.2", applicationsets=[application_set({"matchLabels": {LABEL: "1.34"}})]),
        fleet(
            generated("web"), version="v3.3.2", applicationsets=[application_set({"matchLabels": {LABEL: "v1.34.2"}})]
        ),
        {"argocd": "3.3.3"},
        "ApplicationSet argocd/per-cluster selects clusters by the version 1.34, which no cluster is labelled with any more; its Application is deleted with all that was deployed.",
    ),
    "missing-in-part": (
        fleet(
            {
                "name": "web",
                "status": {"health": {"status": "Missing"}},
                "resources": [{"desired": config("a"), "live": config("a")}, {"desired": config("b")}],
            },
            version="v3.3.0",
        ),
        fleet(
            {
                "name": "web",
                "status": {"health": {"status": "Missing"}},
                "resources": [{"desired": config("a")}, {"desired": config("b")}],
            },
            version="v3.3.0",
        ),
        {"argocd": "3.4"},
        "argocd/web is Healthy instead of Missing: since 3.4 an application is Missing only when all of its objects are.",
    ),
    "autoscaler-health": (
        fleet(app("web", autoscaler("FailedGetExternalMetric")), version="v3.4.0"),
        fleet(app("web", autoscaler("ScalingDisabled")), version="v3.4.0"),
        {"argocd": "3.5"},
        "HorizontalPodAutoscaler shop/web turns Degraded, and with it the application, which is Healthy today: Argo CD looks at every condition of an autoscaler for trouble.",
    ),
    "helm-version-field": (
        fleet(app("web", config("a"), spec={"source": {"helm": {"version": "v3"}}}), version="v3.4.0"),
        fleet(app("web", config("a"), spec={"source": {"helm": {"releaseName": "v3"}}}), version="v3.4.0"),
        {"argocd": "3.5"},
        "argocd/web asks for Helm v3, and is rendered by Helm 4.",
    ),
    "impersonated-reads": (
        fleet(
            app("web", config("a")),
            version="v3.4.0",
            settings={"impersonationEnabled": True},
            projects=[project(destinationServiceAccounts=[{"server": "*"}])],
        ),
        fleet(
            app("web", config("a")), version="v3.4.0", projects=[project(destinationServiceAccounts=[{"server": "*"}])]
        ),
        {"argocd": "3.5"},
        "Reads of objects, events and logs of project default through Argo CD run as its service accounts, which may lack the rights.",
    ),
    "signature-keys": (
        fleet(
            app("web", config("a")), version="v3.4.0", projects=[project(signatureKeys=[{"keyID": "1234567890ABCDEF"}])]
        ),
        fleet(app("web", config("a")), version="v3.4.0", projects=[project()]),
        {"argocd": "3.5"},
        "Project default verifies commits by signatureKeys, which still works but should be replaced by sourceIntegrity.",
    ),
    "generators-asked-again": (
        fleet(drawing()),
        fleet(drawing(refreshPolicy="CreatedOnce")),
        {"external_secrets": "0.17"},
        "ExternalSecret shop/db is refreshed once by the upgrade, at interval 0 too, so Password gives it a new value, unless its Secret is immutable.",
    ),
    "template-engine-v1": (
        fleet(
            app(
                "web",
                templated("v1"),
                status={"summary": {"images": ["ghcr.io/external-secrets/external-secrets:v0.15.0"]}},
            )
        ),
        fleet(
            app(
                "web",
                templated("v2"),
                status={"summary": {"images": ["ghcr.io/external-secrets/external-secrets:v0.15.0"]}},
            )
        ),
        {"external_secrets": "0.16"},
        "ExternalSecret shop/db asks for template engine v1, which the operator no longer has and its CRD refuses.",
    ),
    "null-byte-default": (
        fleet(applied(external_secret()), version="v3.5.1"),
        fleet(applied(external_secret(nullBytePolicy="Ignore")), version="v3.5.1"),
        {"external_secrets": "2.4"},
        "ExternalSecret shop/db of argocd/web turns OutOfSync at /spec/data/0/remoteRef: the CRD writes the default nullBytePolicy there, which a structured merge shows.",
    ),
    "push-metadata": (
        fleet(pushing({"labels": {"team": "till"}})),
        fleet(pushing({"apiVersion": "kubernetes.external-secrets.io/v1alpha1", "kind": "PushSecretMetadata"})),
        {"external_secrets": "0.16"},
        "PushSecret shop/db has metadata at /spec/data/0/metadata in an old form, which Google's provider refuses since 0.12, AWS's Parameter Store since 0.13 and Secrets Manager since 0.16.",
    ),
    "get-secret-key": (
        fleet(app("web", templated("v2", '{{ getSecretKey "a" "b" "c" }}'))),
        fleet(app("web", templated("v2"))),
        {"external_secrets": "1.2"},
        "ExternalSecret shop/db calls getSecretKey in a template, a function that is gone, so it no longer syncs.",
    ),
    "alibaba-removed": (
        fleet(
            app(
                "web",
                store("alibaba"),
                status={"summary": {"images": ["ghcr.io/external-secrets/external-secrets:v1.3.2"]}},
            )
        ),
        fleet(
            app(
                "web",
                store("vault"),
                status={"summary": {"images": ["ghcr.io/external-secrets/external-secrets:v1.3.2"]}},
            )
        ),
        {"external_secrets": "2.0"},
        "SecretStore shop/vault reads from Alibaba Cloud, whose provider the operator no longer has.",
    ),
    "removed-api-external-secrets.io-v1beta1": (
        fleet(
            app(
                "web",
                templated("v2"),
                status={"summary": {"images": ["ghcr.io/external-secrets/external-secrets:v0.16.0"]}},
            )
        ),
        fleet(
            app(
                "web",
                store("vault"),
                status={"summary": {"images": ["ghcr.io/external-secrets/external-secrets:v0.16.0"]}},
            )
        ),
        {"external_secrets": "0.17"},
        "ExternalSecret shop/db of argocd/web is written for external-secrets.io/v1beta1, which External Secrets 0.17 no longer serves, so no sync succeeds.",
    ),
    "removed-api-policy-v1beta1": (
        fleet(
            app(
                "web",
                {
                    "apiVersion": "policy/v1beta1",
                    "kind": "PodDisruptionBudget",
                    "metadata": {"name": "web", "namespace": "shop"},
                },
            ),
            clusters=[{"server": "https://kubernetes.default.svc", "info": {"serverVersion": "v1.24.3"}}],
        ),
        fleet(
            app(
                "web",
                {
                    "apiVersion": "policy/v1",
                    "kind": "PodDisruptionBudget",
                    "metadata": {"name": "web", "namespace": "shop"},
                },
            ),
            clusters=[{"server": "https://kubernetes.default.svc", "info": {"serverVersion": "v1.24.3"}}],
        ),
        {"kubernetes": "1.25"},
        "PodDisruptionBudget shop/web of argocd/web is written for policy/v1beta1, which Kubernetes 1.25 no longer serves, so no sync succeeds.",
    ),
    "migrated-classes": (
        fleet(app("web", storage_class("kubernetes.io/gce-pd")), clusters=[cluster("v1.22.0")]),
        fleet(app("web", storage_class("pd.csi.storage.gke.io")), clusters=[cluster("v1.22.0")]),
        {"kubernetes": "1.23"},
        "StorageClass fast of argocd/web makes volumes by kubernetes.io/gce-pd, which the CSI driver of that product serves from then on.",
    ),
    "ingress-nginx-ended": (
        fleet(
            app(
                "edge",
                config("a"),
                status={"summary": {"images": ["registry.k8s.io/ingress-nginx/controller:v1.14.0@sha256:ab"]}},
            ),
            clusters=[{"server": "https://kubernetes.default.svc", "info": {"serverVersion": "v1.35.0"}}],
        ),
        fleet(
            app("edge", config("a"), status={"summary": {"images": ["docker.io/nginx/nginx-ingress:5"]}}),
            clusters=[{"server": "https://kubernetes.default.svc", "info": {"serverVersion": "v1.35.0"}}],
        ),
        {"kubernetes": "1.36"},
        "argocd/edge runs ingress-nginx, whose last releases are for Kubernetes 1.35 and which gets no more fixes.",
    ),
}


@pytest.mark.parametrize("cause", CASES)
def test_a_row_speaks_of_what_it_concerns_and_of_nothing_else(cause: str) -> None:
    concerned, other, wanted, message = CASES[cause]
    assert [f.message for f in of(forecast(concerned, **wanted), cause)] == [message]
    assert of(forecast(other, **wanted), cause) == []


def test_the_oldest_of_the_chosen_clusters_is_what_an_upgrade_begins_with() -> None:
    near, far = cluster("v1.31.2"), cluster("v1.24.3", "https://edge.example.com:6443")
    found, _ = read_fleet(FixtureTransport(fleet(app("web", config("a")), clusters=[near, far])))
    assert oldest_cluster(found, frozenset()) == "v1.24.3"
    assert oldest_cluster(found, frozenset({near["server"]})) == "v1.31.2"
    assert oldest_cluster(found, frozenset({"https://gone.example.com"})) == ""


def test_every_condition_is_used_and_every_row_of_a_condition_can_be_filled_in() -> None:
    named = {row.condition for row in every_row()} - {""}
    assert named <= set(CONDITIONS)
    assert all(row.source for row in every_row())
    ids = [row.id for row in every_row()]
    assert len({(row.product, row.id, str(row.args)) for row in every_row()}) == len(ids)


def test_a_table_with_a_mistake_says_which() -> None:
    table = {
        "product": "argocd",
        "rows": [{"id": "x", "in": "3.0", "effect": "breaks", "look": "x", "says": "x", "source": "x"}],
    }
    with pytest.raises(TableError, match="argocd/x: `in` names whole versions"):
        list(rows(table))


def test_server_side_diff_of_3_6_ends_a_difference_of_the_structured_merge() -> None:
    fields: Data = {"f:spec": {"f:stages": {}}}
    manager = {
        "manager": "argocd-controller",
        "operation": "Apply",
        "apiVersion": "shop.example.com/v1",
        "fieldsV1": fields,
    }
    desired: Data = {
        "apiVersion": "shop.example.com/v1",
        "kind": "Rollout",
        "metadata": {"name": "a", "namespace": "shop"},
        "spec": {"stages": [{"weight": 10}]},
    }
    live = {
        **desired,
        "metadata": {**desired["metadata"], "managedFields": [manager]},
        "spec": {"stages": [{"weight": 10, "pause": "1m"}]},
    }
    one = {
        "name": "web",
        "spec": {"syncPolicy": {"syncOptions": ["ServerSideApply=true"]}},
        "resources": [{"desired": desired, "live": live}],
    }
    (found,) = of(
        forecast(fleet(one, version="v3.5.1", settings={"trackingMethod": "annotation"}), argocd="3.6"),
        "difference-goes",
    )
    assert found.message == (
        "Rollout shop/a no longer differs at /spec/stages/0/pause, with which the application turns Synced: the next Argo CD compares it differently."
    )
    stays = replace_spec(one, ["ServerSideApply=true"], "argocd.argoproj.io/compare-options", "ServerSideDiff=true")
    assert of(forecast(fleet(stays, version="v3.5.1"), argocd="3.6"), "difference-goes") == []
    assert of(forecast(fleet(one, version="v3.4.0"), argocd="3.5"), "difference-goes") == []


def replace_spec(one: Data, options: list[str], annotation: str, value: str) -> Data:
    return {**one, "spec": {"syncPolicy": {"syncOptions": options}}, "metadata": {"annotations": {annotation: value}}}


def test_a_crd_with_preserve_unknown_fields_differs_from_3_0_on() -> None:
    desired = crd("things.shop.example.com", preserveUnknownFields=False)
    live = crd("things.shop.example.com")
    default = "jqPathExpressions: null\njsonPointers:\n- /status\n- /spec/preserveUnknownFields\nmanagedFieldsManagers: null\n"
    settings = {"resourceOverrides": {"apiextensions.k8s.io/CustomResourceDefinition": {"ignoreDifferences": default}}}
    one = {"name": "web", "resources": [{"desired": desired, "live": live}]}
    (found,) = of(forecast(fleet(one, settings=settings), argocd="3.0"), "difference-comes")
    assert (found.at.pointer, found.severity) == ("/spec/preserveUnknownFields", "warning")
    own = {
        "resourceOverrides": {
            "apiextensions.k8s.io/CustomResourceDefinition": {"ignoreDifferences": default.replace("- /status\n", "")}
        }
    }
    assert of(forecast(fleet(one, settings=own), argocd="3.0"), "difference-comes") == []


def test_a_schema_refusal_ends_with_what_no_longer_asks_the_schema() -> None:
    def refused(field: str, option: str) -> Data:
        message = f"Failed to compare desired state to live state: failed to calculate diff: error calculating structured merge diff: error building typed value from live resource: {field}: field not declared in schema"
        status = {"sync": {"status": "Unknown"}, "conditions": [{"type": "ComparisonError", "message": message}]}
        return app("web", config("a"), status=status, spec={"syncPolicy": {"syncOptions": [option]}})

    default = "jqPathExpressions: null\njsonPointers:\n- /status\n- /spec/preserveUnknownFields\nmanagedFieldsManagers: null\n"
    settings = {"resourceOverrides": {"apiextensions.k8s.io/CustomResourceDefinition": {"ignoreDifferences": default}}}
    applied = "ServerSideApply=true"
    assert of(
        forecast(fleet(refused(".status.terminatingReplicas", applied), settings=settings), argocd="3.0"),
        "comparison-returns",
    )
    assert not of(
        forecast(fleet(refused(".spec.newField", applied), settings=settings), argocd="3.0"), "comparison-returns"
    )
    assert of(forecast(fleet(refused(".spec.newField", applied), version="v3.5.0"), argocd="3.6"), "comparison-returns")
    assert not of(
        forecast(fleet(refused(".spec.newField", "Validate=true"), version="v3.5.0"), argocd="3.6"),
        "comparison-returns",
    )


def test_the_label_of_a_release_with_another_name_comes_back() -> None:
    def of_chart(kind: str, pods: str = "", chart: str = "cache-1.2.3") -> Data:
        labels = {"app.kubernetes.io/instance": "cache-prod", "helm.sh/chart": chart}
        template = {
            "template": {"metadata": {"labels": {"app.kubernetes.io/instance": pods}}, "spec": {"containers": []}}
        }
        group = "apps/v1" if kind == "Deployment" else "v1"
        return {
            "apiVersion": group,
            "kind": kind,
            "metadata": {"name": "cache", "namespace": "shop", "labels": labels},
            "spec": template if pods else {},
        }

    objects = (of_chart("Deployment", "cache"), of_chart("Service"), of_chart("ConfigMap", chart="other-1.0.0"))
    one = app("cache-prod", *objects, spec={"source": {"helm": {"releaseName": "cache"}}})
    (found,) = of(forecast(fleet(one), argocd="3.0"), "instance-label-returns")
    assert found.message.startswith("Deployment shop/cache and Service shop/cache of argocd/cache-prod turn OutOfSync")
    assert [r.resource.kind for r in found.related if r.resource] == ["Service"]
    assert not of(forecast(fleet(app("cache-prod", *objects)), argocd="3.0"), "instance-label-returns")


def test_the_fate_of_a_set_that_selects_nothing_depends_on_its_policy() -> None:
    def fate(**spec: Any) -> tuple[str, str]:
        raw = application_set({"matchExpressions": [{"key": LABEL, "operator": "In", "values": ["1.34"]}]}, **spec)
        data = fleet(generated("a"), generated("b"), version="v3.3.0", applicationsets=[raw])
        (found,) = of(forecast(data, argocd="3.4"), "kubernetes-version-label")
        assert found.at.pointer == "/spec/generators/0/clusters/selector/matchExpressions/0/values/0"
        assert [str(r.app) for r in found.related] == ["argocd/a", "argocd/b"]
        return found.message.rpartition("; ")[2], str(found.severity)

    assert fate() == ("its 2 Applications are deleted with all that was deployed.", "error")
    kept = fate(syncPolicy={"preserveResourcesOnDeletion": True})
    assert kept == ("its 2 Applications are deleted, and what was deployed stays.", "error")
    still = fate(syncPolicy={"applicationsSync": "create-update"})
    assert still == ("its 2 Applications no longer get changes (create-update keeps what is there).", "warning")


def test_what_a_cluster_no_longer_serves_is_a_fault_of_today() -> None:
    info = {"serverVersion": "v1.24.0", "apiVersions": ["policy/v1/PodDisruptionBudget"]}
    budget = {
        "apiVersion": "policy/v1beta1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "web", "namespace": "shop"},
    }
    data = fleet(app("web", budget), clusters=[{"server": "https://kubernetes.default.svc", "info": info}])
    assert of(forecast(data, kubernetes="1.25"), "removed-api-policy-v1beta1") == []


def test_a_cluster_that_is_past_the_change_is_left_alone() -> None:
    other = "https://edge.example.com"
    made = app("web", mounting("gitRepo"), spec={"destination": {"server": other, "namespace": "shop"}})
    clusters = [cluster("1.32.0"), cluster("1.34.1", other)]
    assert not of(forecast(fleet(made, clusters=clusters), kubernetes="1.36"), "gitrepo-volume")
    here = app("api", mounting("gitRepo"))
    assert len(of(forecast(fleet(made, here, clusters=clusters), kubernetes="1.36"), "gitrepo-volume")) == 1


def test_a_default_that_the_live_object_holds_already_changes_nothing() -> None:
    live = external_secret(nullBytePolicy="Ignore")
    held = applied(external_secret())
    held["resources"][0]["live"] = live
    assert not of(forecast(fleet(held), external_secrets="2.3"), "null-byte-default")


def test_lists_that_the_account_may_not_see_are_named_with_what_they_hide() -> None:
    data = fleet(app("web", config("a")), version="v3.3.0")
    found = unread(data, (Failure("applicationsets", "refused"),), argocd="3.4")
    assert found.unknown == (
        "kubernetes-version-label: not known, because the account may not see applicationsets (`applicationsets, get`)",
    )


def test_an_account_that_may_not_see_clusters_is_told_what_that_hides() -> None:
    budget = {
        "apiVersion": "policy/v1beta1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "web", "namespace": "shop"},
    }
    found = unread(fleet(app("web", budget)), (Failure("clusters", "refused"),), kubernetes="1.30")
    (line,) = found.unknown
    assert line.startswith("removed-api-extensions-v1beta1")
    assert "removed-api-policy-v1beta1" in line
    assert line.endswith("because the account may not see clusters (`clusters, get`)")


@pytest.mark.parametrize(
    ("wanted", "says"),
    [
        ("3.9", "no release 3.9 of Argo CD is known here"),
        ("2.14", "is no upgrade: Argo CD v2.14.20 runs today"),
        ("2.13.1", "is no release" if False else "no release 2.13 of Argo CD is known here"),
        ("next", "is no version"),
        ("3.0.0.0", "is no version"),
    ],
)
def test_a_version_that_is_no_upgrade_is_refused(wanted: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        step(ARGO, "v2.14.20", wanted)


def test_an_unknown_start_is_refused() -> None:
    with pytest.raises(UsageError, match="the version of Argo CD that runs today is not known"):
        step(ARGO, "", "3.0")


def test_a_backport_counts_for_its_own_line() -> None:
    since = [(3, 3, 3), (3, 4, 0)]
    assert [has(v, since) for v in ((3, 3, 2), (3, 3, 3), (3, 4, 0), (3, 2, 9))] == [False, True, True, False]
    assert not step(ARGO, "v3.3.5", "3.4").crosses(since)
    assert step(ARGO, "v3.0.2", "3.3").crosses(since), "3.3 means its newest release"
    assert shown(step(ARGO, "v3.0.2", "3.3").to) == "3.3"


def test_every_table_knows_the_releases_of_its_rows() -> None:
    for table in upgrade_tables():
        lines = {str(line) for line in table["lines"]}
        for row in rows(table):
            assert all(f"{since[0]}.{since[1]}" in lines for since in row.since), row.id


def test_an_object_that_the_api_server_refuses_may_end_the_comparison() -> None:
    def refused(version: str, option: str) -> Upgrade:
        result = {"kind": "ConfigMap", "namespace": "shop", "name": "a", "status": "SyncFailed", "message": "denied"}
        state = {
            "phase": "Failed",
            "message": "one or more objects failed to apply",
            "syncResult": {"resources": [result]},
        }
        one = {
            "name": "web",
            "spec": {"syncPolicy": {"syncOptions": [option]}},
            "status": {"operationState": state},
            "resources": [{"desired": {**config("a"), "data": {"a": "c"}}, "live": config("a")}],
        }
        return forecast(fleet(one, version=version, settings={"trackingMethod": "annotation"}), argocd="3.6")

    (found,) = of(refused("v3.5.1", "ServerSideApply=true"), "dry-run-refused")
    assert (found.severity, found.confidence) == ("warning", "likely")
    assert not of(refused("v3.5.1", "Validate=true"), "dry-run-refused")


def test_a_tracking_id_of_another_application_shows_from_3_4_6_on() -> None:
    def one(owner: str) -> Data:
        identity = {"argocd.argoproj.io/tracking-id": f"{owner}:/ConfigMap:shop/common"}
        return config("common", labels={"app.kubernetes.io/instance": "shop"}, annotations=identity)

    both = [{"name": n, "resources": [{"desired": one(n), "live": one("web")}]} for n in ("api", "web")]
    annotated = {"trackingMethod": "annotation"}
    (found,) = of(forecast(fleet(*both, version="v3.4.5", settings=annotated), argocd="3.4.6"), "difference-comes")
    assert (str(found.at.app), found.at.pointer) == (
        "argocd/api",
        "/metadata/annotations/argocd.argoproj.io~1tracking-id",
    )
    assert not of(forecast(fleet(*both, version="v3.4.6", settings=annotated), argocd="3.5"), "difference-comes")
    assert not of(forecast(fleet(*both, version="v3.4.2", settings=annotated), argocd="3.4.5"), "difference-comes")


def test_a_change_that_a_later_release_takes_back_counts_in_between_only() -> None:
    data = fleet(applied(external_secret()), version="v3.5.1")
    assert of(forecast(data, external_secrets="2.6"), "null-byte-default")
    assert not of(forecast(data, external_secrets="2.7"), "null-byte-default")
    assert not of(forecast(data, external_secrets="2.4", argocd="3.6"), "null-byte-default"), (
        "no structured merge any more"
    )


PHASES = ("1-first-sync", "2-after-mutate", "3-after-commits")
PAIRS = [
    ("harbourline-2.14", "harbourline", "3.5", (10, 9, 9)),
    ("harbourline-2.14", "harbourline-3.6", "3.6", (15, 13, 13)),
    ("harbourline", "harbourline-3.6", "3.6", (6, 5, 5)),
]


@pytest.mark.parametrize(
    ("before", "after", "version", "changes", "phase"),
    [
        (*pair, phase)
        for number, pair in enumerate(PAIRS)
        for phase in (PHASES if PROFILE == "long" else [PHASES[number]])
    ],
)
def test_the_recorded_upgrade_comes_out_as_forecast(
    before: str, after: str, version: str, changes: tuple[int, ...], phase: str, tmp_path: Path
) -> None:
    old, new = recording(f"{before}/{phase}"), recording(f"{after}/{phase}")
    ran = run_here(
        "forecast", "upgrade", "--argocd", version, "--snapshot", old, "-o", "json=it.json", "-q", cwd=tmp_path
    )
    assert ran.code == 0, ran.err
    found = score(forecast_of(tmp_path / "it.json"), old, new, recording(after) / "truth.yaml")
    assert (found.missed, found.false) == (frozenset(), frozenset())
    assert len(found.hits) == changes[PHASES.index(phase)]


ORDERS = [
    ("argocd=3.6 kubernetes=1.36", "", ["Argo CD before Kubernetes"]),
    ("kubernetes=1.36", "batch-v1beta1", ["The manifests before Kubernetes"]),
    ("external-secrets=2.9", "batch-v1beta1", ["The CRDs of External Secrets before its operator"]),
    ("external-secrets=2.9", "external-secrets.io-v1beta1", ["External Secrets 0.16 next", "The CRDs"]),
    ("external-secrets=0.16", "external-secrets.io-v1beta1", ["The CRDs"]),
    ("external-secrets=2.9", "external-secrets.io-v1alpha1", ["External Secrets 0.5 to", "External Secrets 0.16", "The CRDs"]),
    ("external-secrets=2.9 kubernetes=1.36", "external-secrets.io-v1beta1", ["External Secrets 0.16", "The CRDs"]),
]  # fmt: skip
"""Upgrades, an API version that goes, and how the sentences on their order begin."""


@pytest.mark.parametrize(("asked", "removed", "said"), ORDERS)
def test_what_must_come_first_is_said_where_it_matters(asked: str, removed: str, said: list[str]) -> None:
    known = products(upgrade_tables())
    today = {"argocd": "3.5", "kubernetes": "1.30", "external-secrets": "0.15"}
    wanted = dict(one.split("=") for one in asked.split())
    steps = {id_: step(known[id_], today[id_], version) for id_, version in wanted.items()}
    causes = [Finding("it goes", Location(AppRef("argocd", "web")), f"removed-api-{removed}")] if removed else []
    sentences = list(order_sentences(steps, causes))
    assert [text.startswith(begin) for text, begin in zip(sentences, said, strict=True)] == [True] * len(said)


def test_a_check_of_the_servers_own_stays_in_the_place_of_a_new_one() -> None:
    one = database("a", "False")
    own = {f"{one['apiVersion'].partition('/')[0]}/{one['kind']}": {"health.lua": "return {status = 'Healthy'}"}}
    concerned = fleet(app("web", one), version="v3.0.0", settings={"resourceOverrides": own})
    assert of(forecast(concerned, argocd="3.6"), "health-checks-3.1") == []


def test_nothing_is_forecast_twice() -> None:
    concerned, _, wanted, _ = CASES["missing-in-part"]
    found = forecast(concerned, **wanted)
    assert len({(f.cause, str(f.at)) for f in found.findings}) == len(found.findings)
    assert replace(found, findings=()).rows == found.rows


def test_every_upgrade_note_of_argo_cd_is_a_row_or_says_why_it_is_none() -> None:
    """The list has each heading; what the rows read in those files is in it."""
    notes = yaml.safe_load((Path(__file__).parent / "upgrade_notes.yaml").read_text())
    named = {row for of in notes.values() for rows in of.values() if isinstance(rows, list) for row in rows}
    rows = {row.id: row for row in every_row() if row.product == "argocd"}
    assert named <= rows.keys()
    read = {id_ for id_, row in rows.items() if "docs/operator-manual/upgrading/" in row.source}
    assert read - named == set()
    assert all(isinstance(rows, list) or len(rows) > 15 for of in notes.values() for rows in of.values())


@pytest.mark.parametrize("company", ["harbourline-2.14", "harbourline", "harbourline-3.6"])
def test_forecasts_of_clusters_say_what_the_recorded_lists_say_and_nothing_else(company: str) -> None:
    """What is written for v1beta1 is all that External Secrets 2.9 breaks there; what runs on Kubernetes 1.36 breaks by no step up to it."""
    t = SnapshotTransport([recording(f"{company}/3-after-commits")])
    known, _ = read_fleet(t)
    found = upgrades(t, known, (), {"external-secrets": "2.9"}, Plan((), workers=1))[1]
    said = {
        (f.at.app.name, r.kind, r.name)
        for f in found.findings
        for r in (f.at.resource, *(related.resource for related in f.related))
        if r is not None
    }
    written = {
        (app.name, row.kind, row.name)
        for app in known.apps
        for row in app.rows
        if (row.group, getattr(row, "version", "")) == ("external-secrets.io", "v1beta1")
        if "v1beta1" in known.served_versions(app.cluster, row.group, row.kind)
    }
    assert written
    assert said == written
    assert {f.cause for f in found.findings} == {"removed-api-external-secrets.io-v1beta1"}
    older = {s: {**raw, "info": {**raw["info"], "serverVersion": "1.30"}} for s, raw in known.clusters.items()}
    stepped = upgrades(t, replace(known, clusters=older), (), {"kubernetes": "1.36"}, Plan((), workers=1))[1]
    assert stepped.findings == ()
