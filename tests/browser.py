"""A real browser for the tests of pages: Debian's Chromium, driven by Playwright."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

ARGS = [
    "--no-sandbox",  # tests may run as root
    "--disable-features=SpareRendererForSitePerProcess",  # a process started for each page, in case another page follows
]


@contextmanager
def chromium() -> Iterator[Browser]:
    """The browser while entered. Without one the test is skipped, with a message; with ARGOLINT_REQUIRE_BROWSER it fails."""
    binary = shutil.which("chromium") or shutil.which("chromium-browser")
    if binary is None and os.environ.get("ARGOLINT_REQUIRE_BROWSER"):
        pytest.fail("a browser must be here and is not")
    if binary is None:
        pytest.skip("there is no chromium on PATH (Debian: chromium)")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=binary, args=ARGS)
        try:
            yield browser
        finally:
            browser.close()


def axe() -> str:
    """The script of axe-core from npm's package in $ARGOLINT_TEST_AXE. Without it the test is skipped or fails like for the browser."""
    file = os.environ.get("ARGOLINT_TEST_AXE", "")
    if not file and os.environ.get("ARGOLINT_REQUIRE_BROWSER"):
        pytest.fail("axe-core must be here and is not: set ARGOLINT_TEST_AXE")
    if not file:
        pytest.skip("no axe-core here: ARGOLINT_TEST_AXE names its axe.min.js (npm: axe-core)")
    return Path(file).read_text(encoding="utf-8")
