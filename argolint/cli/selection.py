"""Chooses applications and findings by the options."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from argolint.application.app import App
from argolint.application.fleet import Fleet
from argolint.application.rule import Rule
from argolint.errors import UsageError
from argolint.model import SEVERITIES, AppRef
from argolint.model.selection import FindingFilter
from argolint.snapshots.narrow import label_selector
from argolint.values import integer, labels_of, same_repository
from argolint.values.strict_yaml import nearest


def chosen(
    rules: Mapping[str, Rule],
    select: Iterable[str],
    ignore: Iterable[str],
    least: str | None,
    *,
    pedantic: bool = False,
) -> FindingFilter:
    """The filter from --select, --ignore, --min-severity and --pedantic. UsageError for a word that is no rule, family or severity."""
    select, ignore = tuple(select), tuple(ignore)
    check_words(rules, (*select, *ignore))
    wanted, unwanted = _words(select), _words(ignore)
    unasked = sorted(r.id for r in rules.values() if r.pedantic and not pedantic and r.id not in wanted)
    return FindingFilter(wanted, unwanted, next((s for s in SEVERITIES if s == least), SEVERITIES[0]), tuple(unasked))


def check_words(
    rules: Mapping[str, Rule], groups: Sequence[str], place: Callable[[int], str] = lambda number: ""
) -> None:
    """UsageError for a word that is no rule, family or severity; `place` says before it where a group of words is written."""
    known = [*rules, *{r.family for r in rules.values()}, *SEVERITIES]
    for number, group in enumerate(groups):
        for word in _words((group,)):
            if word not in known:
                raise UsageError(
                    f"{place(number)}{word!r} is no rule, family or severity{nearest(word, known)}",
                    "`argolint rules` lists them",
                )


def _words(groups: Iterable[str]) -> tuple[str, ...]:
    return tuple(word for group in groups for word in group.replace(",", " ").split())


@dataclass(frozen=True)
class Selection:
    """The applications to lint. The list of the whole fleet is still read, since ownership depends on all of it."""

    names: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()
    selector: str | None = None
    app_namespace: str | None = None
    cluster: str | None = None
    repo: str | None = None

    def takes(self, app: App, fleet: Fleet) -> bool:
        return (
            (not self.names or self.names_ref(app.ref, fleet.name))
            and (not self.projects or any(fnmatchcase(app.ref.project, p) for p in self.projects))
            and (not self.app_namespace or app.ref.namespace == self.app_namespace)
            and (not self.cluster or self._on_cluster(app, fleet))
            and (not self.repo or any(same_repository(self.repo, str(s.get("repoURL") or "")) for s in app.sources))
            and (not self.selector or label_selector(self.selector)(labels_of(app.raw)))
        )

    def names_ref(self, ref: AppRef, server: str = "") -> bool:
        """True if one of the names (`NAME`, `NAMESPACE/NAME` or `SERVER/NAMESPACE/NAME`, with globs) matches this application.

        `server`: the name of its Argo CD in a run over several.
        """
        own = (ref.name, ref.namespace, server)
        wanted = (name.rsplit("/", 2)[::-1] for name in self.names)
        return any(len(parts) <= len(own) and all(map(fnmatchcase, own, parts)) for parts in wanted)

    def _on_cluster(self, app: App, fleet: Fleet) -> bool:
        named = (fleet.clusters.get(app.cluster) or {}).get("name")
        return self.cluster in (app.cluster, named, *(app.spec.get("destination") or {}).values())


def parse_shard(text: str | None) -> tuple[int, int]:
    """`2/3` as (2, 3); UsageError for any other text."""
    if text is None:
        return (1, 1)
    index, slash, count = text.partition("/")
    number, of = integer(index), integer(count)
    if not slash or number is None or of is None or not 1 <= number <= of:
        raise UsageError(f"--shard {text!r} is not I/N with 1 <= I <= N", "for example --shard 1/3")
    return number, of
