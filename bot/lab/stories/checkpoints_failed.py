"""The TaskManager hangs for some seconds, and checkpoints expire; the next ones carry their files."""

from bot.lab.errors import until
from bot.lab.world import World

NAME = "checkpoints-failed"
SUMMARY = "The TaskManager hangs for six seconds: checkpoints fail, later ones bring their rows."
PATIENT = {
    "execution.checkpointing.timeout": "3 s",
    "execution.checkpointing.tolerable-failed-checkpoints": "100",
}
HANGS_S = 6.0
"""Longer than a checkpoint may take, shorter than the heartbeat's limit of ten seconds."""


def tell(world: World, early: bool) -> None:
    """Ends with commits after the failed checkpoints. `early`: returns when the first has failed."""
    first = world.running_job()
    world.await_commits(first, 2)
    good = world.stop(first)
    job = world.start_job(from_path=good.path, properties=PATIENT)
    world.await_commits(job, 2)
    world.await_first_reads()
    world.machines.freeze_taskmanager(HANGS_S)
    page = f"{world.state.flink_url}/#/job/{job}/checkpoints"
    failed = until("a failed checkpoint", lambda: world.flink.failed(job) or None, 60, page)
    world.note(
        f"The TaskManager hung for {HANGS_S:.0f} s; checkpoints {sorted(failed)} of run {job[:8]} failed",
        run_a=first,
        run_b=job,
        failed_checkpoint=failed[0],
    )
    if not early:
        world.await_commits(job, 2, after=failed[0])
