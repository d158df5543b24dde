"""Whether an operator decides which namespaces an Argo CD manages, by the account in a message or Argo CD's own namespace."""

from __future__ import annotations

from collections.abc import Mapping

from argolint import App, Fleet, Json
from argolint.application.fleet import IN_CLUSTER
from argolint.values.patterns import regex

_NAMED_NAMESPACE = regex(r'\b[Nn]amespace "([a-z0-9-]{1,63})"')


def managed_namespace_facts(app: App, fleet: Fleet, user: str, message: str) -> Mapping[str, Json]:
    """The facts for advice on an account without rights in a namespace.

    managed           the namespace in the message
    control_plane     the namespace of Argo CD
    of_operator       True in OpenShift GitOps, and where the cluster of Argo CD serves the operator's kind ArgoCD
    perhaps_operator  True if the account has argocd-operator's form (NAME-argocd-application-controller), which a Helm release with another
                      name uses as well
    operator_account  True for such an account, even if the message names no namespace
    of_namespaces     True if an operator made the account and its Argo CD reads the whole cluster: another kind follows each one that is granted
    """
    named = _NAMED_NAMESPACE.search(message)
    account = user.split(":")
    space = account[2] if user.startswith("system:serviceaccount:") and len(account) > 3 else app.control_plane
    served = bool(fleet.served_versions(IN_CLUSTER, "argoproj.io", "ArgoCD"))
    of_operator = space == "openshift-gitops" or served
    operated = user.endswith("-argocd-application-controller")
    return {
        "managed": named[1] if named else "",
        "of_operator": bool(named) and of_operator,
        "perhaps_operator": bool(named) and not of_operator and operated,
        "operator_account": operated,
        "of_namespaces": served and operated and not named and space != "openshift-gitops",
        "control_plane": space or app.ref.namespace,
    }
