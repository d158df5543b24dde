"""One kubectl short name is used by several kinds

What it finds: a cluster that serves more than one kind with the short name `es`: External Secrets, Kubernetes External Secrets, Argo Events'
EventSource, Elasticsearch. One finding for each cluster with ExternalSecrets. If the account may not see clusters, the objects and CRDs of
applications there count.

Why it hurts: `kubectl get es` and `kubectl annotate es` then silently select one of them, by the alphabetical order of group and version in
discovery (not by the order of installation, a common error). An emergency command changes the wrong object or finds none.

How to fix: write the full name in commands and runbooks.

Example:

    Cluster https://kubernetes.default.svc answers to the short name "es" with externalsecrets.external-secrets.io and eventsources.argoproj.io: a command with it may mean the wrong kind.

Sources: external-secrets issues 988 and 3704; kube-aggregator pkg/apis/apiregistration/v1/helper (group order).
"""

from collections.abc import Iterator, Sequence

from argolint import App, Edit, Fact, Finding, Fix, Fleet, Location, Object, ResourceKey, Rule
from argolint.values.knowledge import load

from . import _external_secret as es


def collect(app: App, fleet: Fleet, options: object) -> Iterator[Fact]:
    """The ambiguous short names of the application's cluster, if it has ExternalSecrets."""
    if not any(r.kind == "ExternalSecret" and r.group in (es.GROUP, es.KES_GROUP) for r in app.resources):
        return
    served = {_unversioned(v) for v in fleet.api_versions(app.cluster) if v.count("/") > 1}
    for short, kinds in load(__package__, "short_names.yaml").items():
        found = [k["full"] for k in kinds if (k["kind"] in served if served else _is_managed(fleet, app.cluster, k))]
        if len(found) > 1:
            yield Fact(f"{app.cluster}|{short}", app.ref, {"cluster": app.cluster, "short": short, "full": found})


def _unversioned(served: str) -> str:
    group, _, kind = served.split("/", 2)
    return f"{group}/{kind}"


def _is_managed(fleet: Fleet, cluster: str, known: Object) -> bool:
    """Whether an application manages an object of the kind, or its CRD; for an account that may not see the cluster's kinds."""
    group, _, kind = known["kind"].partition("/")
    crd = ResourceKey(cluster, "apiextensions.k8s.io", "CustomResourceDefinition", "", known["full"])
    return bool(fleet.of_kind(cluster, group, kind) or fleet.owners(crd))


def join(key: str, facts: Sequence[Fact], options: object) -> Iterator[Finding]:
    """One finding for each cluster and short name, at the first application."""
    data = facts[0].data
    names = " and ".join(data["full"])
    yield Finding(
        message=f'Cluster {data["cluster"]} answers to the short name "{data["short"]}" with {names}: a command with it may mean the wrong kind.',
        at=Location(facts[0].app),
        fixes=(
            Fix(
                "Type the full name",
                "live",
                "commands and runbooks",
                Edit("command", "\n".join(f"kubectl get {full} -A" for full in data["full"])),
                safe=True,
            ),
        ),
    )


RULE = Rule(**Rule.page(__name__), severity="info", collect=collect, join=join)
