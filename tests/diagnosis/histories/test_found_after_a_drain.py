"""Histories of a run that came after a drained commit and was replaced before anybody saw that it commits nothing."""

import pytest

from bot.domain.diagnosis import Remedy
from tests.diagnosis.histories.drawn import Event, Plan, played
from tests.diagnosis.histories.held import answered, wrongly_acquitted
from tests.diagnosis.histories.history import Setting

REPLACED = (
    Event(0, "drained and started"),
    Event(1, "an intermediate savepoint"),
    Event(4, "started without state"),
    Event(5, "a quiet time"),
)
"""The second run reads 7 to 8 into a checkpoint and 9 beside it; the third begins at 10."""


@pytest.mark.parametrize("events", [REPLACED[:3], REPLACED], ids=["before it commits", "of empty commits alone"])
def test_its_rows_are_open_until_the_next_run_has_brought_some(events: tuple[Event, ...]) -> None:
    """A start without state may begin at the earliest: nobody knows yet whether it reads them again."""
    drawn = played(Plan(28774, Setting("V1"), events))

    assert () == wrongly_acquitted(drawn)
    missing = {mode.code: told.missing for mode, told in answered(drawn).undecided}
    assert "1 Flink manifest of it with 2 rows is still on storage" in missing["F5"][0]


@pytest.mark.parametrize("commits", [1, 2])
def test_then_they_are_lost_and_are_appended_from_its_manifest(commits: int) -> None:
    """F5 alone says so: F3 would say that it was restored from below what is committed."""
    events = (*REPLACED, *(Event(6 + each, "a checkpoint") for each in range(commits)))
    drawn = played(Plan(28774, Setting("V1"), events))

    told = answered(drawn)
    assert [mode.code for mode, _ in told.matches] == ["F5"]
    assert told.matches[0][1].remedy is Remedy.RECOVER_LEAKED_MANIFESTS
    reasons = {mode.code: each.reason for mode, each in told.excluded}
    assert "the sink lost them" in reasons["F18"]


def test_without_an_intermediate_checkpoint_there_is_nothing_of_it() -> None:
    """The run wrote no file that waits: what was not read is the source's gap (F18)."""
    events = (REPLACED[0], *REPLACED[2:], Event(6, "a checkpoint"))
    drawn = played(Plan(28774, Setting("V1"), events))

    assert "F5" not in {mode.code for mode, _ in (*answered(drawn).matches, *answered(drawn).undecided)}
    assert "F18" in {mode.code for mode, _ in answered(drawn).matches}
