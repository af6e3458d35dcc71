"""`waterline demo` as a process of its own, and a browser on its page."""

import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, Queue

import pytest
from playwright.sync_api import Page

from bot.lab.home import Home
from bot.lab.lab import proof
from bot.lab.proof import Proof
from tests.browser.slack_page import SlackPage
from tests.chromium import chromium

_READY_S = 300.0
_ADDRESS = re.compile(r"Open\s+(http://127\.0\.0\.1:\d+)")


@dataclass(frozen=True)
class Demo:
    """A running demo: its page, and a way to look at its table that does not go through the bot."""

    url: str
    home: Path

    def proof(self) -> Proof:
        """The table as PyIceberg reads it now."""
        return proof(Home(self.home / "lab"))


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[Demo]:
    """A broken table, the bot in a process of its own, and the page; all of it ends with the test."""
    command = [sys.executable, "-m", "bot.cli", "demo", "--home", str(tmp_path), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        said: Queue[str | None] = Queue()
        reader = threading.Thread(target=_listen, args=(process, said))
        reader.start()
        try:
            yield Demo(url=_address(said), home=tmp_path)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=60)
            reader.join()


@pytest.fixture
def tab() -> Iterator[Page]:
    """A tab of the Debian chromium; whatever goes wrong in the page's scripts fails the test."""
    with chromium() as browser:
        page = browser.new_page(viewport={"width": 1280, "height": 860})
        errors: list[str] = []
        page.on("pageerror", lambda error: errors.append(str(error)))

        yield page
    assert errors == []


@pytest.fixture
def slack(demo: Demo, tab: Page) -> SlackPage:
    """The page as Ana, on call, has it open."""
    return SlackPage(tab, f"{demo.url}/?as=ana&channel=orders-oncall")


def _listen(process: subprocess.Popen[str], said: "Queue[str | None]") -> None:
    assert process.stdout is not None
    for line in process.stdout:
        said.put(line)
    said.put(None)


def _address(said: "Queue[str | None]") -> str:
    """Waits for the line with the page's address; fails with everything that was said when it does not come."""
    heard: list[str] = []
    while True:
        try:
            line = said.get(timeout=_READY_S)
        except Empty:
            line = None
        if line is None:
            pytest.fail("the demo told no address:\n" + "".join(heard))
        heard.append(line)
        found = _ADDRESS.search(line)
        if found:
            return found.group(1)
