"""The command line in this process: faster than a new one, for tests that are not about the process itself."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from unittest import mock

from argolint.cli.process import exit_code
from tests.conftest import Ran, clean_environment


def run_here(*args: str | Path, cwd: Path, env: Mapping[str, str] | None = None) -> Ran:
    """Run `argolint ARGS` without any configuration and login."""
    out, err = io.StringIO(), io.StringIO()
    with (
        mock.patch.dict(os.environ, {**clean_environment(), "HOME": str(cwd), **(env or {})}, clear=True),
        mock.patch.object(sys, "argv", ["argolint", *map(str, args)]),
        contextlib.chdir(cwd),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        code = exit_code()
    return Ran(code, out.getvalue(), err.getvalue())
