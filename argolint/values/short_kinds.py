"""Kinds in kubectl's spellings: short names and plurals. They give the kind only; the API group comes from the object."""

from __future__ import annotations

from collections.abc import Mapping

_SHORT: Mapping[str, str] = {
    "cj": "cronjob",
    "cm": "configmap",
    "cr": "certificaterequest",
    "crd": "customresourcedefinition",
    "cert": "certificate",
    "deploy": "deployment",
    "ds": "daemonset",
    "ep": "endpoints",
    "ev": "event",
    "hpa": "horizontalpodautoscaler",
    "ing": "ingress",
    "limits": "limitrange",
    "netpol": "networkpolicy",
    "ns": "namespace",
    "pc": "priorityclass",
    "pdb": "poddisruptionbudget",
    "po": "pod",
    "pv": "persistentvolume",
    "pvc": "persistentvolumeclaim",
    "quota": "resourcequota",
    "rc": "replicationcontroller",
    "rs": "replicaset",
    "sa": "serviceaccount",
    "sc": "storageclass",
    "sts": "statefulset",
    "svc": "service",
    # Argo
    "app": "application",
    "apps": "application",
    "appproj": "appproject",
    "appset": "applicationset",
    "ro": "rollout",
    "wf": "workflow",
    # External Secrets
    "ces": "clusterexternalsecret",
    "css": "clustersecretstore",
    "es": "externalsecret",
    "ps": "pushsecret",
    "ss": "secretstore",
    # Istio, Gateway API, KEDA, Prometheus
    "dr": "destinationrule",
    "gtw": "gateway",
    "gw": "gateway",
    "prom": "prometheus",
    "promrule": "prometheusrule",
    "se": "serviceentry",
    "smon": "servicemonitor",
    "so": "scaledobject",
    "vs": "virtualservice",
}


def kinds(word: str) -> frozenset[str]:
    """The kinds, in lower case, that `cm`, `configmaps` or `ConfigMap` may refer to; a word with a glob stays as it is.

    A group after the kind, as in `deployments.apps`, is dropped.
    """
    typed = word.lower()
    if set("*?[") & set(typed):
        return frozenset((typed,))
    typed = typed.partition(".")[0]
    plurals = {typed.removesuffix("s"), typed.removesuffix("es")}
    if typed.endswith("ies"):
        plurals.add(f"{typed[:-3]}y")
    return frozenset({typed, _SHORT.get(typed, typed), *plurals} - {""})
