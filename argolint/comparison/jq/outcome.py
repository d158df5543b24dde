"""The possible outcomes of a jq program on an object."""

from enum import StrEnum


class Outcome(StrEnum):
    """The outcome of one program on one object. All except DONE leave the object unchanged, as in Argo CD."""

    DONE = "done"
    FAILED = "failed"
    """It fails, or its result is no object."""
    NONE = "none"
    """It has no result."""
    SEVERAL = "several"
    """It has more than one result."""
    TIME = "time"
    """Stopped after a second of computing."""
    MEMORY = "memory"
    """Stopped at the memory limit, or by a crash of jq."""
    UNSUPPORTED = "unsupported"
    """Not run: this platform's jq lacks a function that it calls."""
    REFUSED = "refused"
    """Not run: slow programs have used up this check's time for them."""

    @property
    def why(self) -> str:
        """A clause that says why the program has no effect; empty for DONE."""
        return _WHY[self]


_WHY = {
    Outcome.DONE: "",
    Outcome.FAILED: "it fails, and Argo CD skips it",
    Outcome.NONE: "it gives no result, and Argo CD skips it",
    Outcome.SEVERAL: "it gives several results in place of one, and Argo CD skips it",
    Outcome.TIME: "it was stopped after a second of computing, and Argo CD stops and skips it after a second as well",
    Outcome.MEMORY: (
        "it was stopped at 512 MB of memory; Argo CD sets no limit, so that it may take all that its application controller has"
    ),
    Outcome.UNSUPPORTED: "argolint does not run it, since the jq of this platform does not have what it calls",
    Outcome.REFUSED: "argolint did not run it, since slow jq programs have taken enough of this check",
}
