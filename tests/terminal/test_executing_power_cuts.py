"""`waterline proposal execute` is killed with SIGKILL at every boundary: it leaves what a killed bot leaves."""

from pathlib import Path

import pytest

from bot.adapters.journal_sql.store import open_store
from bot.incident.execution import ProposalState
from tests.power_cut import killed
from tests.terminal.executing import Host

pytestmark = [pytest.mark.slow, pytest.mark.rotating]

ENTRIES = 15
"""Appends of the command: the begin, the mark under review, intent and end of each of three effects, the end; then two
proofs, asked and answered, what they prove, and the mark that is trusted."""
DEEDS = 5
"""The mark under review, the stop, the move, the start, the mark that is trusted."""


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    """With an approved rewind, and no bot."""
    return Host.made_in(tmp_path, monkeypatch)


def assert_done_once(host: Host) -> None:
    """One stop, one move, one start, proven; and the record holds together."""
    assert host.calls == ["stop", "start"]
    assert host.view.state is ProposalState.APPLIED
    assert host.view.verified.passed
    assert {ended.how for ended in host.view.done.values()} == {"done"}
    record = open_store(host.url)
    assert record.journal.verify() == ()
    record.close()


@pytest.mark.parametrize("cut_at", [*range(1, ENTRIES + 1), *range(-ENTRIES, 0)])
def test_a_command_that_was_killed_at_an_entry_is_gone_on_with(host: Host, cut_at: int) -> None:
    """By the same command: whatever the boundary, nothing is done twice."""
    host.power_is_cut_at(cut_at)

    was_killed = killed(lambda: host.executes() and None)
    host.power_is_back()
    left = host.is_owed
    again = host.executes()

    assert was_killed
    assert again.exit_code == (0 if left else 1), again.output
    assert_done_once(host)


@pytest.mark.parametrize("cut_at", [*range(1, DEEDS + 1), *range(-DEEDS, 0)])
def test_a_command_that_was_killed_at_a_deed_is_gone_on_with_by_a_bot(host: Host, cut_at: int) -> None:
    """Which takes what it finds in the record for a start of its own."""

    def cut() -> None:
        host.deeds.cuts_at(cut_at)
        host.executes()

    was_killed = killed(cut)
    with host.bot_runs():
        if host.view.execution_started_at is None:
            host.executes()
        host.waits_until_all_is_done()

    assert was_killed
    assert_done_once(host)


def test_the_number_of_boundaries_is_what_the_cuts_cover(host: Host) -> None:
    """If a command does or journals more than is cut at, the cuts above do not cover it any more."""
    host.executes()

    assert host.entries == ENTRIES
    assert host.deeds.deeds == DEEDS
