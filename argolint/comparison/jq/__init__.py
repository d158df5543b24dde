"""jqPathExpressions of ignoreDifferences: what Argo CD accepts, and the object after their removal.

`grammar` decides what Argo CD's gojq would compile and rewrites it for C jq; `sandbox` runs that in a separate process.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from argolint.comparison.jq.grammar import program
from argolint.comparison.jq.outcome import Outcome
from argolint.model import Object

if TYPE_CHECKING:
    from argolint.comparison.jq.sandbox import Result


def refusal(path: str) -> str:
    """Why Argo CD cannot parse the path, so that it compares nothing of the application; empty if it can."""
    return program(path).refusal


def deleted(obj: Object, paths: Sequence[str]) -> Object:
    """The object with the paths deleted one after the other.

    A path has no effect if Argo CD skips it, if it was stopped for its time or memory, or if argolint does not support it.
    """
    programs = [text for path in paths if (text := program(path).text)]
    return _run(programs, obj).object if programs else obj


def skipped(obj: Object, path: str) -> str:
    """Why a path that Argo CD parses has no effect on the object: a clause about the path; empty if it has.

    It has no text of the program's error, which may contain any value of the object.
    """
    return _skipped(obj, path)[0]


def unknown(obj: Object, path: str) -> bool:
    """True if `skipped` means only that argolint does not know: Argo CD may run the path."""
    return not _skipped(obj, path)[1]


def _skipped(obj: Object, path: str) -> tuple[str, bool]:
    """Why the path has no effect here, and whether it certainly has none in Argo CD either."""
    made = program(path)
    if made.refusal:
        return "", True
    if made.unsupported:
        return f"argolint does not run it, since {made.unsupported}", False
    outcome = _run([made.text], obj).outcomes[0]
    if outcome is Outcome.FAILED and made.bad_regexes:
        return f"{outcome.why}: Go's regular expressions (RE2) cannot be written {made.bad_regexes[0]!r}", True
    if outcome is Outcome.FAILED and made.unlike:
        return (
            f"argolint does not know what it does, since it fails here and {made.unlike} is not quite the same in Argo CD",
            False,
        )
    return outcome.why, outcome not in (Outcome.UNSUPPORTED, Outcome.REFUSED)


def _run(programs: Sequence[str], obj: Object) -> Result:
    from argolint.comparison.jq import sandbox  # most runs never need it

    return sandbox.shared().run(programs, obj)
