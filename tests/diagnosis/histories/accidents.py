"""What goes wrong around a job and its table more rarely: commits made twice, a job that runs twice, lost commits that
are picked again, copies that Spark takes out, a drain, another uid."""

from bot.observation.flink import CheckpointKind, Restored
from bot.observation.ids import DRAINED, CheckpointId, OperatorId
from tests.cases import job_id
from tests.diagnosis.histories.history import History
from tests.diagnosis.histories.job import RUNS
from tests.diagnosis.histories.reading import RestorePoint, writer_id


def commits_twice(history: History) -> None:
    """The answer to a commit is lost, and the job commits the same files once more."""
    newest = history.table.chain[-1]
    rows = history.table.holds[newest.snapshot_id]
    if newest.snapshot_id != history.tale.snapshots[-1].snapshot_id:
        return
    if newest.job_id is not None and rows and newest.checkpoint_id is not None and newest.operator_id is not None:
        history.job.passes(4)
        run = next(name for name in (*RUNS, "z") if job_id(name) == newest.job_id)
        files = history.table.files.get(newest.snapshot_id, ())
        history.table.adds(run, newest.checkpoint_id, rows, sink=newest.operator_id, files=files)


def runs_twice(history: History) -> None:
    """The job is submitted a second time from its newest checkpoint, and both runs write until one is cancelled."""
    job, newest = history.job, history.job.newest
    if newest is None or history.sink.never_commits:
        return
    second = RUNS[job.started]
    job.started += 1
    _is_listed(history, second, newest)
    at, checkpoint = newest.position, newest.checkpoint
    for made in range(history.draw.randint(1, 3)):
        number = history.draw.randint(1, 3)
        checkpoint += 1
        job.passes(8)
        files = ((writer_id(second, 0), made + 1),)
        held, at = history.source.gives(at, number, job.read)
        history.table.adds(second, checkpoint, held, sink=history.sink.operator, files=files)
        if history.draw.random() < 0.5:
            job.reads()
    if history.draw.random() < 0.7:
        history.tale.becomes(second, "CANCELED")
    else:
        history.tale.forgets(second)


def _is_listed(history: History, run: str, point: RestorePoint) -> None:
    history.tale.flink_runs(run, restored=point.checkpoint, v1=history.sink.is_v1)
    shown = history.tale.runs[run]
    restored = Restored(
        checkpoint_id=CheckpointId(point.checkpoint), at=history.tale.now, is_savepoint=False, path=point.path
    )
    source, committer = shown.vertices
    named = (source, committer.model_copy(update={"vertex_id": history.sink.operator}))
    told = {"restored": restored, "vertices": named, "checkpoint_interval_ms": history.job.interval_s * 1000}
    history.tale.runs[run] = shown.model_copy(update=told)


def sets_main_aside(history: History) -> None:
    """Main is set to a commit that is no ancestor of it."""
    on_main = {s.snapshot_id for s in history.table.chain}
    beside = [s for s in history.tale.snapshots if s.snapshot_id not in on_main and s.job_id]
    if beside:
        history.job.passes(5)
        history.table.is_set_to(history.draw.choice(beside).snapshot_id)


def picks_what_was_lost(history: History) -> None:
    """Commits that were rolled back are picked again, one or all."""
    lost = [s for s in history.tale.table.rolled_back if history.table.holds[s.snapshot_id]]
    if lost and history.draw.random() < 0.5:
        lost = [history.draw.choice(lost)]
    for each in lost:
        history.job.passes(20)
        rows = history.table.holds[each.snapshot_id]
        told = {"source-snapshot-id": str(each.snapshot_id), "added-records": str(len(rows)), "added-data-files": "1"}
        picked = history.table.is_changed("append", rows, told=told)
        history.table.files[picked] = history.table.files.get(each.snapshot_id, ())


def deletes_copies(history: History) -> None:
    """Spark takes copies out: with one of each kept (MERGE), or all of them by key."""
    live = history.table.live_now
    doubled = sorted({p for p in live if live.count(p) > 1})
    chosen = [p for p in doubled if history.draw.random() < 0.6]
    if chosen:
        history.job.passes(20)
        kept = tuple(chosen) if history.draw.random() < 0.6 else ()
        history.table.is_changed("overwrite", kept, takes=frozenset(chosen))
        history.others_wrote = True


def drains(history: History) -> None:
    """Stop with `drain`, and start from that savepoint."""
    job, sink = history.job, history.sink
    if not sink.is_v1:
        job.reads(kind=CheckpointKind.STOP_SAVEPOINT)
    else:
        job.reads(kind=CheckpointKind.STOP_SAVEPOINT, is_committed=False)
        rows = tuple(row for each in sink.pending for row in each.rows)
        files = tuple(each.file for each in sink.pending)
        for each in sink.pending:
            sink.manifests.pop(each.manifest, None)
        sink.pending = ()
        job.passes(6)
        history.table.adds(job.run, DRAINED, rows, sink=sink.operator, files=files)
        job.newest = job.newest._replace(pending=(), is_drained=True)
        job.points[-1] = job.newest
    job.ends("FINISHED")
    job.starts(job.newest)


def changes_uid_and_goes_back(history: History) -> None:
    """The sink gets another uid, and the job is started from an older point of its run."""
    job = history.job
    points = [point for point in job.points if point.run == job.run]
    if len(points) > 1:
        history.sink.operator = OperatorId(f"{job.started:02x}" * 16)
        job.starts(history.draw.choice(points[-5:-1]))


def changes_uid(history: History) -> None:
    """The sink gets another uid, with allowNonRestoredState, at an upgrade or after a cancel."""
    job = history.job
    if job.newest is None:
        return
    if history.draw.random() < 0.5:
        job.reads(kind=CheckpointKind.STOP_SAVEPOINT, is_committed=history.draw.random() < 0.7)
        job.ends("FINISHED")
    else:
        job.ends("CANCELED")
    history.sink.operator = OperatorId(f"{job.started:02x}" * 16)
    job.starts(job.newest)
