"""The tutorial on a real cluster: its commands, typed beside a running demo, before and after the repair."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.browser.conftest import Demo, demo, slack, tab  # noqa: F401 - fixtures
from tests.browser.slack_page import SlackPage
from tests.browser.test_walk_in_the_page import decides_and_executes, opens_an_incident, reads_the_evidence
from tests.docs.blocks import blocks, commands
from tests.docs.site import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.browser, pytest.mark.timeout(850)]

PAGE = "docs/tutorial/on-the-lab.md"
_HOME = ".cache/demo"
_BEFORE = ("commits", "diagnose", "trust", "lab")
"""What the page has people type before they repair the table."""


def _typed() -> list[list[str]]:
    lines = [line for block in blocks("console", under=PAGE) for line in commands(block)]
    return [line.split()[1:] for line in lines if line.startswith("waterline ") and " demo" not in line]


def _codes(home: Path, typed: Sequence[Sequence[str]]) -> list[int]:
    environment = {**os.environ, "WATERLINE_CONFIG": str(home / "waterline.yaml"), "PYTHONPATH": str(ROOT)}
    return [
        subprocess.run(
            [sys.executable, "-m", "bot.cli", *(word.replace(_HOME, str(home)) for word in words)],
            cwd=home, env=environment, capture_output=True, check=False,
        ).returncode
        for words in typed
    ]  # fmt: skip


def test_the_commands_of_the_page_end_as_it_says(demo: Demo, slack: SlackPage) -> None:  # noqa: F811
    """Before the repair the table is not trusted and has duplicates; afterwards both are gone, and on record."""
    typed = _typed()
    before = _codes(demo.home, typed[: len(_BEFORE)])
    opens_an_incident(slack)
    reads_the_evidence(slack)
    slack.clicks("Propose", slack.card)
    decides_and_executes(slack)
    after = _codes(demo.home, typed[len(_BEFORE) :])

    assert [words[0] for words in typed[: len(_BEFORE)]] == list(_BEFORE)
    assert before == [0, 0, 2, 1]
    assert after == [0, 0, 0, 0]
