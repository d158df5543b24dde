"""Replays an edit of an Application against projects and clusters: does it end Argo CD's refusal of the spec?"""

from __future__ import annotations

from argolint.application.app import App
from argolint.application.fleet import Fleet
from argolint.application.permissions import is_widened, refusals
from argolint.model import Finding, Fix, Object
from argolint.proof.outcomes import CannotReplay, Contradicted, Proven
from argolint.values import below, mapping, text_at

_PLACES = ("/spec/destination", "/spec/project")


def concerns(fix: Fix, finding: Finding) -> bool:
    """True for an edit of destination or project only, on a finding about an InvalidSpecError."""
    paths = [str(operation.get("path", "")) for operation in fix.edit.content] if fix.edit.kind == "json-patch" else []
    placed = bool(paths) and all(any(below(path, place) for place in _PLACES) for path in paths)
    return fix.target == "application" and placed and any(_refused(finding))


def admitted(finding: Finding, app: App, after: Object, fleet: Fleet) -> Proven:
    """Returns if Argo CD accepts the edited spec. Raises CannotReplay if argolint does not reproduce the current refusal."""
    spec = mapping(after, "spec")
    project = text_at(spec, "project") or "default"
    if not fleet.clusters or project not in fleet.projects or is_widened(project, fleet.projects[project], fleet):
        raise CannotReplay("what the project permits, or which clusters there are, is not known here")
    cache = tuple(refusals(app.spec, fleet))
    if not all(message in cache for message in _refused(finding)):
        raise CannotReplay("argolint's own check of the spec does not agree with Argo CD's")
    for left in refusals(spec, fleet):
        if left not in cache or left in _refused(finding):  # another current refusal is another finding
            raise Contradicted(f"Argo CD would refuse it then: {left}")
    return Proven("replayed")


def _refused(finding: Finding) -> tuple[str, ...]:
    """The messages of the InvalidSpecErrors that the finding explains."""
    kind = "InvalidSpecError: "
    claims = (claim.detail for claim in finding.explains if claim.kind == "condition")
    return tuple(detail.removeprefix(kind) for detail in claims if detail.startswith(kind))
