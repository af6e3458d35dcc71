"""Flink, its processes or its source fail while the job runs."""

from pathlib import Path

from bot.lab.errors import LabError, until
from bot.lab.home import local
from bot.lab.proof import prove
from bot.lab.stories import story
from bot.lab.world import World

FIVE_MINUTES = {"restart-strategy.type": "fixed-delay", "restart-strategy.fixed-delay.delay": "300 s"}
PATIENT = {
    "execution.checkpointing.timeout": "3 s",
    "execution.checkpointing.tolerable-failed-checkpoints": "100",
}
UNALIGNED = {**PATIENT, "execution.checkpointing.unaligned.enabled": "true"}
HANGS_S = 6.0
"""Longer than a checkpoint may take, shorter than the heartbeat's limit of ten seconds."""
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
UNHEARD = 6
TRIES = 6
COMMITS = 6


@story("The TaskManager is killed; the job recovers by itself, exactly once.")
def task_manager_killed(world: World) -> None:
    """Ends with the job committing again under the same id."""
    job = world.running_job()
    before = world.await_commits(job, 3)[-1]
    world.await_first_reads()
    gone = world.machines.kill_taskmanager()
    world.note(f"The TaskManager (process {gone}) was killed")
    new = world.machines.await_new_taskmanager(gone)
    commits = world.await_commits(job, 2, after=max(world.newest_checkpoint(job), before.checkpoint_id or 0))
    world.note(f"A new TaskManager (process {new}) took over; the job committed checkpoint {commits[0].checkpoint_id}")


def _restarted_with(world: World, properties: dict[str, str]) -> str:
    """The run that went on from a savepoint with these properties."""
    first = world.running_job()
    world.await_commits(first, 2)
    good = world.stop(first)
    job = world.start_job(from_path=good.path, properties=properties)
    world.await_commits(job, 2)
    world.await_first_reads()
    return job


@story("The TaskManager is killed, and Flink waits five minutes before it restarts the job: it is recovering.")
def restarting_slowly(world: World) -> None:
    """With the lab's own delay of a second the job is back before a bot has started to look.

    Ends while Flink waits to restart the job, for five minutes.
    """
    job = _restarted_with(world, FIVE_MINUTES)
    gone = world.machines.kill_taskmanager()
    world.note(f"Run {job[:8]}, which restarts after five minutes, lost its TaskManager (process {gone})")
    page = f"{world.state.flink_url}/#/job/{job}"
    until(f"job {job} to restart", lambda: world.flink.state_of(job) == "RESTARTING" or None, 60, page)
    world.note("Flink has seen it, and waits")


@story("The job fails for good: no snapshot is added, and the table is fine.")
def job_failed(world: World) -> None:
    job = _restarted_with(world, {"restart-strategy.type": "none"})
    killed = world.machines.kill_taskmanager()
    world.note(f"Run {job[:8]}, which does not restart, lost its TaskManager (process {killed})")
    page = f"{world.state.flink_url}/#/job/{job}"
    until(f"job {job} to fail", lambda: world.flink.state_of(job) == "FAILED" or None, 120, page)
    world.note("The job has failed")


@story("The TaskManager hangs for six seconds: checkpoints fail, later ones bring their rows.")
def checkpoints_failed(world: World) -> None:
    """Ends with commits after the failed checkpoints."""
    job = _restarted_with(world, PATIENT)
    world.machines.freeze_taskmanager(HANGS_S)
    page = f"{world.state.flink_url}/#/job/{job}/checkpoints"
    failed = until("a failed checkpoint", lambda: world.flink.failed(job) or None, 60, page)
    world.note(f"The TaskManager hung for {HANGS_S:.0f} s; checkpoints {sorted(failed)} of run {job[:8]} failed")
    world.await_commits(job, 2, after=failed[0])


@story("A TaskManager dies with a file half written: the next attempt writes its rows, the file stays.", "small")
def attempt_left_a_file(world: World) -> None:
    """Of the two ways to a second attempt (speculative execution of a batch job, and a failover) this is the one that a
    streaming job takes.

    Ends with commits by the second attempt.
    """
    _first, good = world.stopped_after(2)
    for name, value in SMALL_GROUPS.items():
        world.hands.set_property(name, value)
    job = world.start_job(from_path=good.path, properties=SLOW)
    world.await_commits(job, 1)
    left = until("a data file that is being written", lambda: _half_written(world), 60, str(_folder(world)))
    gone = world.machines.kill_taskmanager()
    newest = world.newest_checkpoint(job)
    world.note(f"The TaskManager (process {gone}) was killed while it wrote {left.name}")
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


@story("The message that a checkpoint is complete is lost: the sink commits nothing (needs --wire, constructed).")
def notification_lost(world: World) -> None:
    """A wire of the lab drops the JobManager's notifications on their way. Flink, the sink and the manifests are real;
    nothing else is touched.

    Ends with completed checkpoints whose files wait.
    """
    job = world.job_after(3)
    world.machines.lose_notifications()
    last = world.commits_of(job)[-1]
    world.note(f"No notification arrives since checkpoint {last.checkpoint_id} of run {job[:8]}")
    waiting = world.await_checkpoints(job, last.checkpoint_id or 0, UNHEARD)
    world.note(f"Checkpoints {sorted(waiting)} completed")


@story("New rows arrive, but their event time does not advance: no fault of the job or the table.", "small")
def event_time_stands_still(world: World) -> None:
    """A producer's clock is stuck. Ends with commits whose events are no newer."""
    first, good = world.stopped_after(3)
    last = prove(world.table).highest
    second = world.start_job(
        from_path=good.path,
        columns={"event_time": lambda told: told.replace("source_position", f"LEAST(source_position, {last})")},
    )
    world.note(f"Since position {last} all events carry one time (run A {first[:8]}, run B {second[:8]})")
    world.await_commits(second, COMMITS)


@story("One of two writers hangs while an unaligned checkpoint expires: the V1 sink loses the other's files.", "small")
def late_files_replace_others(world: World) -> None:
    """The V1 committer keeps one manifest for each checkpoint. It wrote one with the files of the writer that did not
    hang, and writes another with those of the one that did in place of it: nothing names the first files then (seen
    with Flink 2.1 and Iceberg 1.12). Needs a lab with two TaskManagers and parallelism 2.

    Ends with commits after the failed checkpoint.
    """
    job = _restarted_with(world, UNALIGNED)
    stuck = with_a_writer_alone(world, job)
    for _ in range(TRIES):
        last = world.commits_of(job)[-1]
        world.machines.freeze_taskmanager(HANGS_S, stuck)
        world.note(f"A writer of run {job[:8]} hung for {HANGS_S:.0f} s on {stuck}")
        commits = world.await_commits(job, 3, after=last.checkpoint_id or 0)
        if _left_behind(world, job, commits[0].checkpoint_id or 0):
            return
    raise LabError(
        "No checkpoint lost a file.",
        f"Expected that one of {TRIES} did; none expired of which one writer alone had handed in.",
        "Run the story again on a machine that is less busy.",
    )


def _left_behind(world: World, job: str, below: int) -> bool:
    """Whether a Flink manifest of the job and of a checkpoint below this one is still on storage."""
    folder = local(world.table.location()) / "metadata"
    return any(int(name.stem.split("-")[-2]) < below for name in folder.glob(f"{job}-*.avro"))


def with_a_writer_alone(world: World, job: str) -> str:
    """The TaskManager that holds nothing but one of the two writers."""
    placed = world.flink.places(job)
    busy = {name for subtasks in placed.values() if len(subtasks) == 1 for name in subtasks}
    alone = {name for subtasks in placed.values() for name in subtasks} - busy
    if len(alone) != 1:
        raise LabError(
            "No TaskManager holds one writer and nothing else.",
            f"Expected two TaskManagers (waterline lab up --taskmanagers 2); the job lies so: {placed}.",
            "Start a lab with two, or run the story again.",
        )
    return alone.pop()
