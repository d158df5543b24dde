"""`dataclass` for frozen classes, defined in a quarter of the time that the standard library needs; objects behave the same.

The standard one compiles six functions for each class, and a check defines 200 classes: a third of its start. Here only `__init__` is
compiled; the other methods are closures over the names of the fields. Import it in place of `dataclasses.dataclass`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(cls=None, /, **options):
        """`dataclasses.dataclass`; what is not frozen, inherits fields or has an order is left to it."""
        if cls is None:
            return lambda decorated: dataclass(decorated, **options)
        inherits = any(map(dataclasses.is_dataclass, cls.__bases__))
        if not options.get("frozen") or inherits or options.keys() - {"frozen", "slots", "eq"}:
            return dataclasses.dataclass(cls, **options)
        return _defined(cls, **options)


__all__ = ["dataclass"]
_BY_FACTORY = object()
Fields = tuple[dataclasses.Field[Any], ...]
Methods = dict[str, Callable[..., Any]]


def _defined(cls: type, frozen: bool, slots: bool = False, eq: bool = True) -> type:
    cls.__doc__ = cls.__doc__ or cls.__name__  # else the signature is parsed to make one
    made: Any = dataclasses.dataclass(cls, init=False, repr=False, eq=False, slots=slots)
    made.__dataclass_params__.frozen, made.__dataclass_params__.eq = frozen, eq
    fields = dataclasses.fields(made)
    methods = {"__init__": _init(made, fields), "__setattr__": _refuse, "__delattr__": _refuse} | _shown(fields)
    methods |= (_compared(fields) if eq else {}) | (_pickled(fields) if slots else {})
    own = {name for name, value in vars(made).items() if value is not None}  # __eq__ alone makes __hash__ None
    for name in methods.keys() - own:
        setattr(made, name, methods[name])
    return made  # type: ignore[no-any-return]


def _init(cls: Any, fields: Fields) -> Callable[..., None]:
    known: dict[str, Any] = {"_set": object.__setattr__, "_by_factory": _BY_FACTORY, "__name__": cls.__module__}
    parameters, lines = ["self"], []
    for field in fields:
        name = value = field.name
        default = ""
        if field.default_factory is not dataclasses.MISSING:
            known[f"_make_{name}"] = field.default_factory
            default = "=_by_factory"
            value = f"_make_{name}() if {name} is _by_factory else {name}" if field.init else f"_make_{name}()"
        elif field.default is not dataclasses.MISSING:
            known[f"_default_{name}"] = field.default
            default = f"=_default_{name}"
        if field.init:
            parameters.append(name + default)
        if field.init or value != name:
            lines.append(f"_set(self, {name!r}, {value})")
    lines += ["self.__post_init__()"] if hasattr(cls, "__post_init__") else []
    body = "\n ".join(lines or ["pass"])
    exec(f"def __init__({', '.join(parameters)}):\n {body}", known)  # noqa: S102 - names of our own code
    made: Callable[..., None] = known["__init__"]
    made.__annotations__ = {field.name: field.type for field in fields if field.init} | {"return": None}
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    return made


def _refuse(self: Any, name: str, value: Any = None) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot assign to or delete field {name!r}")


def _shown(fields: Fields) -> Methods:
    names = [field.name for field in fields if field.repr]

    def shown(self: Any) -> str:
        return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    return {"__repr__": shown}


def _compared(fields: Fields) -> Methods:
    names = [field.name for field in fields if field.compare]
    key: Callable[[Any], Any] = attrgetter(*names) if names else lambda _: ()

    def equal(self: Any, other: object) -> bool:
        return key(self) == key(other) if other.__class__ is self.__class__ else NotImplemented

    return {"__eq__": equal, "__hash__": lambda self: hash(key(self))}


def _pickled(fields: Fields) -> Methods:
    """Slots are restored by assignment otherwise."""
    names = [field.name for field in fields]

    def restore(self: Any, state: list[Any]) -> None:
        for name, value in zip(names, state, strict=True):
            object.__setattr__(self, name, value)

    return {"__getstate__": lambda self: [getattr(self, name) for name in names], "__setstate__": restore}
