"""The command line: one file per command. Nothing is imported before `main` runs, so that Ctrl-C works from the start."""

from __future__ import annotations

import gc
import sys


def main() -> None:
    """Run the command line and end the process with its exit code."""
    gc.set_threshold(200_000)  # what imports make stays: a search for garbage among it takes a twelfth of the start
    try:
        from argolint.host.checkout_code import leave_out_checkout

        for folder in leave_out_checkout():
            sys.stderr.write(
                f"argolint: no code is loaded from {folder!a} of PYTHONPATH: a change may put code there\n"
            )
        from argolint.cli.process import run

        run()
    except KeyboardInterrupt:  # before the signal handlers are installed
        sys.exit(130)
