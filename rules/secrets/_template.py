"""Names in the templates of an ExternalSecret or PushSecret that Go cannot parse, or that no entry fetches.

Go's templates reject `.a-b` for a bad character, and read `.a.b` as field b of a. The operator's engine is Go's text/template with sprig
(external-secrets runtime/template/v2; issues 1053, 3028, 3210).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import islice

from argolint import Fix, Json, Object, Resource
from argolint.edits import manifest_text
from argolint.relations.operator_version import OperatorVersion
from argolint.values import dig, enumerated, items, join_pointer, mapping
from argolint.values.patterns import regex

from . import _external_secret as es
from ._go_template import actions, faults

_FIELD = regex(r"(?<![\w)\].$])\.(?P<name>[A-Za-z_0-9][\w-]*(?:\.[\w-]+)*)")
_PLAIN = regex(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_ESCAPED = 'abfnrtv\\"01234567xuU'
_SCOPED = regex(r"\{\{-?\s*(?:range|with|define|template|block)\b")


@dataclass(frozen=True)
class Misread:
    """A part of a template that Go does not accept: the name of a key, or an escape in a quoted text (`escape`, without a name).

    `text` is the template, `pointer` its place.
    """

    name: str
    text: str
    pointer: str
    reason: str
    escape: str = ""

    @property
    def written(self) -> str:
        if self.escape:
            return f'"{self.escape}"'
        return f"{{{{ .{self.name} }}}}"

    @property
    def correction(self) -> str:
        if self.escape:
            return f'"\\{self.escape}"'
        return f'{{{{ index . "{self.name}" }}}}'


_TEMPLATE = "/spec/target/template"


def misread_names(manifest: Object | None, template: str = _TEMPLATE) -> tuple[Misread, ...]:
    """The names that no template engine of the operator accepts: with "-", with a digit in front, or with a dot in the key itself."""
    keys = _fetched_keys(manifest)
    found = []
    for pointer, text in _template_texts(manifest, template):
        for name in dict.fromkeys(_field_names(text)):
            if not _PLAIN.fullmatch(name):
                sign = "-" if "-" in name else name[0]
                found.append(Misread(name, text, pointer, f'Go\'s templates read no "{sign}" in a name'))
            elif "." in name and name in keys and name.partition(".")[0] not in keys:
                found.append(
                    Misread(
                        name, text, pointer, f'Go\'s templates take the "." for a field of "{name.partition(".")[0]}"'
                    )
                )
        for escape in dict.fromkeys(_escapes(text)):
            reason = f"a text in double quotes knows no {escape}: Go refuses the whole template"
            found.append(Misread("", text, pointer, reason, escape))
    return tuple(found)


@dataclass(frozen=True)
class Unfetched:
    """A name that no entry fetches; `similar_key` is a fetched key with a similar spelling."""

    name: str
    text: str
    pointer: str
    similar_key: str


def unfetched_names(manifest: Object | None, held: frozenset[str] | None = None) -> tuple[Unfetched, ...]:
    """Names that spec.data does not fetch, if there is no dataFrom and the template uses the default dot.

    `held`: the keys of a PushSecret's source, which its template reads instead.
    """
    keys, base = (_fetched_keys(manifest), _TEMPLATE) if held is None else (held, "/spec/template")
    if items(manifest, "spec", "dataFrom") or not keys:
        return ()
    return tuple(
        Unfetched(name, text, pointer, next(iter(get_close_matches(first, keys, n=1, cutoff=0.75)), ""))
        for pointer, text in _template_texts(manifest, base)
        if not _SCOPED.search(text)
        for name in dict.fromkeys(_field_names(text))
        if (first := name.partition(".")[0]) not in keys and name not in keys and _PLAIN.fullmatch(name)
    )


def uses_nothing(manifest: Object | None) -> bool:
    """True if the template writes the whole Secret and none of its actions can use a fetched value.

    An action with a dot or a `$` may use one. Templates in a ConfigMap or Secret are unknown here.
    """
    template = mapping(manifest, "spec", "target", "template")
    sources = items(template, "templateFrom")
    if template.get("mergePolicy") == "Merge" or any(not isinstance(dig(s, "literal"), str) for s in sources):
        return False
    writes = mapping(template, "data") or any(dig(s, "target") in (None, "Data") for s in sources)
    if not writes or not (items(manifest, "spec", "data") or items(manifest, "spec", "dataFrom")):
        return False
    texts = [*_template_texts(manifest, _TEMPLATE)]
    return not unparsed_templates(manifest, OperatorVersion()) and not any(
        sign in _unquoted(body) for _, text in texts for body in actions(text) for sign in ".$"
    )


@dataclass(frozen=True)
class Unparsed:
    """A template that Go refuses before it runs it: where, why as the end of "its template ...", and what mends it."""

    pointer: str
    says: str
    mends: str


_MOST = 3
"""Most faults of one template that are looked for."""


def unparsed_templates(
    manifest: Object | None, version: OperatorVersion, template: str = _TEMPLATE
) -> tuple[Unparsed, ...]:
    """The templates that engine v2 of this operator cannot parse; none for engine v1, which has other functions."""
    if dig(manifest, *_TEMPLATE.split("/")[1:], "engineVersion") == "v1":
        return ()
    return tuple(
        Unparsed(at, fault.says, fault.mends)
        for at, text in _template_texts(manifest, template)
        for fault in islice(faults(text, version), _MOST)
    )


def _field_names(text: str) -> Iterator[str]:
    for body in actions(text):
        for part in _FIELD.finditer(_unquoted(body)):
            yield part["name"].rstrip("-")


def _escapes(text: str) -> Iterator[str]:
    """Escapes that Go's strconv.Unquote does not know, in the texts that an action quotes with `"`."""
    for body in actions(text):
        quote, escaped = "", False
        for sign in body:
            if escaped:
                escaped = False
                if sign not in _ESCAPED:
                    yield f"\\{sign}"
            elif not quote:
                quote = sign if sign in '"`' else ""
            elif sign == "\\" and quote == '"':
                escaped = True
            elif sign == quote:
                quote = ""


def _unquoted(body: str) -> str:
    """An action without its quoted texts."""
    kept, quote, escaped = [], "", False
    for sign in body:
        if not quote:
            quote = sign if sign in '"`' else ""
            kept.append(sign)
        elif escaped:
            escaped = False
        elif sign == "\\" and quote == '"':
            escaped = True
        elif sign == quote:
            quote = ""
            kept.append(sign)
    return "".join(kept)


def _fetched_keys(manifest: Object | None) -> frozenset[str]:
    return frozenset(
        str(dig(entry, "secretKey")) for entry in items(manifest, "spec", "data") if dig(entry, "secretKey")
    )


def _template_texts(manifest: Object | None, base: str) -> Iterator[tuple[str, str]]:
    """Pointer and text of every template in the manifest itself."""
    template = mapping(manifest, *base.split("/")[1:])
    places: list[tuple[str, Mapping[str, Json]]] = [("/data", mapping(template, "data"))]
    places += [(f"/metadata/{field}", mapping(template, "metadata", field)) for field in ("labels", "annotations")]
    for at, texts in places:
        yield from ((base + at + join_pointer(key), text) for key, text in texts.items() if isinstance(text, str))
    for index, source in enumerate(items(template, "templateFrom")):
        if isinstance(literal := dig(source, "literal"), str):
            yield f"{base}/templateFrom/{index}/literal", literal


def target_misreads(manifest: Object | None) -> tuple[Misread, ...]:
    """`misread_names` of the template for the Secret; empty without such a template."""
    return misread_names(manifest) if es.creation_policy(manifest) != "None" else ()


def template_fixes(resource: Resource, found: tuple[Misread, ...]) -> tuple[Fix, ...]:
    """Fixes for parts that Go cannot parse. They do not repeat the templates' texts, since those are next to masked passwords."""
    lines = [f"{each.pointer}: {each.correction} for {each.written}" for each in found]
    first = found[0]
    plain = re.sub(r"\W", "_", first.name).lstrip("0123456789") or "value"
    instructions = [
        "As an argument of a function it is in parentheses; in a Helm chart the whole action is in {{ `...` }}.",
        f"Or rename the key: {plain} as its name in spec.data, and {{{{ .{plain} }}}} in the template.",
    ]
    if first.escape:
        instructions = ["Or put the text in back quotes, where a backslash is a plain sign."]
    return (
        manifest_text(
            f"{resource.kind} {resource.namespace}/{resource.name}",
            f"Write {first.correction} for {first.written}",
            "\n".join([*lines, *instructions]),
        ),
    )


_REOPENED = regex(
    r"\b(?P<first>pkcs12(?:cert|key)(?:Pass)?)\b[^|}]{0,200}\|\s{0,20}(?P<again>pkcs12(?:cert|key)(?:Pass)?)\b"
)


def reopened_fixes(resource: Resource) -> Iterator[Fix]:
    """The fix for a pipeline that opens an archive twice: what the first function gives is PEM, so that one has succeeded."""
    texts = _template_texts(resource.live or resource.any, _TEMPLATE)
    twice = [(at, found["first"], found["again"]) for at, text in texts for found in _REOPENED.finditer(text)]
    if twice:
        opened = enumerated(sorted({first for _, first, _ in twice}))
        yield manifest_text(
            f"{resource.kind} {resource.namespace}/{resource.name}",
            f"End the pipeline after {opened}, which {'has' if ' and ' not in opened else 'have'} opened the archive",
            "\n".join(f"{at}: leave out `| {again}` with its argument, after {first}" for at, first, again in twice),
        )
