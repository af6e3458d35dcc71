"""The job is stopped with a savepoint and goes on with two writers instead of one; nothing is wrong.

The source keeps its one subtask: with two, its second would begin in the middle of the positions. Only the V2 sink
has uids of its own here; the V1 sink's are made from the graph, and another graph does not find its state.
"""

from bot.lab.world import World

NAME = "rescaled"
SUMMARY = "The job is stopped with a savepoint and goes on from it with two writers (V2 sink)."


def tell(world: World, early: bool) -> None:
    """Ends with two subtasks writing. `early`: returns when the second run has started."""
    first = world.running_job()
    world.await_commits(first, 3)
    world.await_first_reads()
    good = world.stop(first)
    second = world.start_job(from_path=good.path, sink_options={"write-parallelism": "2"})
    world.note(
        f"Run A ({first[:8]}) was stopped with savepoint {good.checkpoint_id}; run B ({second[:8]}) goes on from it "
        "with two writers",
        run_a=first,
        run_b=second,
        good_savepoint=good.path,
        good_checkpoint=good.checkpoint_id,
    )
    if not early:
        world.await_commits(second, 3)
