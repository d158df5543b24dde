"""A port without protocol breaks the merge

What it finds: a comparison or sync that failed because an entry of a list omits a merge key of that list, usually `protocol` of a port
("associative list with keys has an element that omits key field \"protocol\"").

Why it hurts: Argo CD cannot compare the whole application, so no object of it is synced or shown.

How to fix: write the key in every entry of the list, `protocol: TCP` for ports.

Example: a Service with `ports: [{port: 53}, {port: 53, protocol: UDP}]` under server-side apply.

Sources: argoproj/argo-cd#19402; sigs.k8s.io/structured-merge-diff typed/helpers.go.
"""

import re
from collections.abc import Iterator

from argolint import App, Finding, Fleet, Location, Rank, Rule
from argolint.edits import manifest_text
from argolint.values.patterns import regex

from ._edits import source_place
from ._refused import refusals

_MESSAGE = regex(
    r"^(?![\s\S]*error removing non config mutations)[\s\S]*?"  # there the server-side diff itself breaks the list
    r"(?:(?<![\w.\[\]=\"/:,-])(?P<path>\.[\w.\[\]=\"/:,-]*?))?:? ?element \d+: .{0,300}omits key field \"(?P<key>\w+)\"",
    re.DOTALL,
)


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each application."""
    found = tuple(refusals(app, _MESSAGE))
    if not found:
        return
    match = _MESSAGE.search(found[0].message)
    assert match is not None
    path, key = match["path"] or "a list", match["key"]
    yield Finding(
        message=f"An entry of {path} in {app.name} has no {key!r}, so Argo CD can neither compare nor sync it.",
        at=Location(app.ref),
        evidence=tuple(dict.fromkeys(refusal.message for refusal in found)),
        explains=tuple(refusal.symptom for refusal in found),
        fixes=(
            manifest_text(
                source_place(app),
                f"Write {key} in every entry of {path}",
                f"{key}: {'TCP' if key == 'protocol' else '...'}",
            ),
        ),
    )


RULE = Rule(**Rule.page(__name__), severity="error", check=check, rank=Rank.CAUSE)
