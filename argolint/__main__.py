"""`python -m argolint`."""

import os
import sys

# `-m` puts the working directory before all else: a checkout there must not add modules or rules.
if sys.path[:1] in ([""], [os.getcwd()]):  # noqa: PTH109  # as it stands there
    del sys.path[0]

from argolint.cli import main  # after that

main()
