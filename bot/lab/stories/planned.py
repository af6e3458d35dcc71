"""Restarts after which nothing is wrong."""

from bot.lab.flink_rest import SavepointFormat
from bot.lab.stories import story
from bot.lab.world import World

ZEROS = "0" * 32


def _goes_on(world: World, form: SavepointFormat = "CANONICAL") -> None:
    first, good = world.stopped_after(3, form)
    second = world.start_job(from_path=good.path)
    kind = "native savepoint" if form == "NATIVE" else "savepoint"
    world.note(
        f"Run A ({first[:8]}) was stopped with {kind} {good.checkpoint_id}, run B ({second[:8]}) went on from it",
        run_a=first,
        run_b=second,
    )
    world.await_commits(second, 2)


@story("The job is stopped with a savepoint and goes on from it, exactly once.")
def planned_restart(world: World) -> None:
    _goes_on(world)


@story("The job is stopped with a savepoint in native format and goes on from it, exactly once.")
def planned_restart_native(world: World) -> None:
    _goes_on(world, "NATIVE")


@story("The job is cancelled and goes on from its last retained checkpoint, exactly once.")
def restarted_from_last_checkpoint(world: World) -> None:
    """Ends with the second run committing on top of the first."""
    first = world.job_after(4)
    world.flink.cancel(first)
    last = world.flink.completed(first)[0]
    second = world.start_job(from_path=world.checkpoint_path(first, last))
    world.note(f"Run A ({first[:8]}) was cancelled, run B ({second[:8]}) went on from its last checkpoint {last}")
    world.await_commits(second, 2)


@story("The job is stopped with a savepoint and goes on from it with two writers (V2 sink).", "small")
def rescaled(world: World) -> None:
    """The source keeps its one subtask: with two, its second would begin in the middle of the positions. Only the V2
    sink has uids of its own here; the V1 sink's are made from the graph, and another graph does not find its state.

    Ends with two subtasks writing.
    """
    first, good = world.stopped_after(3)
    second = world.start_job(from_path=good.path, sink_options={"write-parallelism": "2"})
    world.note(
        f"Run A ({first[:8]}) was stopped with savepoint {good.checkpoint_id}; run B ({second[:8]}) goes on from it "
        "with two writers"
    )
    world.await_commits(second, 3)


@story("Two runs of the job, one after the other, both have the job id 000…0.")
def job_id_of_zeros(world: World) -> None:
    """As an application cluster without a fixed id gives it to each. The second goes on from the first one's savepoint,
    so nothing is wrong but the name.

    Ends with the second run committing.
    """
    first = world.running_job()
    world.await_commits(first, 2)
    before = world.stop(first)
    world.start_job(from_path=before.path, job_id=ZEROS)
    world.await_commits(ZEROS, 3)
    world.await_first_reads()
    good = world.stop(ZEROS)
    world.machines.restart_jobmanager()
    world.clear_checkpoints(ZEROS)
    world.start_job(from_path=good.path, job_id=ZEROS)
    world.note(f"Run {ZEROS[:8]}… was stopped with savepoint {good.checkpoint_id} and went on under the same job id")
    world.await_commits(ZEROS, 2, after=good.checkpoint_id)
