"""Someone restores the job from an older savepoint by mistake.

V2 sink: the new run commits its replay at once, and the table has duplicates. V1 sink: the new run stays
silent until its checkpoint id passes the old maximum, then commits everything under that id.
"""

from collections.abc import Callable

from bot.lab.flink_rest import Savepoint
from bot.lab.world import World

NAME = "restored-from-older-savepoint"
SUMMARY = "The job is stopped well, then restored from the savepoint before the last one."


def tell(world: World, early: bool) -> None:
    """Ends with the wrong run going on, and the good stop-savepoint still there.

    `early`: returns with the wrong run's first checkpoint; with the V1 sink the table still looks healthy then.
    """
    restored_by_mistake(world, early, meanwhile=lambda: None)


def restored_by_mistake(world: World, early: bool, meanwhile: Callable[[], None]) -> None:
    """`meanwhile`: what somebody else does to the table before the job is stopped."""
    first = world.running_job()
    world.await_commits(first, 3)
    older = world.savepoint(first)
    world.note(
        f"Run A ({first[:8]}) commits; savepoint {older.checkpoint_id} was taken",
        run_a=first,
        older_savepoint=older.path,
        older_checkpoint=older.checkpoint_id,
    )
    world.await_commits(first, 3, after=older.checkpoint_id)
    world.await_first_reads()
    meanwhile()
    good = world.stop(first)
    paired = world.commits_of(first)[-1]
    world.note(
        f"Run A was stopped with savepoint {good.checkpoint_id}, paired with its last commit",
        good_savepoint=good.path,
        good_checkpoint=good.checkpoint_id,
        paired_snapshot=paired.snapshot_id,
    )
    second = world.start_job(from_path=older.path)
    world.note(
        f"Someone restored the job from savepoint {older.checkpoint_id} instead: run B ({second[:8]})",
        run_b=second,
    )
    if early:
        world.await_checkpoints(second, older.checkpoint_id, 1)
        return
    _let_it_show(world, second, good)


def _let_it_show(world: World, second: str, good: Savepoint) -> None:
    commits = world.await_commits(second, 1 if world.state.sink == "v1" else 2)
    facts = {"first_wrong_snapshot": commits[0].snapshot_id, "first_wrong_rows": commits[0].added_rows}
    world.note(
        f"Run B committed its replay; its first commit carries checkpoint {commits[0].checkpoint_id} "
        f"(the table had {good.checkpoint_id})",
        **facts,
    )
    world.consume("revenue_daily")
