"""Metadata that real runs of Flink 1.20 left behind is named rightly, and stays so when one thing in it is changed."""

from collections.abc import Callable

import pytest

import bot.diagnosis
from bot.diagnosis import recovered_by_itself
from bot.diagnosis._examine import diagnose
from bot.diagnosis._scan import scan
from bot.domain.diagnosis import Matches
from tests.diagnosis.little_evidence import case_of, look
from tests.diagnosis.little_world import World
from tests.diagnosis.real_worlds import real_world, with_run

MODES = scan(bot.diagnosis)


def restored_from_its_stop_savepoint() -> World:
    """v1d: a stop with a savepoint at 8, and a new run from there."""
    return with_run(real_world("v1d"), restored=8)


def upserts() -> World:
    """v1u: three commits of an upsert job."""
    return with_run(real_world("v1u"))


def rolled_back_while_running() -> World:
    """v1a: 3 committed, 4 to 21 rolled back, 22 to 27 on top of 3."""
    return with_run(real_world("v1a"))


def restarted_without_state() -> World:
    """v1g: 1 to 5, then 1 to 4 again under the same id."""
    return with_run(real_world("v1g"), since=5)


def rolled_back_and_compacted() -> World:
    """v2c: rolled back from 13 to 10, with a cherry-pick aside and a compaction on top; the job has stopped."""
    return with_run(real_world("v2c"), state="FINISHED")


def drained() -> World:
    """v1f: stopped with a drain."""
    return with_run(real_world("v1f"), state="FINISHED")


@pytest.mark.parametrize("world", [restored_from_its_stop_savepoint, upserts])
def test_a_clean_table_is_healthy(world: Callable[[], World]) -> None:
    """Nothing was lost or doubled in these runs."""
    told = world()

    diagnosis = diagnose(case_of(told, look(told)), MODES)

    assert ("healthy",) == diagnosis.codes


@pytest.mark.parametrize(
    ("world", "code"),
    [(rolled_back_while_running, "F6"), (restarted_without_state, "F15"), (rolled_back_and_compacted, None)],
)
def test_a_table_with_wrong_rows_is_named_and_not_healthy(world: Callable[[], World], code: str | None) -> None:
    """The world counts rows that are lost or doubled, and the mode is the one that was produced."""
    told = world()
    looked = look(told)

    diagnosis = diagnose(case_of(told, looked), MODES)

    assert told.lost(looked.finished) | told.doubled(None)
    assert code is None or code in diagnosis.codes
    assert "healthy" not in diagnosis.codes


def test_a_drained_job_is_not_healthy() -> None:
    """Its rows are right, and nobody writes the table any more."""
    told = drained()

    found = recovered_by_itself.examine(case_of(told, look(told)))

    assert not isinstance(found, Matches)


@pytest.mark.parametrize("world", [restored_from_its_stop_savepoint, upserts])
@pytest.mark.parametrize("change", ["drop", "repeat", "repeat as the next checkpoint", "exchange"])
def test_one_change_anywhere_is_never_healthy_with_wrong_rows(world: Callable[[], World], change: str) -> None:
    """Each commit in turn is dropped, repeated at the head, or exchanged with the newest."""
    commits = [s.snapshot_id for s in world().chain()]
    wrong, called_healthy = 0, []
    for place, snapshot in enumerate(commits):
        told = world()
        if change == "drop":
            told.erases(snapshot)
        elif change == "exchange":
            told.swaps(snapshot, commits[-1])
        else:
            at = told.chain()[place].checkpoint_id or 0
            told.repeats(snapshot, checkpoint=at if change == "repeat" else told.checkpoint + 1, same_files=False)
        looked = look(told)

        found = recovered_by_itself.examine(case_of(told, looked))

        is_wrong = bool(told.lost(looked.finished) | told.doubled(None))
        wrong += is_wrong
        if is_wrong and isinstance(found, Matches):
            called_healthy.append(place)

    assert called_healthy == []
    assert wrong or change == "exchange"
