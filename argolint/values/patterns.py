"""Regular expressions that are compiled when first used. A check knows more than 500 and needs a fourth of them."""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast


def regex(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Like `re.compile`, later. The result is no `re.Pattern` for `isinstance` and functions of `re`: call its methods.

    A test compiles all that modules hold, so none is wrong.
    """
    return cast("re.Pattern[AnyStr]", Later(text, flags))


class Later:
    """Has the attributes of its compiled pattern, each looked up once."""

    def __init__(self, text: str | bytes, flags: int) -> None:
        self.pattern = text
        self._flags = flags

    @property
    def compiled(self) -> re.Pattern[Any]:
        """The pattern itself; `re` keeps it."""
        return re.compile(self.pattern, self._flags)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        found = getattr(self.compiled, name)
        setattr(self, name, found)
        return found
