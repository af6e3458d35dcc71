"""A copy of a restore point is younger than the state that it holds: no time of a file proves that it holds rows which
were written before, and none tells of which start under one job id it is.
"""

import os
import shutil
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import ModuleType

import pytest

from bot.actions import forward_job, restart_with_new_job_id, restore_job_only, rewind_table_and_job
from bot.domain.errors import Refused
from bot.domain.ids import JobId
from tests.actions.scene import ProposalState, Scene
from tests.actions.test_rows_of_repairs import AGAIN, is_recovered, known, starts_from
from tests.tables import job, rows

LATER = timedelta(hours=1)


def copied(point: Path, *, after: timedelta = LATER) -> Path:
    """A copy beside it, made so long afterwards; the point itself is gone since."""
    at = datetime.now(UTC) + after
    shutil.move(point, copy := point.with_name("savepoint-copy"))
    os.utime(copy / "_metadata", (at.timestamp(), at.timestamp()))
    return copy


def written(point: Path, at: datetime) -> None:
    """The time of its file."""
    os.utime(point / "_metadata", (at.timestamp(), at.timestamp()))


def test_a_copy_holds_no_rows_that_are_younger_than_its_commit(scene: Scene) -> None:
    """Run b read on from run a's savepoint 3, and its lost checkpoint 4 was recovered: a copy of 3 repeats it."""
    three = scene.flink.savepoint(job("a"))
    scene.flink.ends(job("a"), "FINISHED")
    scene.flink.submit(job("b"), at_checkpoint=3, restored=three)
    scene.flink.stands_at(job("b"), 4)
    scene.flink.ends(job("b"), "FAILED")
    is_recovered(scene, written=datetime.now(UTC), of=[(job("b"), 4)])
    copied(three)

    with pytest.raises(Refused) as refused:
        restore_job_only.propose(known(scene))

    assert AGAIN in refused.value.found


def test_a_copy_that_no_commit_follows_holds_nothing_that_is_younger_than_its_run(scene: Scene) -> None:
    """Run a's last checkpoints had no rows, and run b read on from its savepoint 5."""
    scene.flink.stands_at(job("a"), 5)
    five = scene.flink.savepoint(job("a"))
    scene.flink.ends(job("a"), "FINISHED")
    assert starts_from(forward_job.propose(known(scene))) == str(five)
    scene.flink.submit(job("b"), at_checkpoint=5, restored=five)
    scene.flink.stands_at(job("b"), 6)
    scene.flink.ends(job("b"), "FAILED")
    is_recovered(scene, written=datetime.now(UTC), of=[(job("b"), 6)])
    copied(five)

    with pytest.raises(Refused) as refused:
        restore_job_only.propose(known(scene))

    assert AGAIN in refused.value.found


def test_a_copy_of_what_was_written_later_is_started_from(scene: Scene) -> None:
    """Run b had committed before and after its savepoint's checkpoint when the rows of run a had long been written."""
    scene.flink.ends(job("a"), "FAILED")
    is_recovered(scene, written=datetime.now(UTC), of=[(job("a"), 4)])
    scene.flink.submit(job("b"), at_checkpoint=4)
    scene.flink.checkpoints(job("b"), 2)
    copy = copied(scene.flink.savepoint(job("b")))
    scene.flink.ends(job("b"), "FAILED")

    assert starts_from(forward_job.propose(known(scene))) == str(copy)


@pytest.mark.parametrize("after", [LATER, timedelta(seconds=2)], ids=["an hour", "two seconds"])
def test_of_which_start_a_late_copy_is_nothing_tells(scene: Scene, after: timedelta) -> None:
    """Both starts under one job id committed checkpoint 3 before the copy was made."""
    three = scene.flink.savepoint(job("a"))
    scene.flink.ends(job("a"), "FINISHED")
    scene.flink.submit(job("a"), at_checkpoint=0)
    scene.flink.checkpoints(job("a"), 3)
    scene.flink.ends(job("a"), "FAILED")
    copied(three, after=after)

    with pytest.raises(Refused) as refused:
        forward_job.propose(known(scene))

    assert "unpairable" in refused.value.found
    assert "nothing tells of which start it is" in refused.value.found


def test_a_copy_from_before_the_second_start_is_of_the_first(scene: Scene) -> None:
    """The first start committed up to 3 and the second up to 4: the copy of 3 was made right after the first's commit,
    more than a second before the second came so far."""
    three = scene.flink.savepoint(job("a"))
    first = scene.table.head
    assert first is not None
    scene.flink.ends(job("a"), "FINISHED")
    time.sleep(1.2)
    scene.flink.submit(job("a"), at_checkpoint=0)
    scene.flink.checkpoints(job("a"), 4)
    scene.flink.ends(job("a"), "FAILED")
    copy = copied(three)
    written(copy, scene.table.by_id[first].committed_at + timedelta(milliseconds=20))

    [pair] = scene.plan().case.pairing.pairings

    assert pair.snapshot_id == first


OF_THE_SECOND: list[list[tuple[JobId, int]]] = [[(job("a"), 1), (job("a"), 2)], [(job("a"), 2)]]


@pytest.mark.parametrize("of", OF_THE_SECOND, ids=["both", "one"])
@pytest.mark.parametrize("action", [restart_with_new_job_id, restore_job_only], ids=["new job id", "job only"])
def test_ids_of_two_starts_are_not_compared(scene: Scene, action: ModuleType, of: Sequence[tuple[JobId, int]]) -> None:
    """The second start began empty under the same id, and its dropped checkpoints were recovered: the savepoint of the
    first has a higher id, and does not hold them."""
    three = scene.flink.savepoint(job("a"))
    scene.flink.ends(job("a"), "FAILED")
    scene.flink.submit(job("a"), at_checkpoint=0)
    scene.flink.stands_at(job("a"), 2)
    scene.flink.ends(job("a"), "FAILED")
    is_recovered(scene, written=datetime.now(UTC) + LATER, of=of, positions=range(30, 50))

    with pytest.raises(Refused) as refused:
        action.propose(known(scene))

    assert AGAIN in refused.value.found
    back = scene.plan(last_good=scene.table.head)
    view = scene.carries_out(rewind_table_and_job.propose(back), back)
    assert starts_from(view.proposal) == str(three)
    assert view.state is ProposalState.APPLIED
    positions = scene.positions()
    assert positions == list(range(len(positions)))


def test_a_pick_of_the_second_start_is_not_held_by_the_first(scene: Scene) -> None:
    """Commit 2 of the second start was rolled back and cherry-picked: savepoint 3 of the first does not hold it."""
    three = scene.flink.savepoint(job("a"))
    third = scene.snapshot("a", 3)
    scene.flink.ends(job("a"), "FAILED")
    scene.flink.submit(job("a"), at_checkpoint=0)
    scene.flink.checkpoints(job("a"), 2)
    scene.flink.ends(job("a"), "FAILED")
    lost = scene.table.head
    scene.rolls_back(to=third)
    scene.commits(rows(range(10, 20)), {"engine-name": "spark", "source-snapshot-id": str(lost)})
    written(three, scene.table.by_id[third].committed_at)

    with pytest.raises(Refused) as refused:
        forward_job.propose(known(scene))

    assert AGAIN in refused.value.found
