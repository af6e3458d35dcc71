"""What `restore-check` says of a real job's savepoints, and what a start from them really does to the table."""

from pathlib import Path

import pytest

from bot.bootstrap import restore_service
from bot.history.prediction import RestoreVerdict
from bot.lab.lab import Lab
from bot.lab.proof import prove
from bot.lab.world import World
from bot.observation.ids import TableName
from bot.settings import Settings
from tests.lab_fixtures import FreshLab
from tests.matrix.asking import configured

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]


def test_the_rows_that_an_older_savepoint_doubles_are_those_that_were_foretold(
    fresh_lab: FreshLab, tmp_path: Path
) -> None:
    """The savepoint of the planned stop is right; the one before is wrong, by exactly the rows that then come twice."""
    lab: Lab = fresh_lab("v2")
    table = TableName(lab.state.table)
    with (
        World(lab.home, lambda _: None) as world,
        restore_service(Settings.load(configured(tmp_path, lab.state))) as desk,
    ):
        run = world.running_job()
        world.await_commits(run, 2)
        older = world.savepoint(run)
        world.await_commits(run, 3, after=older.checkpoint_id)
        running = desk.check(table, older.path)
        newest = world.stop(run)

        right, wrong = desk.check(table, newest.path), desk.check(table, f"{older.path}/_metadata")
        again = world.start_job(from_path=older.path)
        before, committed = prove(world.table), 0
        while prove(world.table).highest <= before.highest:
            committed += 1
            world.await_commits(again, committed)
        world.stop(again)
        after = prove(world.table)

    assert (right.verdict, right.checkpoint) == (RestoreVerdict.RIGHT, newest.checkpoint_id)
    assert (wrong.verdict, wrong.instead is not None) == (RestoreVerdict.WRONG, True)
    assert wrong.instead.endswith(newest.path.rpartition("/")[2])
    assert running.alive == (run,)
    repeated = wrong.tables[0].repeated
    assert (before.duplicates, repeated.is_at_most, repeated.rows) == (0, False, after.duplicates)
