"""The source of a chart's values: the files that an Application names, or the Application itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from argolint.fixes.spot import Spot, Unplaced, checkout_of, path_below, sources_of, tool_options
from argolint.model import MISSING, Json, Object
from argolint.sources.checkout import Checkout, inside
from argolint.sources.yaml_text import documents
from argolint.values import dig, get, items, split_pointer


@dataclass(frozen=True)
class Values:
    """A source of a chart's values: a file, or (`spot` is None) a field `at` of the Application, which may be text."""

    content: Json
    spot: Spot | None = None
    at: str = ""
    text: str | None = None


def values(checkouts: Sequence[Checkout], app: Object, paths: Sequence[str], where: str) -> Values:
    """The last values that set one of these pointers, else the last file that the application names.

    An application without values files has its values in itself. `where`: the fix's name for the file, needed if an application has several
    charts.
    """
    charts = [(n, source) for n, source in enumerate(sources_of(app)) if _is_chart(checkouts, source)]
    named = [
        (n, source) for n, source in charts if any(f and f[1] in where for f in _values_files(checkouts, app, source))
    ]
    chosen = charts if len(charts) == 1 else named
    if len(chosen) != 1:
        why = "the application has several charts" if charts else "the application has no chart"
        raise Unplaced(why, "change the values by hand")
    number, source = chosen[0]
    helm = tool_options(source, "helm")
    parameter = next((n for n in map(_dotted, paths) if n in {dig(p, "name") for p in items(helm, "parameters")}), None)
    if parameter:
        raise Unplaced(
            f"the Application's helm.parameters set {parameter}, which beats all values", "change it there by hand"
        )
    files = list(_values_files(checkouts, app, source))
    place = "/spec/sources/" + str(number) if dig(app, "spec", "sources") else "/spec/source"
    own = _own_values(helm, place, as_text=where.endswith(".helm.values"))
    if not files or _holds(own.content, paths):
        return own
    last: Values | None = None
    for known in reversed(files):
        if known is None:
            raise Unplaced("no checkout has a values file of higher precedence", "add --write DIR for its repository")
        checkout, file = known
        if file not in checkout.files:
            continue
        found = Values(checkout.documents(file)[0].data, Spot(checkout, file))
        last = last or found
        if _holds(found.content, paths):
            return found
    if last is None:
        raise Unplaced("no values file that the application names is in its checkout", "make the file by hand")
    return last


def _is_chart(checkouts: Sequence[Checkout], source: Object) -> bool:
    if source.get("helm") or source.get("chart"):
        return True
    checkout = checkout_of(checkouts, str(source.get("repoURL") or ""))
    return (
        checkout is not None
        and path_below(inside("", str(source.get("path") or "")) or "", "Chart.yaml") in checkout.files
    )


def _own_values(helm: Object, source: str, *, as_text: bool) -> Values:
    """The Application's own values. If it has `values`, no valuesObject may be added: it would replace them. `as_text`: nor does this Argo CD know one."""
    text = helm["values"] if isinstance(helm.get("values"), str) else ""
    written = text.strip()
    if not helm.get("valuesObject") and (written or as_text):
        return Values(documents(text)[0].data if written else None, at=f"{source}/helm/values", text=text)
    return Values(helm.get("valuesObject"), at=f"{source}/helm/valuesObject")


def _holds(content: Json, paths: Sequence[str]) -> bool:
    return any(get(content, path) is not MISSING for path in paths)


def _dotted(path: str) -> str:
    return ".".join(split_pointer(path))


def reads_values(checkouts: Sequence[Checkout], app: Object, spot: Spot) -> bool:
    """True if the application names this values file."""
    return any(
        known == (spot.checkout, spot.file) for s in sources_of(app) for known in _values_files(checkouts, app, s)
    )


def _values_files(checkouts: Sequence[Checkout], app: Object, source: Object) -> Iterator[tuple[Checkout, str] | None]:
    """The values files of a chart's source, in order; None for one that no checkout has."""
    for entry in items(source, "helm", "valueFiles"):
        text = str(entry)
        if text.startswith("$"):
            ref, _, path = text[1:].partition("/")
            owner = next((s for s in sources_of(app) if s.get("ref") == ref), None)
            file = inside("", path)
        else:
            owner, file = source, inside(str(source.get("path") or ""), text)
        checkout = checkout_of(checkouts, str(owner.get("repoURL") or "")) if owner and "://" not in text else None
        yield (checkout, file) if checkout is not None and file else None
