"""The fixes for a random value: the pin of this chart at this version, else instructions for a search; last, to ignore it.

A pin to an existing Secret never names the rendered one: once the chart stops rendering it, a prune deletes it although pods still read it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from argolint import App, Edit, Fix
from argolint.model import Effect
from argolint.values import dig, enumerated, parse_time, parse_version, sh
from argolint.values.kubernetes import data_keys, kubectl_name
from argolint.values.patterns import regex

from ..shared import charts
from ..shared.chart_catalogue import verified_version
from ..shared.charts import Item, Pin, Release
from ..shared.pods import has_crashing_container, unwell_below
from ..shared.references import read_keys, reads_whole
from ._ignoring import ignore_fix
from ._items import hashed_items, item_at
from ._sign import WORKLOADS, Sign, checksum_values, referenced_names
from ._syncs import SLACK, last_written_at


@dataclass(frozen=True)
class NewSecret:
    """A Secret to create: each key with the command for its value, and the rendered one whose values it may keep."""

    name: str
    keys: Mapping[str, str | None]
    instead_of: str
    exists: bool = True
    """Whether the rendered one is live, so that its values can be kept."""
    absent: tuple[str, ...] = ()
    """Keys that pods read of the rendered one, and it does not hold."""
    elsewhere: tuple[str, ...] = ()
    """Keys that the chart wants of an existing Secret, and the rendered one does not hold."""

    @property
    def copied(self) -> tuple[str, ...]:
        """The keys that a copy of the rendered one has; none if that is not live."""
        return tuple(key for key in self.keys if key not in self.elsewhere) if self.exists else ()


def fixes(app: App, signs: Sequence[Sign], symptoms: Sequence[Sign]) -> tuple[Fix, ...]:
    """Ranked: an existing Secret, a fixed value, a later chart or the place to search; then ignoring the fields. Where nothing pins the value,
    ignoring comes first."""
    pinning, ignoring = pinning_fixes(app, signs), ignore_fix(app, signs, symptoms)
    if ignoring is None:
        return pinning
    only_asked = all(fix.title.startswith(_ASK) for fix in pinning)
    of_others = all(sign.item is None and _is_self_made(sign) for sign in signs) and _is_published(app)
    return (ignoring, *pinning) if only_asked or of_others else (*pinning, ignoring)


def _is_self_made(sign: Sign) -> bool:
    """Whether a chart seldom takes it from its values: the time of a render, or a certificate that it signs."""
    return sign.kind in ("stamp", "ca-bundle") or (
        sign.kind == "secret" and sign.key.endswith((".crt", ".key", ".pem"))
    )


def _is_published(app: App) -> bool:
    """Whether a chart of a repository makes the objects: its templates are not the reader's, and it may have no value for it."""
    return bool(app.sources) and all(source.get("chart") or source.get("ref") for source in app.sources)


_ASK = "Ask the maintainers"


def pinning_fixes(app: App, signs: Sequence[Sign]) -> tuple[Fix, ...]:
    """The fixes that make these values constant."""
    made = {
        fix.title: fix
        for release, found in _items_by_release(app, signs)
        for fix in _known_item_fixes(app, release, found, signs)
    }
    unknown = [sign for sign in signs if sign.item is None]
    return (*made.values(), *((_unknown_chart_fix(app, unknown),) if unknown or not made else ()))


def _items_by_release(app: App, signs: Sequence[Sign]) -> list[tuple[Release, tuple[Item, ...]]]:
    """The known items behind the signs, by chart; behind a checksum, every random item that it hashes."""
    releases: dict[str, Release] = {}
    found: dict[str, dict[str, Item]] = {}
    for sign in signs:
        if sign.item is not None and sign.release is not None:
            chart = sign.release.chart
            releases.setdefault(chart, sign.release)
            for item in (sign.item, *hashed_items(app, sign)):
                found.setdefault(chart, {}).setdefault(item.what, item)
    return [(releases[chart], tuple(known.values())) for chart, known in found.items()]


def _known_item_fixes(app: App, release: Release, found: Sequence[Item], signs: Sequence[Sign]) -> Iterator[Fix]:
    existing = [
        (item, _with_own_key(app, release, item, pin, signs))
        for item in found
        if (pin := _first_pin(item, release, existing=True))
    ]
    rest = [i for i in found if all(i is not item for item, _ in existing) and not _is_covered(i, existing)]
    fixed = [(item, pin) for item in found if (pin := _first_pin(item, release, existing=False))]
    made = []
    if existing:
        extra = [(item, pin) for item, pin in fixed if item in rest]
        made.append(_existing_secret_fix(app, release, existing, extra, signs))
    if fixed and (len(fixed) == len(found) or not existing):
        made.append(_values_fix(app, release, fixed, signs))
    copied = not any(new.elsewhere for i, pin in existing for new in _new_secrets(app, release, i, pin, signs).values())
    yield from made if copied else reversed(made)
    for item in found:
        if all(item is not known for known, _ in (*existing, *fixed)) and not _is_covered(item, existing):
            yield _newer_chart_fix(app, release, item, found, signs)


def _first_pin(item: Item, release: Release, *, existing: bool) -> Pin | None:
    return next((p for p in charts.pins(item, release) if names_secret(p) == existing), None)


def _with_own_key(app: App, release: Release, item: Item, pin: Pin, signs: Sequence[Sign]) -> Pin:
    """The pin with the rendered Secret's own name of a key that a value selects, so that a copy of it fits."""
    held = {key for secret in item.secrets for key in _held_keys(app, _rendered_name(app, release, secret.name, signs))}
    asked = [key for key in pin.keys if key not in held]
    own = sorted((_item_keys(item) & held) - set(pin.keys))
    if not len(asked) == len(own) == 1 or asked[0] not in pin.values.values():
        return pin
    names = {asked[0]: own[0]}
    values = {key: names.get(value, value) if isinstance(value, str) else value for key, value in pin.values.items()}
    return replace(pin, values=values, keys=tuple(names.get(key, key) for key in pin.keys))


def _held_keys(app: App, secret: str) -> set[str]:
    """The keys of the application's Secret of this name, as it is live."""
    return {key for r in app.of_kind("Secret", "") if r.name == secret for key in data_keys(r.live or r.any)}


def _is_covered(item: Item, existing: Sequence[tuple[Item, Pin]]) -> bool:
    """Whether an existing Secret that replaces the item's own one has all of its keys too."""
    pinned_keys = {key for other, pin in existing if _share_secret(item, other) for key in pin.keys}
    return bool(pinned_keys) and _item_keys(item) <= pinned_keys


def _share_secret(item: Item, other: Item) -> bool:
    return bool({secret.name for secret in item.secrets} & {secret.name for secret in other.secrets})


def _item_keys(item: Item) -> set[str]:
    return {key for secret in item.secrets for key in secret.keys}


def names_secret(pin: Pin) -> bool:
    """Whether the pin's values need an existing Secret."""
    return any(_is_placeholder(value) for value in pin.values.values())


def _is_placeholder(value: object) -> bool:
    return isinstance(value, str) and value.startswith("my-")


def _existing_secret_fix(
    app: App,
    release: Release,
    chosen: Sequence[tuple[Item, Pin]],
    extra: Sequence[tuple[Item, Pin]],
    signs: Sequence[Sign],
) -> Fix:
    values: dict[str, Any] = {}
    secrets: dict[str, NewSecret] = {}
    for item, pin in chosen:
        names = _new_secrets(app, release, item, pin, signs)
        for new in names.values():
            have = secrets.get(new.name, replace(new, keys={}, elsewhere=()))
            wanted = dict.fromkeys((*have.elsewhere, *new.elsewhere))
            secrets[new.name] = replace(new, keys={**have.keys, **new.keys}, elsewhere=tuple(wanted))
        values |= {k: names[v].name if _is_placeholder(v) else v for k, v in pin.values.items()}
    for _, pin in extra:
        values |= pin.values
    main = [release.values_key(k) for k, v in values.items() if isinstance(v, str) and v in secrets]
    namespace = _secret_namespace(release, signs)
    lines = [line for new in secrets.values() for line in _origin_comments(namespace, new)]
    lines += _authority_comments(app, release, chosen)
    block = release.values_block({k: _filled_value(release, v) for k, v in values.items()})
    replaced = sorted({new.instead_of for new in secrets.values()})
    pods = _pods(app, signs, other_name=True)
    gone = enumerated([f"Secret {namespace}/{old}" for old in replaced], limit=None)
    caveat = f"Create it first: if the chart then leaves out {gone}, pruning deletes {'it' if len(replaced) == 1 else 'them'}. {pods}".strip()
    return Fix(
        title=f"Create {_secrets_text(list(secrets))} and name {'it' if len(secrets) == 1 else 'them'} in {_quoted_text(main)}",
        target="helm-values",
        where=release.values_at,
        edit=Edit("yaml", "\n".join([*lines, block.rstrip("\n")]) + "\n"),
        caveat=_caveat(caveat, app, release, chosen, signs),
        effects=(*_restarts(pods), "deletes"),
        before=tuple(_create_command(namespace, new) for new in secrets.values()),
    )


def _new_secrets(app: App, release: Release, item: Item, pin: Pin, signs: Sequence[Sign]) -> Mapping[str, NewSecret]:
    """placeholder -> the Secret to create; its name is based on the replaced one, and differs from all names in the application."""
    placeholders = list(dict.fromkeys(v for v in pin.values.values() if _is_placeholder(v)))
    rendered = [_rendered_name(app, release, secret.name, signs) for secret in item.secrets]
    several = len(placeholders) == len(rendered) > 1
    found: dict[str, NewSecret] = {}
    for number, placeholder in enumerate(placeholders):
        old = rendered[number if several else 0] if rendered else f"{release.name}-{placeholder[3:]}"
        keys = item.secrets[number].keys if several else pin.keys or tuple(sorted(_item_keys(item)))
        rendered_one = [r for r in app.of_kind("Secret", "") if r.name == old]
        held = _held_keys(app, old)
        elsewhere = tuple(key for key in keys if held and key not in held)
        made_by = {key: None if key in elsewhere else _value_command(release, item, key) for key in keys}
        others = sorted(_keys_read(app, old, _secret_namespace(release, signs), held) - set(keys))
        made_by |= {key: _other_value_command(release, key) for key in others if key in held}
        found[placeholder] = NewSecret(
            _free_name(app, f"{old}-pinned"),
            made_by,
            old,
            exists=any(r.live is not None or not r.live_known for r in rendered_one),
            absent=tuple(key for key in others if held and key not in held),
            elsewhere=elsewhere,
        )
    return found


def _value_command(release: Release, item: Item, key: str) -> str | None:
    """The command for one key's value, from the item that generates it; an existing Secret may have the keys of several items."""
    if _CERTIFICATE.search(key) or _COMPOSED.search(key):
        return None
    maker = next((other for other in (item, *release.random()) if key in _item_keys(other)), item)
    return None if "printf" in maker.functions else random_value_command(maker)


def _other_value_command(release: Release, key: str) -> str | None:
    """The same for a key that pods read, but not the pin: None if the chart does not draw it."""
    other = next((each for each in release.random() if key in _item_keys(each)), None)
    return _value_command(release, other, key) if other else None


def _keys_read(app: App, secret: str, namespace: str, held: set[str]) -> set[str]:
    """The keys that pods of the application need of this Secret; what it holds too if they read all of it."""
    readers = [r for r in app.resources if r.kind in WORKLOADS and r.namespace == namespace and not r.extra]
    single = {read.key for r in readers for read in read_keys(r.any) if (read.kind, read.name) == ("Secret", secret)}
    return single | held if any(reads_whole(r.any, secret) for r in readers) else single


def _rendered_name(app: App, release: Release, template: str, signs: Sequence[Sign]) -> str:
    """The name that the chart gave the Secret, as the application lists it."""
    names = (s.resource.name for s in signs if s.kind == "secret")
    listed = (r.name for r in app.of_kind("Secret", ""))
    return next((n for n in (*names, *listed) if release.makes_name(template, n)), release.fill(template))


def _free_name(app: App, name: str) -> str:
    taken = {r.name for r in app.of_kind("Secret", "")}
    while name in taken:
        name += "-2"
    return name


_CERTIFICATE = regex(r"\.crt$|\.key$|\.pem$|^ca\.|cert|id_rsa|keystore", re.IGNORECASE)
_TRUSTED = "/webhooks/0/clientConfig/caBundle"
_AUTHORITY = regex(r"^<.*\bCA\b.*>$")
_COMPOSED = regex(r"^(?:connection|uri|url)$|htpasswd|\.(?:ya?ml|conf|json)$", re.IGNORECASE)


def _secret_namespace(release: Release, signs: Sequence[Sign]) -> str:
    return next((s.resource.namespace for s in signs if s.kind == "secret"), release.namespace)


def _create_command(namespace: str, new: NewSecret) -> str:
    """The command that creates the Secret: a copy of the one in use, else new values; a FILE for a value that cannot be generated."""
    where = f"-n {sh(namespace)}"
    if not new.copied:
        return f"kubectl {where} create secret generic {sh(new.name)} {_literal_options(new)}"
    picked = ", ".join(map(json.dumps, new.copied))
    added = " + ($ARGS.named | map_values(@base64))" if new.elsewhere else ""
    made = f"{{apiVersion, kind, type, metadata: {{name: {json.dumps(new.name)}}}, data: (.data | with_entries(select(.key | IN($read[]))){added})}}"
    absent = r'error("no key \($gone | join(", ")) in it")'  # a Secret without a key that the chart reads is no complete copy
    copied = f"[{picked}] as $read | ($read - (.data | keys)) as $gone | if $gone == [] then {made} else {absent} end"
    given = "".join(f"--rawfile {sh(key)} {sh(key)} " for key in new.elsewhere)
    return (
        f"kubectl {where} get secret {sh(new.instead_of)} -o json | jq {given}{sh(copied)} | kubectl {where} apply -f -"
    )


def _literal_options(new: NewSecret) -> str:
    return " ".join(
        f'--from-literal={sh(key)}="$({command})"'
        if command
        else f"--from-file={sh(key)}{'' if key in new.elsewhere else '=FILE'}"
        for key, command in new.keys.items()
    )


def _origin_comments(namespace: str, new: NewSecret) -> Iterator[str]:
    """Comment lines: the source of each key's value."""
    if new.copied:
        yield f"# Secret {new.name} is a copy of what the pods use now, {_keys_text(new.copied)} of Secret {namespace}/{new.instead_of}."
    elif not new.exists:
        yield f"# Secret {namespace}/{new.instead_of} is not live, so there is nothing to copy into Secret {new.name}:"
    if new.absent:
        yield f"# Pods read {_keys_text(new.absent)} of Secret {namespace}/{new.instead_of}, which it does not hold: add {'it' if len(new.absent) == 1 else 'them'}."
    if new.elsewhere:
        yield f"# The chart wants {_keys_text(new.elsewhere)} in it, which Secret {namespace}/{new.instead_of} does not hold: write each text in use to a file of that name, without a line feed at its end."
    for key, command in new.keys.items():
        if command is None and key not in new.elsewhere:
            yield f"#   {key}: a certificate, a key pair or a text that must fit its service, so no random value"
        elif not new.exists:
            yield f"#   {key}: {command}"
    if new.exists and all(new.keys.values()):
        yield "# A new value instead (not for a database that holds data: it keeps its old password):"
        yield f"#   kubectl -n {sh(namespace)} create secret generic {sh(new.name)} {_literal_options(new)}"


def _authority_comments(app: App, release: Release, chosen: Sequence[tuple[Item, Pin]]) -> Iterator[str]:
    """The command for the authority that the chart wants next to the copied certificate: a webhook configuration of the chart holds it."""
    for item, pin in chosen:
        hint = next((str(value) for value in pin.values.values() if _AUTHORITY.search(str(value))), "")
        trusting = (r for r in app.resources if r.live is not None and item_at(r, _TRUSTED, [release])[1] is item)
        if hint and (found := next(trusting, None)):
            read = f"kubectl get {kubectl_name(found.id)} -o jsonpath='{{.webhooks[0].clientConfig.caBundle}}'"
            yield f"# {hint} of the one in use: {read}{'' if 'base64' in hint else ' | base64 -d'}"


def _keys_text(keys: Iterable[str]) -> str:
    names = list(keys)
    return f"{'key' if len(names) == 1 else 'keys'} {enumerated(names, limit=None)}"


def random_value_command(item: Item) -> str | None:
    """The command that prints a value of this item's form; None if no random text is valid (a certificate)."""
    hints = " ".join(str(value) for pin in item.pins for value in pin.values.values() if "<" in str(value))
    if re.search(r"PEM|certificate|base64 CA", hints) or any(_CERTIFICATE.search(key) for key in _item_keys(item)):
        return None
    if "bcrypt" in hints:
        return 'htpasswd -nbB USER "$(openssl rand -hex 16)"'
    if found := re.search(r"base64 of (\d+)", hints):
        return f"openssl rand -base64 {found[1]}" + (" | tr '+/' '-_'" if "url-safe" in hints else "")
    if found := re.search(r"(?<!\d)(\d+)\+? (?:hex|(?:alphanumeric )?characters)", hints):
        return f"openssl rand -hex {int(found[1]) // 2}"
    return "openssl rand -hex 32"


def _caveat(first: str, app: App, release: Release, chosen: Sequence[tuple[Item, Pin]], signs: Sequence[Sign]) -> str:
    """What a pin costs, then what else there is to know of the value in use, the chart and its version."""
    notes = (
        first,
        _former_value_note(app, signs),
        *_chart_notes(chosen),
        _version_note(release, chosen),
        _prefix_note(release),
    )
    return " ".join(filter(None, notes))


def _values_fix(app: App, release: Release, chosen: Sequence[tuple[Item, Pin]], signs: Sequence[Sign]) -> Fix:
    values = {key: _filled_value(release, value) for _, pin in chosen for key, value in pin.values.items()}
    to_fill = [key for key, value in values.items() if "<" in str(value)]
    lines = list(_value_comments(app, release, chosen, signs))
    caveat = pods = _pods(app, signs, other_name=False)
    if to_fill:
        caveat = f"Take the value in use, and encrypt it: a value in Git is no secret. {pods}".strip()
    title = f"Give {_quoted_text([release.values_key(k) for k in (to_fill or values)])} a fixed value"
    return Fix(
        title=title if to_fill else f"Set {_quoted_text([release.values_key(k) for k in values])}",
        target="helm-values",
        where=release.values_at,
        edit=Edit("yaml", "\n".join([*dict.fromkeys(lines), release.values_block(values).rstrip("\n")]) + "\n"),
        caveat=_caveat(caveat, app, release, chosen, signs),
        effects=_restarts(pods),
    )


def _pods(app: App, own: Sequence[Sign], *, other_name: bool) -> str:
    """What becomes of pods that read these objects, once their values stay: a pod template changes with the name of a Secret that it reads, or with
    a checksum of its own."""
    read = {s.resource.name for s in own}
    marked = {s.resource.key for s in own if s.kind in ("checksum", "stamp")}
    hashed_by = {w.key for places in checksum_values(app).values() for w, _ in places}
    if all(s.resource.kind in ("Job", "CronJob") for s in own):
        return ""  # its pods start with the next run
    readers = [r for r in app.resources if r.kind in WORKLOADS and (r.key in marked or read & referenced_names(r.any))]
    rolled = [
        r
        for r in readers
        if r.kind not in ("Job", "CronJob") and dig(r.any, "spec", "updateStrategy", "type") != "OnDelete"
    ]
    if not readers and not other_name:
        return ""  # no pod of the application changes with it
    if not readers or any(other_name or r.key in marked | hashed_by for r in rolled):
        return "The pods restart once." if readers else "Pods that read it may restart once."
    return "Running pods keep what they have read until they start again."


def _former_value_note(app: App, own: Sequence[Sign]) -> str:
    """A warning where a sync wrote the Secret again and a pod that has read it since does not start: its data may be of the former value."""
    for secret in {r.key: r for s in own if s.kind == "secret" and (r := app.resource(s.resource.key))}.values():
        made, written = parse_time(dig(secret.live or {}, "metadata", "creationTimestamp")), last_written_at(secret)
        if made is None or written is None or written - made <= SLACK:
            continue
        pods = (
            pod
            for reader in app.resources
            if reader.kind in WORKLOADS and secret.name in referenced_names(reader.any)
            for pod in unwell_below(app).get(reader.uid, ())
        )
        if any(has_crashing_container(p) and p.created_at and p.created_at >= written - SLACK for p in pods):
            return "A pod that reads it crashes since the last sync wrote it: if its data needs the former value, put that in."
    return ""


def _restarts(pods: str) -> tuple[Effect, ...]:
    return ("restarts",) if pods.startswith(("The pods", "Pods")) else ()


def _value_comments(
    app: App, release: Release, chosen: Sequence[tuple[Item, Pin]], signs: Sequence[Sign]
) -> Iterator[str]:
    """Comment lines: commands to read the present value, and to make a strong one."""
    for item, pin in chosen:
        hints = [str(v) for v in pin.values.values() if "<" in str(v)]
        command = random_value_command(item)
        if hints and (item.salted or command):
            namespace = sh(_secret_namespace(release, signs))
            for secret in item.secrets:
                name = _rendered_name(app, release, secret.name, signs)
                for key in secret.keys:
                    yield f"# In use: kubectl -n {namespace} get secret {sh(name)} -o jsonpath={_data_path(key)} | base64 -d"
            for sign in (s for s in signs if s.item is item and s.resource.kind == "ConfigMap"):
                yield f"# In use: kubectl -n {sh(sign.resource.namespace)} get configmap {sh(sign.resource.name)} -o jsonpath={_data_path(sign.key)}"
            salted = "# A salted hash differs at each render although the password is fixed: give the ready hash."
            yield salted if item.salted else f"# New ({item.what}): {command}"


def _data_path(key: str) -> str:
    return sh("{.data." + key.replace(".", "\\.") + "}")


def _newer_chart_fix(app: App, release: Release, item: Item, found: Sequence[Item], signs: Sequence[Sign]) -> Fix:
    """The fix by a pin of this item, or of another item with its keys, that exists only in later chart versions; else by one without the item."""
    fitting = [
        *item.pins,
        *(p for o in found for p in o.pins if _share_secret(item, o) and _item_keys(item) <= set(p.keys)),
    ]
    later = [(v, n, p) for n, p in enumerate(fitting) if p.values and (v := parse_version(p.first_version))]
    if later:
        pin = min(later, key=lambda known: known[:2])[2]
        keys = _quoted_text([release.values_key(k) for k in pin.values])
        it, them, was = ("it is", "it", "was") if len(pin.values) == 1 else ("they are", "them", "were")
        lines = (
            f"# {pin.first_version} is the oldest version of chart {release.chart} in which {keys} {was} seen;",
            f"# one before it may know {them} too: search its templates",
            *_value_comments(app, release, [(item, pin)], signs),
        )
        block = release.values_block({key: _filled_value(release, value) for key, value in pin.values.items()})
        return Fix(
            title=f"Set {keys}; if {it} unknown, {_upgrade_text(release, pin.first_version)}",
            target="helm-values",
            where=release.values_at,
            edit=Edit("yaml", "\n".join([*lines, block])),
            caveat="Pods that read it may restart once.",
            effects=("restarts",),
        )
    notes = " ".join(p.note for p in item.pins if p.note) or "no value switches it off"
    if item.until:
        upgrade = _upgrade_text(release, item.until)
        return Fix(
            title=f"{upgrade[0].upper()}{upgrade[1:]}, the first that does not draw it",
            target="helm-values",
            where=f"the version of {'the parent of ' if release.prefix else ''}chart {release.chart}",
            edit=Edit("text", f"Chart {release.label}: {notes}."),
            caveat=f"Read what else changes on the way to {item.until}. Until then the field can only be ignored.",
        )
    return Fix(
        title=f"{_ASK} of chart {release.chart} for a fixed {item.what}",
        target="helm-values",
        where=release.values_at,
        edit=Edit("text", f"Chart {release.label}: {notes}."),
        caveat="Until then the field can only be ignored.",
    )


def _upgrade_text(release: Release, version: str) -> str:
    if release.prefix and not release.assumed:
        return f"use a version of its parent chart that contains {release.chart} {version}"
    return f"upgrade chart {release.chart} to {version}"


_FOLDERS = ("", "chart", "charts", "helm")
"""Folders of charts that say nothing of the chart."""


def _unknown_chart_fix(app: App, signs: Sequence[Sign]) -> Fix:
    """The fix for an unknown chart: instructions for a search, without guessed keys."""
    head = signs[0]
    release = head.release
    chart = f"chart {release.label}" if release and release.chart.strip("./") not in _FOLDERS else "the chart"
    parent = release.prefix.rstrip(".") if release else ""
    below = f", below {parent!r} of the values here" if release and parent and not release.assumed else ""
    caveat = (
        f"a chart that bundles it has its values below {parent!r}"
        if release and release.assumed and head.kind != "order"
        else ""
    )
    where = release.values_at if release else str(next((s.get("path") for s in app.sources), "") or "values.yaml")
    keys = ", ".join(dict.fromkeys(s.key for s in signs if s.resource == head.resource and s.pointer != "/data"))
    keys = keys or "the data"
    written = head.kind in ("name", "order") or (
        head.kind == "checksum" and "secret" not in head.key
    )  # a Secret has a value
    if written and where.endswith("/values.yaml"):
        where = f"{where.removesuffix('values.yaml')}templates"
    if head.kind == "stamp":
        return Fix(
            title=f"Remove {head.mark} from the template, or switch it off",
            target="helm-values",
            where=where,
            edit=Edit(
                "text",
                f'Look in the templates of {chart} for "{head.key}" with randAlphaNum, now or uuidv4, and in its values.yaml for the '
                "switch around it (restart, rolling, rollme). A checksum of the configuration restarts pods when, and only when, it changes.",
            ),
        )
    if head.kind == "secret":
        issued = any(s.key.endswith((".crt", ".pem", ".cert")) for s in signs if s.resource == head.resource)
        switch = (
            "a switch for cert-manager (certManager.enabled or like it), which then issues it; else for "
            if issued
            else ""
        )
        text = (
            f"In values.yaml of {chart} look for {switch}existingSecret, secretName or a field for {keys}; set it to a Secret that Argo CD "
            f"does not own and that holds {keys}, or to the value in use: what is stored or signed with it may need it. In a chart of your own, take the value with `required` "
            "instead of randAlphaNum or genCA: `lookup` is empty under Argo CD."
        )
        title = f"Fix {keys} of {head.resource} in the values of {chart}{below}"
    elif head.kind == "checksum":
        text = (
            f'Look in the templates of {chart} for "{head.key}": what it hashes calls a random function, the clock, or a helper that '
            "does. Pin that value, or hash only stable data: {{ (include ... | fromYaml).data | toJson | sha256sum }}."
        )
        title = f"Pin what {head.mark} hashes"
    elif head.kind == "name":
        text = (
            f"Look in the templates of {chart} for randAlphaNum, now or uuidv4 in metadata.name; a Job that must run at each sync is a "
            "hook with the delete policy BeforeHookCreation and one name."
        )
        title = f"Remove the random or dated part from the name of {head.resource.kind} {head.resource.name}"
    elif head.kind == "order":
        text = (
            f"Look in the templates of {chart} for `keys`, `values` or `shuffle` behind {head.resource.kind} {head.resource.name} {head.pointer}, and "
            "sort what they give: {{ range keys .Values.config | sortAlpha }}. A range over the map itself is sorted."
        )
        title = f"Sort what {head.resource.kind} {head.resource.name} {head.pointer} is made of"
    else:
        text = (
            f"Look in the templates of {chart} for randAlphaNum, uuidv4, now, genCA or genSignedCert behind {head.resource.kind} "
            f"{head.resource.name} {head.pointer}, and in its values.yaml for the value that replaces it."
        )
        title = f"Pin what {head.resource.kind} {head.resource.name} {head.pointer} is made of"
    return Fix(title=title, target="helm-values", where=where, edit=Edit("text", text), caveat=caveat)


def _filled_value(release: Release, value: Any) -> Any:
    if isinstance(value, str):
        return release.fill(value)
    return [_filled_value(release, v) for v in value] if isinstance(value, list) else value


def _chart_notes(chosen: Sequence[tuple[Item, Pin]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(f"Of the chart: {pin.note}." for _, pin in chosen if pin.note))


def _version_note(release: Release, chosen: Sequence[tuple[Item, Pin]]) -> str:
    """If neither label nor source shows the chart's version: the version that these keys need. Of an older major version: where the keys were read."""
    have, read = parse_version(release.version), release.known and verified_version(release.known)
    if have and read and have[0] < read[0] and any(set(pin.values) - set(pin.since) for _, pin in chosen):
        return f"The keys are those of chart {release.chart} {'.'.join(map(str, read))}: look whether {release.version} reads them."
    known = [pin.first_version for _, pin in chosen if parse_version(pin.first_version)]
    if not known or parse_version(release.version):
        return ""
    first = max(known, key=lambda version: parse_version(version) or ())
    return f"Chart {release.chart} knows all these keys from {first} on; its version here is not known."


def _prefix_note(release: Release) -> str:
    if not release.assumed:
        return ""
    return f"The prefix {release.prefix!r} holds when the source is a chart that bundles {release.chart}; leave it out if it is {release.chart} itself."


def _quoted_text(keys: Sequence[str]) -> str:
    return enumerated([f'"{key}"' for key in keys], limit=None)


def _secrets_text(names: Sequence[str]) -> str:
    return f"Secret {names[0]}" if len(names) == 1 else f"Secrets {enumerated(names, limit=None)}"
