"""The gate's page says what the command has, and names files that are there."""

from __future__ import annotations

import re

from argolint.cli.gate import command
from argolint.reports.formats import FORMATS

from .conftest import ROOT

PAGE = (ROOT / "docs" / "gate.md").read_text()


def test_every_option_on_the_page_exists_and_the_gates_own_are_all_there() -> None:
    known = {name for parameter in command.params for name in parameter.opts}
    told = set(re.findall(r"(--[a-z][a-z-]+)", PAGE))
    assert told <= known | {"--deep"}
    own = {"--repo", "--head", "--base", "--checkout", "--all", "--rendered", "--render-twice", "--trusted-config"}
    assert own <= told


def test_every_format_and_every_link_on_the_page_is_there() -> None:
    assert {f"`{name}`" for name in FORMATS} <= set(re.findall(r"`[a-z]+`", PAGE))
    for target in re.findall(r"\]\((\.\./[^)#]+)\)", PAGE):
        assert (ROOT / "docs" / target).is_file(), target
