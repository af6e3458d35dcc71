"""Starts without the job's state, from another point than the last one, or under another name."""

import time
from collections.abc import Callable

from bot.lab.errors import LabError, until
from bot.lab.orders import IGNORE_UNCLAIMED_PROPERTY
from bot.lab.proof import prove
from bot.lab.stories import story
from bot.lab.world import World

SKIPPED = 50


@story("The job is cancelled and started without any state: everything is written a second time.")
def started_from_nothing(world: World) -> None:
    """Under a new job id. Ends with the new run committing."""
    first = world.job_after(4)
    world.flink.cancel(first)
    second = world.start_job()
    world.note(f"Run A ({first[:8]}) was cancelled; run B ({second[:8]}) was started without state")
    commits = world.await_commits(second, 2)
    world.note(f"Run B commits checkpoint {commits[0].checkpoint_id}")


@story("The job starts without state under its old job id: the V2 sink drops its commits.")
def restarted_empty_same_job_id(world: World) -> None:
    """V2 sink: its committer finds the old maximum of this job id on the table and drops every commit below it. V1
    sink: it commits at once, and the source has begun with its first position: duplicates.

    Ends with three completed checkpoints of the new start.
    """
    job, good = world.stopped_after(6)
    world.machines.restart_jobmanager()
    world.clear_checkpoints(job)
    world.start_job(job_id=job)
    world.note(
        f"Job {job[:8]} was stopped with savepoint {good.checkpoint_id} and started without it, under the same job id",
        run_a=job,
        good_checkpoint=good.checkpoint_id,
    )
    world.await_checkpoints(job, 0, 3)
    world.note(f"Checkpoints {sorted(world.flink.completed(job))} completed")


@story("The job starts without state at the source's newest position: what came meanwhile is never read.", "small")
def source_began_too_late(world: World) -> None:
    """Ends with the new run committing above the hole."""
    first = world.job_after(4)
    world.stop(first)
    last = prove(world.table).highest
    second = world.start_job(source_options={"fields.source_position.start": str(last + SKIPPED + 1)})
    world.note(
        f"Run A ({first[:8]}) was stopped at position {last}; run B ({second[:8]}) was started without its state, and "
        f"its source began at {last + SKIPPED + 1}"
    )
    commits = world.await_commits(second, 3)
    world.note(f"Run B commits checkpoint {commits[0].checkpoint_id}")


BACK = 3
ATTEMPTS = 4
ROWS_WITHIN_S = 1.0
"""The source emits once a second: after so long the savepoint carries rows."""
ICEBERGS_DEFAULT = "10"


@story("The job is stopped well, then restored from the savepoint before the last one.")
def restored_from_older_savepoint(world: World) -> None:
    """V2 sink: the new run commits its replay at once, and the table has duplicates. V1 sink: the new run stays
    silent until its checkpoint id passes the old maximum, then commits everything under that id.

    Ends with the wrong run going on, and the good stop-savepoint still there.
    """
    restored_by_mistake(world, meanwhile=lambda: None)


def restored_by_mistake(world: World, meanwhile: Callable[[], None]) -> None:
    """`meanwhile`: what somebody else does to the table before the job is stopped."""
    first = world.running_job()
    world.await_commits(first, 3)
    older = world.savepoint(first)
    world.note(
        f"Run A ({first[:8]}) commits; savepoint {older.checkpoint_id} was taken",
        run_a=first,
        older_checkpoint=older.checkpoint_id,
    )
    world.await_commits(first, 3, after=older.checkpoint_id)
    world.await_first_reads()
    meanwhile()
    good = world.stop(first)
    paired = world.commits_of(first)[-1]
    world.note(
        f"Run A was stopped with savepoint {good.checkpoint_id}, paired with its last commit",
        good_checkpoint=good.checkpoint_id,
        paired_snapshot=paired.snapshot_id,
    )
    second = world.start_job(from_path=older.path)
    world.note(
        f"Someone restored the job from savepoint {older.checkpoint_id} instead: run B ({second[:8]})", run_b=second
    )
    commits = world.await_commits(second, 1 if world.state.sink == "v1" else 2)
    world.note(
        f"Run B committed its replay; its first commit carries checkpoint {commits[0].checkpoint_id} "
        f"(the table had {good.checkpoint_id})",
        first_wrong_snapshot=commits[0].snapshot_id,
    )
    world.consume("revenue_daily")


@story("The job is restored from an older savepoint; Spark compacts before, and then the copies with the rest.")
def restored_between_compactions(world: World) -> None:
    """Ends with no file live that either run wrote below the newest commits."""
    restored_by_mistake(world, meanwhile=world.hands.compacts)
    world.hands.compacts()
    world.note("Spark compacted the table again, copies and all")


def _cancelled(world: World) -> tuple[str, list[int]]:
    """The run, and its retained checkpoints, newest first."""
    job = world.job_after(6)
    world.flink.cancel(job)
    return job, world.flink.completed(job)


@story("The job is cancelled and goes on from an older retained checkpoint: rows are there twice.")
def restored_from_older_checkpoint(world: World) -> None:
    """Ends with the second run committing rows again."""
    first, retained = _cancelled(world)
    older = retained[BACK]
    second = world.start_job(from_path=world.checkpoint_path(first, older))
    world.note(
        f"Run A ({first[:8]}) was cancelled after checkpoint {retained[0]}, run B ({second[:8]}) was started from "
        f"{older}"
    )
    world.await_commits(second, 2)


@story("The job is restored from an older savepoint under its old job id: its commits are withheld.")
def restored_older_same_job_id(world: World) -> None:
    """Either sink finds the old maximum of this job id on the table: nothing is committed until the ids have passed it.

    Ends with checkpoints that completed and were not committed.
    """
    job = world.running_job()
    world.await_commits(job, 3)
    older = world.savepoint(job)
    world.await_commits(job, 6, after=older.checkpoint_id)
    world.await_first_reads()
    good = world.stop(job)
    world.machines.restart_jobmanager()
    world.clear_checkpoints(job)
    world.start_job(from_path=older.path, job_id=job)
    world.note(
        f"Job {job[:8]} was stopped with savepoint {good.checkpoint_id} and restored from savepoint "
        f"{older.checkpoint_id}, under the same job id"
    )
    world.await_checkpoints(job, older.checkpoint_id, 3)


@story("The job goes back three checkpoints under its old job id: the next ones fail, their folders exist.")
def checkpoint_folder_taken(world: World) -> None:
    """Each checkpoint whose folder is there already fails, and the ids go on until one is free.

    Ends with the first checkpoint that completed.
    """
    job, retained = _cancelled(world)
    older = retained[BACK]
    world.machines.restart_jobmanager()
    world.start_job(from_path=world.checkpoint_path(job, older), job_id=job)
    world.note(
        f"Job {job[:8]} was cancelled after checkpoint {retained[0]} and restored from {older}, under its old job id"
    )
    page = f"{world.state.flink_url}/#/job/{job}/checkpoints"
    failed = until("a failed checkpoint", lambda: world.flink.failed(job) or None, 120, page)
    world.await_checkpoints(job, retained[0], 1)
    world.note(f"Checkpoints {sorted(failed)} failed, then {world.flink.completed(job)[0]} completed")


@story("The V2 sink gets another uid, its state is left behind: the savepoint's files are never committed.")
def restored_under_another_uid(world: World) -> None:
    """The savepoint holds the files of its own checkpoint, which were never committed. The sink of the new uid does not
    know them, and the source does not go back: their rows are in a leaked Flink manifest and nowhere else.

    Ends with the new run committing above the hole.
    """
    first = world.job_after(3)
    for _ in range(ATTEMPTS):
        world.await_more_commits(first, 1)
        time.sleep(ROWS_WITHIN_S)
        savepoint = world.savepoint(first, then_cancel=True)
        leaked = world.hands.flink_manifests(first, savepoint.checkpoint_id)
        if leaked:
            break
        first = world.start_job(from_path=savepoint.path)
        world.await_commits(first, 1)
    else:
        raise LabError(
            "No savepoint carried rows of its own.",
            f"Expected a Flink manifest of one within {ATTEMPTS} attempts; found none.",
            "Run the story again.",
        )
    second = world.start_job(
        from_path=savepoint.path,
        sink_options={"uid-suffix": "orders-sink-2"},
        properties={IGNORE_UNCLAIMED_PROPERTY: "true"},
    )
    world.note(
        f"Run A ({first[:8]}) was cancelled with savepoint {savepoint.checkpoint_id}; run B ({second[:8]}) was "
        "restored from it with another uid for its sink"
    )
    world.await_commits(second, 2)
    world.note("Run B commits")


@story("The job is stopped with --drain and restored: the V1 sink never commits again.")
def restored_after_drain(world: World) -> None:
    """V1 sink: the last commit carries the highest checkpoint id there is, and no later one is ever committed.

    The lab's table usually gets a snapshot for each empty checkpoint, and the drained job's empty last one would
    hide the fault under a usual id; so Iceberg's own default comes back first.

    Ends with three completed checkpoints of the restored run.
    """
    started = world.running_job()
    world.await_commits(started, 1)
    before = world.stop(started)
    world.hands.set_property("flink.max-continuous-empty-commits", ICEBERGS_DEFAULT)
    first = world.start_job(from_path=before.path)
    world.await_commits(first, 3)
    world.await_first_reads()
    first, drained = world.stop_with_rows(first, drain=True)
    last = world.commits_of(first)[-1]
    second = world.start_job(from_path=drained.path)
    world.note(
        f"Run A ({first[:8]}) was drained with savepoint {drained.checkpoint_id}; its last commit carries checkpoint "
        f"{last.checkpoint_id}. Run B ({second[:8]}) was started from that savepoint",
        run_b=second,
        last_checkpoint=last.checkpoint_id or 0,
    )
    world.await_checkpoints(second, drained.checkpoint_id, 3)


@story("A second job starts from a savepoint of the running one, and both write the table.")
def forked_from_a_savepoint(world: World) -> None:
    """Ends with commits of both between each other's."""
    first = world.job_after(3)
    shared = world.savepoint(first)
    second = world.start_job(from_path=shared.path)
    world.note(
        f"A second job ({second[:8]}) was started from savepoint {shared.checkpoint_id} of run A ({first[:8]}), "
        "which goes on",
        run_a=first,
        run_b=second,
    )
    world.await_commits(second, 2)
    world.await_more_commits(first, 2)
    world.note("Both commit")
