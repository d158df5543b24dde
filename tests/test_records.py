"""Classes of `argolint.quick.records` behave like those of `dataclasses`."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from argolint.quick.records import dataclass as quick


def _classes(dataclass: Callable[..., Any]) -> dict[str, Any]:
    @dataclass(frozen=True)
    class Plain:
        name: str
        tags: list[str] = dataclasses.field(default_factory=list, compare=False)
        note: str = dataclasses.field(default="", repr=False)
        size: int = dataclasses.field(init=False, compare=False, repr=False)
        kept: dict[str, int] = dataclasses.field(init=False, default_factory=dict, compare=False, repr=False)

        def __post_init__(self) -> None:
            object.__setattr__(self, "size", len(self.name))

    @dataclass(frozen=True, slots=True)
    class Slotted:
        """Has a page."""

        name: str
        number: int = 1

        def __repr__(self) -> str:
            return self.name

    @dataclass(frozen=True, eq=False)
    class Itself:
        name: str = ""

    @dataclass(frozen=True)
    class Nothing: ...

    return {made.__name__: made for made in (Plain, Slotted, Itself, Nothing)}


OURS, THEIRS = _classes(quick), _classes(dataclasses.dataclass)
globals().update({f"{name}": made for name, made in OURS.items()})
for _made in OURS.values():
    _made.__qualname__ = _made.__name__  # pickle finds it


def _facts(of: dict[str, Any]) -> list[Any]:
    plain, slotted, itself, nothing = (of[name] for name in ("Plain", "Slotted", "Itself", "Nothing"))
    one = plain("a")
    return [
        *(
            one == plain("a", ["x"]),
            one == plain("a", [], "n"),
            one == ("a", ""),
            one.size,
            one.tags,
            one.note,
            one.kept,
        ),
        *(hash(one) == hash(plain("a", ["x"])), repr(one).rpartition(".")[2], one.tags is plain("a").tags),
        *(slotted("a") == slotted("a", 1), repr(slotted("a")), slotted.__doc__, slotted.__slots__),
        *(itself() == itself(), hash(itself()) == hash(itself()), nothing() == nothing(), hash(nothing())),
        *(dataclasses.replace(slotted("a"), number=2).number, dataclasses.asdict(one), slotted.__match_args__),
        *(copy.copy(slotted("a", 3)).number, hash(slotted("a", 3)) == hash(copy.deepcopy(slotted("a", 3)))),
    ]


def test_objects_behave_alike() -> None:
    assert _facts(OURS) == _facts(THEIRS)


@pytest.mark.parametrize("made", [OURS["Plain"]("a"), OURS["Slotted"]("a"), OURS["Itself"]("a")])
def test_nothing_is_assigned(made: Any) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.name = "b"
    with pytest.raises(dataclasses.FrozenInstanceError):
        del made.name
    assert made.name == "a"


@pytest.mark.parametrize("name", ["Plain", "Slotted"])
def test_objects_travel_to_other_processes(name: str) -> None:
    made = OURS[name]("a")
    assert pickle.loads(pickle.dumps(made)) == made


def test_a_rule_of_your_own_may_extend_one() -> None:
    @dataclasses.dataclass(frozen=True)
    class Child(OURS["Plain"]):  # type: ignore[misc, name-defined, valid-type]
        more: int = 0

    assert Child("a", more=2) == Child("a", more=2) != Child("a", more=3)
    assert Child("abc").size == 3


def test_what_is_missing_is_said() -> None:
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'name'"):
        OURS["Plain"]()
