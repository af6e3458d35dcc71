"""Two runs have the same made-up job id, as an application cluster without a fixed id gives it to each.

The second goes on from the first one's savepoint, so nothing is wrong but the name.
"""

from bot.lab.world import World

NAME = "job-id-of-zeros"
SUMMARY = "Two runs of the job, one after the other, both have the job id 000…0."
ZEROS = "0" * 32


def tell(world: World, early: bool) -> None:
    """Ends with the second run committing. `early`: returns when it was submitted."""
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
    world.note(
        f"Run {ZEROS[:8]}… was stopped with savepoint {good.checkpoint_id} and went on under the same job id",
        run_a=first,
        run_b=ZEROS,
        good_savepoint=good.path,
        good_checkpoint=good.checkpoint_id,
    )
    if not early:
        world.await_commits(ZEROS, 2, after=good.checkpoint_id)
