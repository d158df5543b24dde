"""Chooses the knowledge of a run: argolint's own, or a newer pack that the user names. A file of a checkout cannot choose."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from argolint.server.user import read_settings, settings_file
from argolint.sources.files import require_own
from argolint.values import knowledge
from argolint.values.knowledge import About


def take(file: Path) -> About:
    """Use a pack from now on. UsageError if it cannot be used, or if a change may have written it."""
    from argolint.values import knowledge_pack

    require_own(
        file,
        instead="keep the pack outside of the checkout, and name it there",
        means="it cannot say what is known",
    )
    return knowledge_pack.use(file)


def take_settings(environ: Mapping[str, str] = os.environ, home: Path | None = None) -> None:
    """Use the pack from the user's settings, unless the command line names one."""
    if knowledge.about() is not knowledge.BUILT_IN:
        return
    place = home or Path.home()
    if named := read_settings(environ, place).knowledge:
        take(settings_file(environ, place).parent / Path(named).expanduser())
