"""Label selectors, and the similarity of names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache

from argolint import Json, Object
from argolint.values import mapping, maps, texts
from argolint.values.patterns import regex

_SET_LIVE = frozenset(
    (
        "apps.kubernetes.io/pod-index",
        "batch.kubernetes.io/controller-uid",
        "batch.kubernetes.io/job-completion-index",
        "batch.kubernetes.io/job-name",
        "controller-revision-hash",
        "controller-uid",
        "job-name",
        "pod-template-generation",
        "pod-template-hash",
        "rollouts-pod-template-hash",
        "statefulset.kubernetes.io/pod-name",
    )
)
"""Labels that controllers set on pods: templates do not have them (kubernetes.io, well-known labels; argo-rollouts)."""


@dataclass(frozen=True)
class Selector:
    """The requirements of a selector: `equal` labels, and the other expressions, each (key, operator, values)."""

    equal: Mapping[str, str]
    others: tuple[tuple[str, str, tuple[str, ...]], ...] = ()

    @property
    def empty(self) -> bool:
        """True if it has no requirement. Whether that selects all or none differs by kind."""
        return not self.equal and not self.others

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether the labels match; an unknown operator counts as met, so that it causes no finding."""
        return all(labels.get(key) == value for key, value in self.equal.items()) and all(
            _is_met(labels, *expression) for expression in self.others
        )


def _is_met(labels: Mapping[str, str], key: str, operator: str, values: tuple[str, ...]) -> bool:
    match operator:
        case "In":
            return labels.get(key) in values
        case "NotIn":
            return labels.get(key) not in values
        case "Exists":
            return key in labels
        case "DoesNotExist":
            return key not in labels
    return True


def plain_selector(found: Json) -> Selector | None:
    """A map of labels, as in a Service; None if it is none, or if an API server does not accept it."""
    if not isinstance(found, dict) or not all(isinstance(v, str) and len(v) <= 63 for v in found.values()):
        return None
    if any(len(key) > 317 for key in found):
        return None
    return Selector({key: value for key, value in found.items() if key not in _SET_LIVE})


def label_selector(found: Json) -> Selector | None:
    """A LabelSelector (apimachinery, meta/v1); None if it is none. `In` with one value is an equality."""
    if not isinstance(found, dict) or (plain := plain_selector(mapping(found, "matchLabels"))) is None:
        return None
    equal = dict(plain.equal)
    others = []
    for expression in maps(found, "matchExpressions"):
        key, operator, values = str(expression.get("key")), str(expression.get("operator")), texts(expression, "values")
        if key in _SET_LIVE:
            continue
        if operator == "In" and len(values) == 1 and key not in equal:
            equal[key] = values[0]
        else:
            others.append((key, operator, values))
    return Selector(equal, tuple(others))


def labels_at(found: Object | None) -> Mapping[str, str]:
    """The labels of a metadata with text values."""
    return {key: value for key, value in mapping(found, "labels").items() if isinstance(value, str)}


_LONGEST = 253
"""Most characters of a name or a label's value that an API server accepts."""


@lru_cache(maxsize=8192)
def is_similar_name(one: str, other: str, *, within: bool = False) -> bool:
    """Whether one may be a misspelling of the other; with `within` also if one is a part of the other."""
    a, b = _letters_and_digits(one), _letters_and_digits(other)
    if not a or not b or max(len(a), len(b)) > _LONGEST:
        return False
    if a == b:
        return True
    short, long = sorted((a, b), key=len)
    if within and len(short) >= 4 and (long.startswith(short) or long.endswith(short)):
        return True
    parts = tuple(zip(_WORD.findall(one.lower()), _WORD.findall(other.lower()), strict=False))
    if len(parts) < 2 or len(_WORD.findall(one)) != len(_WORD.findall(other)):
        return _is_misspelling(a, b)
    return all(x == y or _is_misspelling(x, y) or _is_swapped(x, y, least=3) for x, y in parts)


_WORD = regex(r"[^\W_]+")


def _is_misspelling(a: str, b: str) -> bool:
    """Whether two longer words differ by a letter or two; `shard1` and `shard2` are different things, as are `a` and `b`."""
    if min(len(a), len(b)) < 4 or _digits(a) != _digits(b) or 5 * min(len(a), len(b)) < 4 * max(len(a), len(b)):
        return False
    return _is_swapped(a, b, least=4) or SequenceMatcher(None, a, b, autojunk=False).ratio() >= 0.85


def _is_swapped(a: str, b: str, *, least: int) -> bool:
    """Whether two words differ by two neighbouring letters in the other order: `ngnix`."""
    differ = [i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y]
    if len(a) != len(b) or len(a) < least or len(differ) != 2 or differ[1] - differ[0] != 1:
        return False
    at = differ[0]
    return a[at : at + 2] == b[at + 1] + b[at] and a[at : at + 2].isalpha()


def _letters_and_digits(name: str) -> str:
    return "".join(c for c in name.lower() if c.isalnum())


def _digits(name: str) -> str:
    """The digits of a name: `shard-1` and `shard-2` are different things."""
    return "".join(c for c in name if c.isdigit())
