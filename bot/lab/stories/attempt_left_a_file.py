"""A TaskManager dies while its writer has a file open; the next attempt writes the rows again, into files of its own.

Of the two ways to a second attempt (speculative execution of a batch job, and a failover) this is the one that a
streaming job takes.
"""

from pathlib import Path

from bot.lab.errors import until
from bot.lab.other_hands import local
from bot.lab.world import World

NAME = "attempt-left-a-file"
SUMMARY = "A TaskManager dies with a file half written: the next attempt writes its rows, the file stays."
SLOW = {"execution.checkpointing.interval": "10 s"}
"""Long enough to be met between two checkpoints."""
SMALL_GROUPS = {
    "write.parquet.row-group-size-bytes": "1",
    "write.parquet.row-group-check-min-record-count": "1",
    "write.parquet.row-group-check-max-record-count": "1",
}
"""So that bytes are on storage before the file is closed: Spark does not list an empty file."""
_END = b"PAR1"
"""How a whole file ends."""


def tell(world: World, early: bool) -> None:
    """Ends with commits by the second attempt. `early`: returns right after the kill."""
    first = world.running_job()
    world.await_commits(first, 2)
    world.await_first_reads()
    good = world.stop(first)
    for name, value in SMALL_GROUPS.items():
        world.hands.set_property(name, value)
    job = world.start_job(from_path=good.path, properties=SLOW)
    world.await_commits(job, 1)
    left = until("a data file that is being written", lambda: _half_written(world), 60, str(_folder(world)))
    gone = world.machines.kill_taskmanager()
    newest = max(link.checkpoint_id or 0 for link in world.commits_of(job))
    world.note(
        f"The TaskManager (process {gone}) was killed while it wrote {left.name}",
        run_a=first,
        run_b=job,
        killed_pid=gone,
        left_file=left.name,
    )
    if not early:
        world.machines.await_new_taskmanager(gone)
        world.await_commits(job, 2, after=newest)


def _folder(world: World) -> Path:
    return local(world.table.location()) / "data"


def _half_written(world: World) -> Path | None:
    for file in _folder(world).rglob("*.parquet"):
        content = file.read_bytes()
        if content and not content.endswith(_END):
            return file
    return None
