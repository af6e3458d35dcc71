"""Actions on the job, a fork, a planned savepoint and its undo, on a real cluster, through what the bot renders."""

from pathlib import Path

import pytest

from bot.lab.errors import LabError
from bot.lab.world import World
from tests.lab_fixtures import FreshLab
from tests.walks.world import incident

pytestmark = [pytest.mark.long, pytest.mark.timeout(1800)]


def test_a_failed_job_is_restored_on_the_table_as_it_is(fresh_lab: FreshLab, tmp_path: Path) -> None:
    """Nothing leaves main, every source position is there exactly once, and maintenance is as before at the end."""
    lab = fresh_lab("v2")
    lab.tell("job-failed")
    with incident(lab, tmp_path) as world, world.bot():
        world.walk("job-failed", runbook="no-new-data")

        made = [e["proposal"] for e in world.journal("proposal-made")]
        told = [(p["action"], p["preview"]["commits"]) for p in made]  # type: ignore[index]
        assert told == [("restore_job_only", 0)]
        assert [e["outcome"] for e in world.journal("execution-ended")] == ["applied"]
        assert [e["passed"] for e in world.journal("verified")] == [True]
        positions = world.positions()
        assert positions == list(range(1, len(positions) + 1))
        assert len(world.checkpoints_of_the_last_run()) >= 2
        world.until(lambda: [e["status"] for e in world.journal("maintenance-marked")] == ["unfrozen"])
        assert not {"gc.enabled", "waterline.maintenance"} & set(world.properties())


def test_a_fork_is_stopped_first_and_its_rows_are_taken_back_then(fresh_lab: FreshLab, tmp_path: Path) -> None:
    """Two proposals, each approved: one run is left, and each position is there once."""
    lab = fresh_lab("v2")
    lab.tell("forked-from-a-savepoint")
    with incident(lab, tmp_path) as world, world.bot():
        world.walk("forked-from-a-savepoint", runbook="two-writers")

        kinds = [[e["kind"] for e in m["proposal"]["effects"]] for m in world.journal("proposal-made")]  # type: ignore[index]
        freeze = "freeze-maintenance"
        assert kinds == [[freeze, "stop-fork"], [freeze, "stop-job", "move-table", "start-job"]]
        positions = world.positions()
        assert positions == list(range(1, len(positions) + 1))
        moves = [(e["status"], e["snapshot"]) for e in world.journal("waterline-moved")]
        *moved, last = (status for status, _ in moves)
        assert (set(moved), last) == ({"under-review"}, "trusted"), "it goes down once more where the fork is named"
        assert len(set(moves)) == len(moves) <= 3, "no move says what was said before"


def test_a_savepoint_is_taken_on_request_and_undone(fresh_lab: FreshLab, tmp_path: Path) -> None:
    """It pairs, its snapshot is tagged, Spark can neither expire nor clean up, and the undo goes on from it; so does a
    restart from the stop."""
    lab = fresh_lab("v2")
    with World(lab.home, print) as hands:
        hands.await_commits(hands.running_job(), 3)
    with incident(lab, tmp_path) as world, world.bot():
        world.opens("planned-savepoint")

        world.asks_for("/waterline propose take_savepoint")
        world.carries_out(1)
        kept = world.journal("effect-ended")[-1]["result"]
        spark = _maintenance_by_spark(lab.home)
        world.asks_for("/waterline undo We go on with the old code")
        world.carries_out(2)
        world.reads_the_ledger()
        world.asks_for("/waterline propose restart_from_stop_savepoint")
        world.carries_out(3)

        assert kept["tag"].startswith(f"savepoint-{kept['checkpoint']}-")  # type: ignore[index]
        assert spark == {"expire_snapshots": "refused", "remove_orphan_files": "refused", "rewrite_data_files": "done"}
        assert [e["passed"] for e in world.journal("verified")] == [True, True, True]
        positions = world.positions()
        assert positions == list(range(1, len(positions) + 1))
        assert len(world.checkpoints_of_the_last_run()) >= 2


def _maintenance_by_spark(home: object) -> dict[str, str]:
    """What Iceberg's own procedures do with the frozen table."""
    found = {}
    calls = {
        "expire_snapshots": "table => '{table}', older_than => now(), retain_last => 1",
        "remove_orphan_files": "table => '{table}', older_than => TIMESTAMP '2020-01-01 00:00:00'",
        "rewrite_data_files": "table => '{table}', options => map('min-input-files', '2')",
    }
    with World(home, print) as world:  # type: ignore[arg-type]
        for procedure, arguments in calls.items():
            try:
                world.hands.sql(f"CALL {{catalog}}.system.{procedure}({arguments})")
                found[procedure] = "done"
            except LabError as error:
                found[procedure] = "refused" if "GC is disabled" in error.found else error.found
    return found
