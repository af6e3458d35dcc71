"""What the people of a job do to it and to its table: upgrades, restores, rollbacks; well, or by mistake."""

from itertools import takewhile

from bot.observation.flink import CheckpointKind, Restored
from bot.observation.ids import CheckpointId, SnapshotId
from bot.observation.table import Snapshot
from tests.cases import OPERATOR, job_id
from tests.diagnosis.histories.history import Half, History
from tests.diagnosis.histories.job import RUNS
from tests.diagnosis.histories.reading import RestorePoint

_OWN_NAME = 0.8
"""How often the second of two halves has a name of its own."""

# ---------------------------------------------------------------------- well done


def takes_savepoint(history: History) -> None:
    """An intermediate savepoint, which commits nothing (facts 5 of section 0)."""
    history.job.reads(kind=CheckpointKind.SAVEPOINT)


def upgrades(history: History) -> None:
    """Stop with savepoint, and start from it."""
    history.job.reads(kind=CheckpointKind.STOP_SAVEPOINT)
    history.job.ends("FINISHED")
    history.job.starts(history.job.newest)


def cancels_and_starts(history: History) -> None:
    """Cancel, and start from the newest checkpoint."""
    history.job.is_killed_and_started()


def redeploys(history: History) -> None:
    """The operator's last-state upgrade: the newest checkpoint, under the same job id."""
    history.job.is_killed_and_started(keeps_id=True)


def rewinds(history: History) -> None:
    """The right recipe (fact 4 of section 0): stop, roll back, start from the checkpoint that main then ends with. Not
    below what others have committed, nor below where the job was split: nobody would bring that again."""
    half = history.half
    apart = job_id(half.run) if half is not None else "nobody"
    own = list(takewhile(lambda s: _is_of_the_job(s) and s.job_id != apart, reversed(history.table.chain)))
    on_main = {(s.job_id, s.checkpoint_id): s.snapshot_id for s in reversed(own) if s.job_id}
    paired: dict[SnapshotId, RestorePoint] = {}
    for point in history.job.points:
        if half is not None and point.at < half.since:
            continue
        if (at := on_main.get((job_id(point.run), CheckpointId(point.checkpoint)))) is not None:
            paired[at] = point
    if not paired:
        return
    at, point = history.draw.choice(list(paired.items())[-6:])
    history.job.ends("CANCELED")
    history.job.passes(30)
    history.table.is_set_to(at)
    history.job.starts(point)


def splits(history: History) -> None:
    """Stop with savepoint, and start two jobs from it, each with some of the source's partitions."""
    job, source = history.job, history.source
    if history.half is not None or source.partitions == 1 or history.sink.never_commits:
        return
    job.reads(kind=CheckpointKind.STOP_SAVEPOINT)
    job.ends("FINISHED")
    savepoint = job.newest
    apart = frozenset(source.draw.sample(sorted(source.every), source.draw.randint(1, source.partitions - 1)))
    job.read = source.every - apart
    job.starts(savepoint)
    history.half = Half(RUNS[job.started], apart, savepoint)
    job.started += 1
    history.tale.flink_runs(history.half.run, restored=savepoint.checkpoint, v1=history.sink.is_v1)
    shown = history.tale.runs[history.half.run]
    point = Restored(
        checkpoint_id=CheckpointId(savepoint.checkpoint), at=history.tale.now, is_savepoint=True, path=savepoint.path
    )
    reader, committer = shown.vertices
    named = (
        reader.model_copy(update={"name": "Source: orders of some partitions -> Map"}),
        committer.model_copy(update={"vertex_id": history.half.operator}),
    )
    name = f"{shown.name}{' of some partitions' if source.draw.random() < _OWN_NAME else ''}"
    told = {"name": name, "restored": point, "vertices": named, "checkpoint_interval_ms": job.interval_s * 1000}
    history.tale.runs[history.half.run] = shown.model_copy(update=told)


# ---------------------------------------------------------------------- by mistake


def rolls_back_while_it_runs(history: History) -> None:
    """Main is set back to one of its newest commits, and the job goes on above."""
    chain = history.table.chain
    if len(chain) > 2:
        history.job.passes(5)
        history.table.is_set_to(history.draw.choice(chain[-5:-1]).snapshot_id)


def starts_from_older(history: History, *, keeps_id: bool = False) -> None:
    """Only the job goes back, to one of the run's older points."""
    run = history.job.run
    points = [point for point in history.job.points if point.run == run and _restores(history, point)]
    if len(points) > 1:
        history.job.starts(history.draw.choice(points[-5:-1]), keeps_id=keeps_id)


def starts_from_another_run(history: History) -> None:
    """The point that is taken is one of an earlier run: the newest file on storage, or a path of long ago."""
    run = history.job.run
    points = [point for point in history.job.points if point.run != run and _restores(history, point)]
    if points:
        history.job.starts(history.draw.choice(points[-5:]))


def starts_empty(history: History, *, keeps_id: bool = False) -> None:
    """Without state: the source begins anew, goes on where main ends, or jumps over rows."""
    end = history.source.end_of(history.table.live_now)
    history.job.starts(None, keeps_id=keeps_id)
    beyond = tuple(each + 3 for each in end)
    history.job.position = history.draw.choice([history.source.zero, end, beyond])


def _is_of_the_job(commit: Snapshot) -> bool:
    """Or a compaction, which brings no row."""
    return commit.operator_id == OPERATOR or commit.operation == "replace"


def _restores(history: History, point: RestorePoint) -> bool:
    """People know that an intermediate savepoint pairs with nothing under a V1 sink."""
    return point.kind is not CheckpointKind.SAVEPOINT or not history.sink.is_v1
