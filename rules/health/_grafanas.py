"""The Grafanas that an object of the Grafana operator selects, and why the operator uses none (grafana-operator, controllers/controller_shared.go)."""

from __future__ import annotations

from collections.abc import Mapping

from argolint import App, Fleet, Resource
from argolint.values import dig, mapping, text_at
from argolint.values.knowledge import dump

from ..shared.labels import label_selector, labels_at

NO_FACTS: Mapping[str, str] = {"grafana": "", "unready": "", "selected": "", "unlabelled": "", "labels": ""}


def grafana_facts(app: App, fleet: Fleet, resource: Resource) -> Mapping[str, str]:
    """The facts of advice. Each names a Grafana, as namespace/name, but `labels`.

    grafana      the only one of the fleet, if it is in another namespace and the object does not allow that
    unready      one that it selects, and that is not complete, so that the operator leaves it out
    selected     one that it selects, and that is complete
    unlabelled   the only one that it may use; it lacks `labels`
    """
    every = fleet.of_kind(app.cluster, resource.group, "Grafana")
    anywhere = dig(resource.any, "spec", "allowCrossNamespaceImport") is True
    if len(every) == 1 and every[0].namespace != resource.namespace and not anywhere:
        return {**NO_FACTS, "grafana": f"{every[0].namespace}/{every[0].name}"}
    selector = label_selector(dig(resource.any, "spec", "instanceSelector"))
    near = [
        g for g in app.of_kind("Grafana", resource.group) if g.live and (anywhere or g.namespace == resource.namespace)
    ]
    if selector is None or not near:
        return NO_FACTS
    for grafana in near:
        if selector.matches(labels_at(mapping(grafana.live, "metadata"))):
            stage = mapping(grafana.live, "status")
            complete = (text_at(stage, "stage"), text_at(stage, "stageStatus")) == ("complete", "success")
            return {**NO_FACTS, "selected" if complete else "unready": f"{grafana.namespace}/{grafana.name}"}
    if len(every) > 1 or selector.others:
        return NO_FACTS
    labels = {"metadata": {"labels": dict(selector.equal)}}
    return {**NO_FACTS, "unlabelled": f"{near[0].namespace}/{near[0].name}", "labels": dump([labels]).rstrip()}
