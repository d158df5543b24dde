"""An ExternalSecret or PushSecret has a template that does not use its values

What it finds: an ExternalSecret, also in the template of a ClusterExternalSecret, whose `target.template` writes the whole Secret without an
action that could use a fetched value: no value of `spec.data` and `spec.dataFrom` gets into the Secret. A PushSecret that pushes a key of such a template. Also a rewrite whose target uses a group
that its source does not have, such as `$1_URL` (Go reads the group "1_URL"): the keys lose their names.

Why it hurts: it is Ready, and the Secret has fixed text, such as a connection string without its password. In a Helm chart the usual reason is
that Helm itself has evaluated `{{ .password }}`, which is empty there.

How to fix: in a Helm chart write the action so that Helm prints it: ``{{ `{{ .password }}` }}``. Otherwise use the fetched keys in the template,
or set `mergePolicy: Merge`, which keeps them next to it. In a rewrite put the group in braces: `${1}_URL`.

Example: `url: postgres://app:@db/shop`, where the chart's source reads `postgres://app:{{ .password }}@db/shop`.

Sources: external-secrets pkg/controllers/externalsecret/externalsecret_controller_template.go (ApplyTemplate), docs/guides/templating.md.
"""

from collections.abc import Iterator
from dataclasses import replace

from argolint import App, Edit, Finding, Fix, Fleet, Location, Resource, Rule
from argolint.edits import manifest_patch, manifest_text
from argolint.values import dig, enumerated, items, mapping, maps, text_at

from ..shared import charts
from . import _external_secret as es
from ._rewrite import LostGroup, braces_fix, lost_groups
from ._template import uses_nothing


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each manifest."""
    for found in es.declared(app):
        if es.creation_policy(found.manifest) != "None" and uses_nothing(found.manifest):
            yield _finding(app, found)
        elif es.ready_condition(found.resource.live).get("status") != "False":
            yield from (_lost_group_finding(app, found, lost) for lost in lost_groups(found.manifest))
    for resource in app.of_kind("PushSecret", es.GROUP):
        if not resource.extra and (pushed := _pushed_finding(app, resource)) is not None:
            yield pushed


def _pushed_finding(app: App, resource: Resource) -> Finding | None:
    """The finding for a PushSecret whose template writes a key that it pushes, and takes nothing from its source."""
    template = mapping(resource.any, "spec", "template")
    pushed = [text_at(entry, "match", "secretKey") for entry in maps(resource.any, "spec", "data")]
    fixed = next((key for key in pushed if key in mapping(template, "data")), "")
    spec = {"target": {"template": {**template, "mergePolicy": "Replace"}}, "data": [{"secretKey": fixed}]}
    if not fixed or not uses_nothing({"apiVersion": "external-secrets.io/v1", "spec": spec}):
        return None
    text = "Write {{ .key }} for a key of the source Secret; in a chart {{ `{{ .key }}` }}, or Helm evaluates it first."
    return Finding(
        message=f'{resource.id} pushes fixed text as "{fixed}": nothing of its template uses a key of its source.',
        at=Location(app.ref, resource.id, "/spec/template"),
        fixes=(
            Fix("Use a key of the source Secret in the template", "manifest", str(resource.id), Edit("text", text)),
        ),
    )


def _lost_group_finding(app: App, found: es.Declared, lost: LostGroup) -> Finding:
    """The finding for a rewrite that loses the distinction between keys: all keys that it fetches get one name."""
    lost = replace(lost, pointer=found.pointer(lost.pointer))
    return Finding(
        message=f"{found.resource.id} loses the names of its keys: {lost.says}.",
        at=Location(app.ref, found.resource.id, lost.pointer),
        evidence=(
            "Go takes the longest run of letters, digits and underscores after $ for the name; one that is not there is empty",
        ),
        fixes=(braces_fix(lost, str(found.resource.id), found.resource.id),),
    )


def _finding(app: App, found: es.Declared) -> Finding:
    keys = [str(dig(entry, "secretKey") or "") for entry in items(found.manifest, "spec", "data")]
    names = enumerated([f'"{key}"' for key in keys if key]) or "what dataFrom brings"
    by_helm = charts.uses(app, "Helm")
    first = next((key for key in keys if key), "key")
    written = f"{{{{ .{first} }}}}" if first.isidentifier() else f'{{{{ index . "{first}" }}}}'
    escape = manifest_text(
        found.resource.id,
        "Keep Helm from evaluating the template: print its braces",
        f"In the chart write {{{{ `{written}` }}}} wherever the Secret shall hold a fetched value.",
    )
    merge = manifest_patch(
        found.resource.id,
        "Use the fetched keys in the template, or keep them next to it with mergePolicy: Merge",
        found.set("/spec/target/template/mergePolicy", "Merge"),
        "Merge adds the keys under their own names; the text of the template stays as it is",
    )
    pointer = found.pointer("/spec/target/template")
    texts = sorted(mapping(found.manifest, "spec", "target", "template", "data"))
    return Finding(
        message=f"{found.resource.id} fetches {names}, and nothing of its template uses it: {es.target_text(found.manifest)} holds fixed text only.",
        at=Location(app.ref, found.resource.id, pointer),
        evidence=(
            f"keys that the template writes: {enumerated([repr(key) for key in texts], limit=None) or 'those of its literals'}",
            *(
                ("the application's source is Helm, which evaluates {{ }} before External Secrets sees it",)
                if by_helm
                else ()
            ),
        ),
        fixes=(escape, merge) if by_helm else (merge,),
    )


RULE = Rule(**Rule.page(__name__), severity="warning", check=check, reads=es.holds_external_secrets)
