"""A new job id is nothing to be told: it is looked at closer at once, and told only where its restore does not pair.

Real worlds of the lab: the watch sees each before the job was started anew, then as it was recorded afterwards.
"""

from datetime import timedelta
from pathlib import Path

import pytest

from tests.adapters.flink_wire import Wire
from tests.watch.conftest import OverRecorded
from tests.watch.recorded import Recorded
from tests.watch.watched import Watched

SECOND = timedelta(seconds=1)


def before_and_after(watched: Watched, world: Recorded, wire: Wire, folder: Path) -> list[list[str]]:
    """Tasks of evidence that were asked: at the looks before the new run, and at the first look after it."""
    watched.looks(4, apart=SECOND)
    before = list(world.asked)
    world.goes_on().told_by(wire)
    world.catalog_in(folder)
    watched.clock.at = max(world.now, watched.clock.at + SECOND)
    watched.looks(1)
    after = world.asked[len(before) :]
    watched.looks(6, apart=SECOND)
    return [before, after]


def shortly_before_its_newest_run(world: Recorded) -> Recorded:
    """So that what comes in between is not a silence to the watch, whose clock goes on."""
    return world.until(world.runs[0].started_at - timedelta(seconds=1))


@pytest.mark.parametrize(
    "name", ["planned-restart-v1", "planned-restart-v2", "planned-restart-v2-upsert", "rescaled-v2"]
)
def test_a_new_job_id_is_looked_at_closer_at_once_and_not_told(
    name: str, over_recorded: OverRecorded, wire: Wire, tmp_path: Path
) -> None:
    """The restore pairs: the new run goes on above the last commit of the one before. That is health."""
    world = shortly_before_its_newest_run(Recorded(name))
    watched = over_recorded(world)

    before, after = before_and_after(watched, world, wire, tmp_path / name)

    runs = {run.job_id for run in world.runs}
    assert len(runs) == 2
    assert before
    assert sorted(set(after)) == sorted(set(before))
    assert watched.seen == ()


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("restored-from-older-savepoint-v1", "F2"),
        ("restored-from-older-savepoint-v2", "F2"),
        ("started-from-nothing-v2", "F15"),
        ("forked-from-a-savepoint-v2", "F13"),
    ],
)
def test_a_new_job_id_whose_restore_does_not_pair_is_told_by_its_mode(
    name: str, code: str, over_recorded: OverRecorded, wire: Wire, tmp_path: Path
) -> None:
    """From older, from nothing, beside the old one: once, as the one thing to act on."""
    world = shortly_before_its_newest_run(Recorded(name))
    watched = over_recorded(world)

    before_and_after(watched, world, wire, tmp_path / name)

    assert [each.code for each in watched.told] == [code]
