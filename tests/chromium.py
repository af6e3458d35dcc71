"""The Debian chromium, headless, for whoever looks at pages."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

_PROGRAM = Path("/usr/bin/chromium")
_ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]


@contextmanager
def chromium() -> Iterator[Browser]:
    """Skips the test on a machine without it."""
    if not _PROGRAM.exists():
        pytest.skip("needs chromium: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=_PROGRAM, args=_ARGUMENTS)
        yield browser
        browser.close()
