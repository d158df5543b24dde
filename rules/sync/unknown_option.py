"""An option, hook or wave that Argo CD does not know

What it finds: a word that Argo CD does not read: a sync option or compare option of an Application or of a manifest, a hook type, a hook delete
policy or a sync wave. It is misspelt, in another case, with a space, with an unknown value, or at a place where Argo CD does not read it
(`RespectIgnoreDifferences=true` on a manifest, `Force=true` in an Application, a sync wave among the labels), or this release of Argo CD does not
read it there yet (`SkipDryRunOnMissingResource=true` in an Application before 3.1). Also an annotation of
`argocd.argoproj.io` whose name is nearly a known one, and a finalizer of an Application that Argo CD does not know.

Why it hurts: Argo CD compares whole words and does not report others. The namespace is not created, the object is pruned all the same, the wave
is 0. An object with an unknown hook type belongs to no phase, so no sync ever applies it.

How to fix: write the word in the form and at the place that Argo CD reads.

Argo CD shows no sign of this fault. The rule always checks the words of an Application. It checks those of manifests in fleets of up to 200
applications, if another rule reads the application, or with `--deep`. A hook of an unknown type is no managed object: only `--manifests` shows it.

Example: `argocd.argoproj.io/hook: PreSyncc`, `syncOptions: [CreateNamespace=True]`.

Sources: gitops-engine/pkg/sync/hook/hook.go, sync_phase.go, syncwaves/waves.go, resource/annotations.go; options.yaml.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import islice
from typing import Any

from argolint import App, Edit, Finding, Fix, Fleet, Json, Location, Object, ResourceId, Rule, Want
from argolint.edits import annotation_option, application_patch, application_place, manifest_text, sync_option
from argolint.redaction import excerpt
from argolint.values import annotations_of, comma_list, dig, items, join_pointer, labels_of, parse_version
from argolint.values.knowledge import load
from argolint.values.kubernetes import ARGOCD_ANNOTATION, COMPARE_OPTIONS, HOOK, SYNC_OPTIONS, SYNC_WAVE, api_of
from argolint.values.patterns import regex

from ..shared.triage import worth_reading

_DOMAIN = "argocd.argoproj.io/"
_POLICY, _HELM_HOOK = f"{_DOMAIN}hook-delete-policy", "helm.sh/hook"
_HELM_WEIGHT = "helm.sh/hook-weight"
_NUMBER = 'Write the wave as a whole number in quotes, such as "1" or "-1"'
_WAVE = regex(r"[+-]?[0-9]{1,9}")


@dataclass(frozen=True)
class Fault:
    """A word at `pointer` that Argo CD does not read.

    then    the consequence
    right   the whole text that Argo CD would read there; None if nothing is similar
    move    the table of the place where Argo CD reads this word
    younger a later release of Argo CD reads it there
    written the title of the fix where no correction is known
    """

    pointer: str
    word: str
    consequence: str
    correction: str | None = None
    move: str = ""
    younger: bool = False
    written: str = ""


def wants(app: App, fleet: Fleet, options: object) -> Iterator[Want]:
    """The plain manifests: a hook of an unknown type is not among the managed objects."""
    yield Want("manifests")


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each word, those of the Application first."""
    for fault in (*_application_faults(app), *_younger_application_options(app, fleet)):
        yield _finding(app, None, fault)
    reported = set()
    for id_, manifest in _manifests(app):
        if id_.key not in reported:
            reported.add(id_.key)
            for fault in (*_manifest_faults(manifest), *_younger_manifest_options(manifest, fleet)):
                yield _finding(app, id_, fault)


def _manifests(app: App) -> Iterator[tuple[ResourceId, Object]]:
    for resource in app.mentioning(ARGOCD_ANNOTATION, "desired"):
        if resource.desired is not None:
            yield resource.id, resource.desired
    for manifest in app.evidence.get(Want("manifests")) or ():
        group, version = api_of(manifest)
        name, kind = str(dig(manifest, "metadata", "name") or ""), str(manifest.get("kind") or "")
        namespace = str(dig(manifest, "metadata", "namespace") or "")
        for place in (namespace, app.destination_namespace):
            managed = app.find(group, kind, place, name)
            if managed is not None:
                break
        yield managed.id if managed else ResourceId(group, kind, namespace, name, version, app.cluster), manifest


def _application_faults(app: App) -> Iterator[Fault]:
    options = items(app.spec, "syncPolicy", "syncOptions")
    for index, option in enumerate(options):
        if isinstance(option, str):
            place = f"/spec/syncPolicy/syncOptions/{index}"
            yield from _option_faults(place, option, option, "application-sync-options", "resource-sync-options")
    marks = annotations_of(app.raw)
    for name, table, other in (
        (COMPARE_OPTIONS, "application-compare-options", "resource-compare-options"),
        (SYNC_OPTIONS, "resource-sync-options", "application-sync-options"),
    ):
        yield from _option_list_faults(marks, name, table, other)


def _finalizer_faults(application: Object) -> Iterator[Fault]:
    """Finalizers of an Application with Argo CD's domain, which nothing of Argo CD removes (pkg/apis/application/v1alpha1/application_defaults.go)."""
    for index, word in enumerate(items(application, "metadata", "finalizers")):
        if isinstance(word, str) and "argocd.argoproj.io" in word and not _FINALIZER.fullmatch(word):
            then = "its objects stay when it is deleted, and the deletion waits for the finalizer"
            close = difflib.get_close_matches(word, ("resources-finalizer.argocd.argoproj.io",), 1, 0.85)
            yield Fault(f"/metadata/finalizers/{index}", word, then, close[0] if close else None)


_FINALIZER = regex(r"(?:resources-finalizer|(?:pre|post)-delete-finalizer)\.argocd\.argoproj\.io(?:/\w{1,40})?")


def _younger_application_options(app: App, fleet: Fleet) -> Iterator[Fault]:
    """Options of the Application that only later releases read; some are read of objects before."""
    for index, option in enumerate(items(app.spec, "syncPolicy", "syncOptions")):
        if since := _first_release(fleet, "application-sync-options", option):
            of_objects = option in _known_words("resource-sync-options")
            move = (
                "resource-sync-options"
                if of_objects and not _first_release(fleet, "resource-sync-options", option)
                else ""
            )
            then = f"Applications have it from Argo CD {since}, and this is {fleet.version}"
            yield Fault(f"/spec/syncPolicy/syncOptions/{index}", option, then, move=move, younger=True)


def _younger_manifest_options(manifest: Object, fleet: Fleet) -> Iterator[Fault]:
    for option in _words(annotations_of(manifest).get(SYNC_OPTIONS)):
        if since := _first_release(fleet, "resource-sync-options", option):
            then = f"objects have it from Argo CD {since}, and this is {fleet.version}"
            yield Fault(_annotation_pointer(SYNC_OPTIONS), option, then, younger=True)


def _first_release(fleet: Fleet, table: str, option: Json) -> str:
    """The first release that reads the option there, if this server is older; else empty."""
    since = str(load(__package__, "options.yaml")[f"{table}-since"].get(option, "")) if isinstance(option, str) else ""
    version = parse_version(fleet.version)
    return since if since and version and version[:2] < (parse_version(since) or ())[:2] else ""


def _manifest_faults(manifest: Object) -> Iterator[Fault]:
    marks = annotations_of(manifest)
    yield from _option_list_faults(marks, SYNC_OPTIONS, "resource-sync-options", "application-sync-options")
    # an Application's own words have their own findings
    if (manifest.get("kind"), api_of(manifest)[0]) == ("Application", "argoproj.io"):
        yield from _finalizer_faults(manifest)
    else:
        yield from _option_list_faults(
            marks, COMPARE_OPTIONS, "resource-compare-options", "application-compare-options"
        )
    yield from _hook_faults(marks)
    for word in _words(marks.get(_POLICY)):
        if word not in _known_words("hook-delete-policies"):
            then = "the hook is deleted before it is created again, as without it"
            fault = _word_fault(marks, _POLICY, word, _known_words("hook-delete-policies"), then)
            yield replace(fault, written=f"Write {' or '.join(_known_words('hook-delete-policies'))}, or leave it out")
    wave = marks.get(SYNC_WAVE)
    if isinstance(wave, str) and not _WAVE.fullmatch(wave):
        number = _WAVE.fullmatch(wave.strip())
        instead = "by its Helm hook weight" if _HELM_WEIGHT in marks else "in wave 0"
        then = f"a wave is a whole number, so the object is applied {instead}"
        yield Fault(_annotation_pointer(SYNC_WAVE), wave, then, wave.strip() if number else None, written=_NUMBER)
    yield from _annotation_name_faults(manifest)


def _hook_faults(marks: Mapping[str, str]) -> Iterator[Fault]:
    words, known = _words(marks.get(HOOK)), _known_words("hooks")
    helm = [word for word in _words(marks.get(_HELM_HOOK)) if word in _known_words("helm-hooks")]
    if any(word in known for word in words):
        then = "the object runs only in the other phases that it names"
    elif helm:
        then = f"its Helm hook ({', '.join(helm)}) decides"
    else:
        then = "the object belongs to no phase and no sync ever applies it"
    for word in words:
        if word not in known:
            yield _word_fault(marks, HOOK, word, known, then)


def _annotation_name_faults(manifest: Object) -> Iterator[Fault]:
    """Faults of annotations whose names are nearly known ones, and of known ones among the labels."""
    for name in annotations_of(manifest):
        if name.startswith(_DOMAIN) and (close := _similar_annotation(name)):
            yield Fault(_annotation_pointer(name), name, f"nothing reads it; there is {close}")
    for name in (SYNC_WAVE, SYNC_OPTIONS, COMPARE_OPTIONS, HOOK, _POLICY):
        if name in labels_of(manifest):
            yield Fault(
                join_pointer("metadata", "labels", name), name, "it is read only from annotations, not from labels"
            )


@lru_cache(maxsize=1024)
def _similar_annotation(name: str) -> str:
    """The known annotation with nearly this name; empty for a known one, and for a different word."""
    known = _known_words("annotations")
    if name in known:
        return ""
    close = difflib.get_close_matches(name.removeprefix(_DOMAIN), [k.removeprefix(_DOMAIN) for k in known], 1, 0.85)
    return f"{_DOMAIN}{close[0]}" if close else ""


def _option_list_faults(marks: Mapping[str, str], name: str, table: str, other: str) -> Iterator[Fault]:
    for option in _words(marks.get(name)):
        yield from _option_faults(_annotation_pointer(name), option, str(marks.get(name)), table, other)


def _option_faults(pointer: str, option: str, whole: str, table: str, other: str) -> Iterator[Fault]:
    """The fault of one `Name=value`, if it has one; `whole` is the text that contains it."""
    known = _known_options(table)
    name, _, value = option.partition("=")
    if name in known and (value in known[name] or (not known[name] and option == name)):
        return
    elsewhere = _known_options(other)
    if name in elsewhere and name not in known and (value in elsewhere[name] or not elsewhere[name]):
        if value != "false":
            yield Fault(pointer, option, _ELSEWHERE[other], move=other)
        return
    right = _meant_option(option, known)
    then = "only the exact spelling counts"
    yield Fault(pointer, option, then, whole.replace(option, right, 1) if right else None)


_ELSEWHERE = {
    "application-sync-options": "it is read only from the Application's spec.syncPolicy.syncOptions",
    "resource-sync-options": "it is read only from the object's own annotation argocd.argoproj.io/sync-options",
    "application-compare-options": "it is read only from the Application's own annotation",
    "resource-compare-options": "it is read only from the object's own annotation",
}


def _meant_option(option: str, known: Mapping[str, list[str]]) -> str | None:
    """The option as Argo CD reads it: the closest name, and the value in its right case; None if either is a guess."""
    name, _, value = (option if "=" in option else option.replace(":", "=", 1)).partition("=")
    lower = {known_name.lower(): known_name for known_name in known}
    if (negated := _NEGATED.match(name.strip())) and (meant := lower.get(negated[1].lower())):
        opposite = {"true": "false", "false": "true"}.get(value.strip().lower(), "")
        return f"{meant}={opposite}" if opposite in known[meant] else None
    close = difflib.get_close_matches(name.strip().lower(), lower, 1, 0.75)
    if not close:
        return None
    meant = lower[close[0]]
    if not known[meant]:
        return meant
    values = {accepted.lower(): accepted for accepted in known[meant]}
    found = values.get(value.strip().strip("\"'").lower())
    return f"{meant}={found}" if found else None


_NEGATED = regex(r"(?:Disable|No|Skip|Dont|Not)-?([A-Z]\w{1,60})$")
"""A name that says the opposite of an option's, as in `DisableClientSideApplyMigration`."""


def _word_fault(marks: Mapping[str, str], name: str, word: str, known: Iterable[str], consequence: str) -> Fault:
    lower = {k.lower(): k for k in known}
    close = difflib.get_close_matches(word.lower().replace("-", ""), lower, 1, 0.75)
    right = str(marks.get(name)).replace(word, lower[close[0]], 1) if close else None
    return Fault(_annotation_pointer(name), word, consequence, right)


def _words(text: Json) -> list[str]:
    return list(islice(dict.fromkeys(comma_list(text)), _MOST_WORDS))


_MOST_WORDS = 100
"""Most words of one annotation that are read; Argo CD has a dozen."""


@cache
def _known_options(table: str) -> Mapping[str, list[str]]:
    """name -> the values that Argo CD reads for it; none for a word without a value."""
    found: dict[str, list[str]] = {}
    for word in _known_words(table):
        name, is_pair, value = word.partition("=")
        found.setdefault(name, []).extend([value] if is_pair else [])
    return found


def _known_words(name: str) -> list[str]:
    words: list[str] = load(__package__, "options.yaml")[name]
    return words


def _annotation_pointer(annotation: str) -> str:
    return join_pointer("metadata", "annotations", annotation)


def _finding(app: App, id_: ResourceId | None, fault: Fault) -> Finding:
    subject = str(id_) if id_ else f"Application {app.ref}"
    return Finding(
        message=f'Argo CD ignores "{excerpt(fault.word, 80)}" of {subject}: {fault.consequence}.',
        at=Location(app.ref, id_, fault.pointer),
        severity="info" if _is_harmless(app, fault) else None,
        fixes=tuple(_fixes(app, id_, fault)),
    )


def _is_harmless(app: App, fault: Fault) -> bool:
    """Whether nothing has needed an option of a later release so far; what keeps objects from deletion is missed only when it is too late."""
    return fault.younger and app.sync_status == "Synced" and not fault.word.startswith(("Prune=", "Delete="))


def _fixes(app: App, id_: ResourceId | None, fault: Fault) -> Iterator[Fix]:
    if fault.move:
        yield _move_fix(app, fault)
    if fault.correction is None:
        if fault.written and id_:
            yield manifest_text(id_, fault.written, f"{fault.pointer}: it is {excerpt(fault.word, 80)} now")
        return
    operation: dict[str, Any] = {"op": "replace", "path": fault.pointer, "value": fault.correction}
    yield Fix(
        f'Write "{excerpt(fault.correction, 80)}"',
        "manifest" if id_ else "application",
        str(id_) if id_ else application_place(app),
        Edit("json-patch", [operation]),
        caveat="it then takes effect: first check what it does",
        resource=id_,
    )


def _move_fix(app: App, fault: Fault) -> Fix:
    """The fix that moves the word to its place; a person must decide which objects need one of theirs."""
    caveat = "it then takes effect for the whole application"
    if fault.move == "application-sync-options":
        return application_patch(app, "Set it on the Application", sync_option(app, fault.word), caveat)
    if fault.move == "application-compare-options":
        patch = annotation_option(app.raw, COMPARE_OPTIONS, fault.word)
        return application_patch(app, "Set it on the Application", patch, caveat)
    name = SYNC_OPTIONS if fault.move == "resource-sync-options" else COMPARE_OPTIONS
    text = Edit("yaml", f"metadata:\n  annotations:\n    {name}: {fault.word}")
    return Fix("Set it on the objects that need it", "manifest", "the objects that need it", text)


RULE = Rule(**Rule.page(__name__), severity="warning", check=check, wants=wants, reads=worth_reading)
