"""`python -m argolint`."""

import os
import sys


def _working_directory() -> str:
    """Where this process runs; empty when the folder was removed, and Python puts it before nothing."""
    try:
        return os.getcwd()  # noqa: PTH109  # as it stands in sys.path
    except OSError:
        return ""


# `-m` puts the working directory before all else: a checkout there must not add modules or rules.
if sys.path[:1] in ([""], [_working_directory()]):
    del sys.path[0]

from argolint.cli import main  # noqa: E402  # after that

main()
