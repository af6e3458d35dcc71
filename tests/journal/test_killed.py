"""A killed process loses nothing that it had acknowledged, and leaves nothing half written."""

import os
import signal
import subprocess
import sys

import pytest

from bot.adapters.journal_sql import Store
from bot.observation.ids import IncidentId
from tests.incidents import Story

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("acknowledged", [1, 25])
def test_a_killed_writer_loses_nothing_acknowledged(store: Store, url: str, acknowledged: int) -> None:
    """After kill -9 in the middle of writing, every acknowledged entry and delivery is there, and the chain
    is whole; twice in a row."""
    Story(store.journal).opens()

    for _ in range(2):
        last = _write_and_kill(url, acknowledged)
        entries = store.journal.entries(IncidentId("wl-1"))
        assert entries[-1].seq >= last
        assert store.journal.verify() == ()
        claimed = 0
        while delivery := store.inbox.claim(entries[0].at):
            store.inbox.done(delivery)
            claimed += 1
        assert claimed >= acknowledged


def _write_and_kill(url: str, lines: int) -> int:
    """The last seq that a writer acknowledged before it was killed."""
    command = [sys.executable, "-m", "tests.journal.writers", url, "write"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        said = [writer.stdout.readline() for _ in range(lines)]
        os.kill(writer.pid, signal.SIGKILL)
        said += [line for line in writer.stdout if line.endswith("\n")]
    return int(said[-1])
