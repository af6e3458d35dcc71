"""Which point a run was restored from, where two of one run bear the same checkpoint id: starts under one job id may
count the same ids twice, and then what pairs with main by its id may be a state that main never had.

Flink manifests on storage that came after `leaked_manifests` had looked: the listing names them, evidence does not
yet say what becomes of them.

Whether the rows that one start brought still answer for the table: a later run may have begun elsewhere.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import pairwise

from bot.diagnosis._another_had_it import had_before, had_by_another, has_completed, is_completed, is_younger
from bot.diagnosis._case import is_live, living
from bot.diagnosis._read_again_once import not_passed, uncounted
from bot.diagnosis._room_for_a_start import has_room_up_to, leaves_room, may_have_counted_anew
from bot.domain.diagnosis import CannotTell, Case
from bot.domain.findings import LeakedManifest, LeakStanding
from bot.domain.flink import CLOCKS_DIFFER, CompletedCheckpoint, FlinkManifest, JobRun, Restored, names_run
from bot.domain.guests import Guests
from bot.domain.ids import DRAINED, CheckpointId, JobId, OperatorId, SnapshotId, short, short_job
from bot.domain.kin import writer_of
from bot.domain.rewinds import began_from, began_without_state, flink_commits
from bot.domain.table import Snapshot


def came_since(case: Case) -> Iterator[FlinkManifest]:
    """In the order of the listing; none where nobody has looked."""
    if case.leaked is None:
        return
    known = {leak.path for leak in case.leaked.manifests}
    yield from (each for each in case.observation.flink_manifests.values if each.path not in known)


def which_point(case: Case) -> str | None:
    """What is missing to know that a living run has the state with which main's newest commit was made of the run that
    its restore point is of: something shows that there was another, and the rows that the run brought since were not
    counted. None where nothing does."""
    for run in living(case):
        point = run.restored
        commit = newest_of(case, point) if point is not None else None
        if point is None or commit is None or _is_counted(case, run, point):
            continue
        if (shown := _other_state(case, run, point, commit)) is not None:
            of_run = f" of run {short_job(commit.job_id)}" if point.path is not None else ""
            return (
                f"whose state run {short_job(run.job_id)} has: Flink restored it from checkpoint {point.checkpoint_id}"
                f"{of_run}, but {shown}; its first rows tell, once they are counted"
            )
    return None


def counted_twice(case: Case, job: JobId, number: CheckpointId) -> LeakedManifest | None:
    """A manifest with rows of this run at or below an id that main has of it, of which it is not known that only its
    deletion failed: the run came to that id twice (facts 0.7). Not one below that id whose rows are live, as of a
    checkpoint that a failover broke off."""
    if case.leaked is None:
        return None
    for leak in case.leaked.of(LeakStanding.UNTOLD, LeakStanding.DROPPED):
        if leak.is_empty or leak.job_id != job or leak.checkpoint_id > number:
            continue
        if leak.checkpoint_id == number or not is_live(leak, case.gaps, case.contract):
            return leak
    return None


def newest_of(case: Case, point: Restored) -> Snapshot | None:
    """Main's newest commit before the restore, of the run that the path names. Where Flink tells no path, of any run
    and each sink, for a guest commits by one of its own: that of the restored checkpoint first."""
    before = (s for s in reversed(flink_commits(case.observation.table)) if s.committed_at <= point.at + CLOCKS_DIFFER)
    named = (s for s in before if s.job_id and (point.path is None or names_run(point.path, s.job_id)))
    newest: dict[OperatorId | None, Snapshot] = {}
    for commit in named:
        newest.setdefault(commit.operator_id if point.path is None else None, commit)
    paired = next((s for s in newest.values() if s.checkpoint_id == point.checkpoint_id), None)
    return paired or next(iter(newest.values()), None)


def _is_counted(case: Case, run: JobRun, point: Restored) -> bool:
    """Whether what the run has brought since the restore was held against what main had."""
    commits = flink_commits(case.observation.table)
    since = (s for s in commits if s.job_id == run.job_id and s.committed_at > point.at + CLOCKS_DIFFER)
    first: SnapshotId | None = next((s.snapshot_id for s in since), None)
    return first is not None and uncounted(case, run.job_id, first) is None


def _other_state(case: Case, run: JobRun, point: Restored, commit: Snapshot) -> str | None:
    """What shows that the run had another state than that of this commit, under the restored id; None: nothing."""
    starts = [each for each in case.observation.jobs.values if each.job_id == commit.job_id]
    later = [each for each in starts if each.job_id != run.job_id and is_younger(each, commit)]
    if any(began_without_state(each, None) for each in later):
        return f"that run was started anew without state since its commit {short(commit.snapshot_id)} on main"
    if commit.checkpoint_id != point.checkpoint_id:
        return _counted_up_to(case, run, point, commit, starts)
    shown = _came_twice(case, run, point, commit, starts, later)
    return f"{shown}, so that id of {short(commit.snapshot_id)} on main may have come twice" if shown else None


def _is_shown(starts: Sequence[JobRun], commit: Snapshot) -> bool:
    """Whether Flink lists the very start that made the commit, so that it would list a later one, too."""
    return any(not is_younger(each, commit) for each in starts)


def _came_twice(
    case: Case, run: JobRun, point: Restored, commit: Snapshot, starts: Sequence[JobRun], later: Sequence[JobRun]
) -> str | None:
    """`starts`: of the run that made the commit, as Flink lists them; `later`: those that are younger than it."""
    if (trace := _left_by_another_start(case, point, commit)) is not None:
        return trace
    if point.path is None and (other := had_by_another(case, run, point, commit)) is not None:
        return f"tells no path, and {other}"
    listed = [c for each in starts for c in each.checkpoints if is_completed(c, point.checkpoint_id)]
    if listed:
        return _other_than_listed(listed, point, commit)
    if any((began_from(each, None) or 0) < point.checkpoint_id for each in later):
        return "Flink lists a start of that run that is younger"
    if point.path is None and (drained := _drained_since(case, point, commit)) is not None:
        return f"tells no path, and run {short_job(commit.job_id)} was drained since, {short(drained.snapshot_id)}"
    is_stopped = any(each.state == "FINISHED" for each in starts)
    if _folder(point.path).startswith("savepoint-") and not is_stopped and leaves_room(case, run, commit):
        return "that one is a savepoint, and the run may have been restarted between it and the commit"
    return None if _is_shown(starts, commit) else _of_a_forgotten_start(case, run, point, commit)


def _counted_up_to(case: Case, run: JobRun, point: Restored, commit: Snapshot, starts: Sequence[JobRun]) -> str | None:
    """Whether the restored id, above the run's newest commit, may be another run's, or of a start that Flink does not
    list, which counted from 1 up to it."""
    if point.path is None and (other := had_before(case, run, point, commit)) is not None:
        return f"Flink tells no path, and run {short_job(other)} has, or may have, completed that id before"
    if (before := _of_an_earlier_count(case, point, commit, starts)) is not None:
        return (
            f"that run had reached that id with {short(before)} before it began to count anew, and what Flink lists of "
            "its starts has no such checkpoint"
        )
    until = _written_at(case, point) or point.at
    if _is_shown(starts, commit) or not has_room_up_to(run, point.checkpoint_id, commit, until):
        return None
    return (
        f"Flink does not list how that run came from {short(commit.snapshot_id)} to that id, which a start without "
        "state may have counted since: there was time for it, and no commit came"
    )


def _of_an_earlier_count(case: Case, point: Restored, commit: Snapshot, starts: Sequence[JobRun]) -> SnapshotId | None:
    """The run's commit of the restored id or above that lies below its newest one, which carries a lower id, where no
    start that Flink lists has completed that id since."""
    is_listed = any(has_completed(each, point.checkpoint_id) for each in starts)
    if is_listed or (commit.checkpoint_id or 0) >= point.checkpoint_id:
        return None
    place = case.observation.table.place_of
    mine = (s for s in flink_commits(case.observation.table) if s.job_id == commit.job_id)
    older = (s for s in mine if place(s.snapshot_id) < place(commit.snapshot_id) and s.checkpoint_id != DRAINED)
    return next((s.snapshot_id for s in older if (s.checkpoint_id or 0) >= point.checkpoint_id), None)


def _left_by_another_start(case: Case, point: Restored, commit: Snapshot) -> str | None:
    """What is on the table or on storage of a start that came to the restored id once more."""
    if (leak := counted_twice(case, JobId(commit.job_id or ""), point.checkpoint_id)) is not None:
        return f"a Flink manifest of that run's checkpoint {leak.checkpoint_id} is left, which main did not take"
    if (unseen := _not_looked_at(case, commit, point.checkpoint_id)) is not None:
        return f"a Flink manifest of that run's checkpoint {unseen.checkpoint_id} came after leaked_manifests looked"
    if (again := _counted_anew(case, commit)) is not None:
        return f"that run's ids on the table do not rise: they begin anew with {short(again)}"
    written = _written_at(case, point)
    is_later = written is not None and written > commit.committed_at + CLOCKS_DIFFER
    return "that point was written after the commit of that id was made" if is_later else None


def _of_a_forgotten_start(case: Case, run: JobRun, point: Restored, commit: Snapshot) -> str | None:
    """Whether there was time for one that Flink does not list, and storage has not the point, which tells its time."""
    if _written_at(case, point) is not None:
        return None
    after = may_have_counted_anew(case, run, point, commit)
    if after is None:
        return None
    return (
        f"Flink does not list that run, which may have been started without state after {short(after)}: there was time "
        "for it, and the point, which was not found on storage, would tell when it was written"
    )


def _written_at(case: Case, point: Restored) -> datetime | None:
    """When the restored point was written, by the clock of storage; None: it was not seen there, or may be a copy."""
    if point.path is None or writer_of(point.path) is None:
        return None
    folder = point.path.rstrip("/").removesuffix("/_metadata")
    stored = case.observation.checkpoints.values
    return next((each.written_at for each in stored if each.path.rstrip("/") == folder), None)


def _not_looked_at(case: Case, commit: Snapshot, number: CheckpointId) -> FlinkManifest | None:
    """A manifest on storage under the id that the run has on main, of which evidence has seen nothing: its sink deletes
    it with the commit."""
    same = (m for m in came_since(case) if m.job_id == commit.job_id and m.operator_id == commit.operator_id)
    return next((m for m in same if m.checkpoint_id == number), None)


def _drained_since(case: Case, point: Restored, commit: Snapshot) -> Snapshot | None:
    """What the run of this commit committed at its drain, later and before the restore: it does not tell the id of the
    savepoint."""
    later = (s for s in case.observation.table.snapshots if s.job_id == commit.job_id and s.checkpoint_id == DRAINED)
    return next((s for s in later if commit.committed_at < s.committed_at <= point.at + CLOCKS_DIFFER), None)


def _counted_anew(case: Case, commit: Snapshot) -> SnapshotId | None:
    """The first commit that the run has made since, on main or rolled back, under an id that is not above the one that
    it had reached before."""
    table = case.observation.table
    mine = [s for s in table.snapshots if s.job_id == commit.job_id and s.operator_id == commit.operator_id]
    mine = sorted((s for s in mine if s.checkpoint_id != DRAINED), key=lambda s: table.place_of(s.snapshot_id))
    since = mine[mine.index(commit) :]
    falls = (after for one, after in pairwise(since) if (after.checkpoint_id or 0) <= (one.checkpoint_id or 0))
    return next((after.snapshot_id for after in falls), None)


def _other_than_listed(listed: list[CompletedCheckpoint], point: Restored, commit: Snapshot) -> str | None:
    """A checkpoint is triggered before its commit is made, by whichever clock."""
    same = [each for each in listed if None in (each.path, point.path) or _folder(each.path) == _folder(point.path)]
    if not same:
        return f"what Flink lists under that id is {listed[0].path}, another point than {point.path}"
    if all(each.triggered_at > commit.committed_at + CLOCKS_DIFFER for each in same):
        return "Flink lists that the checkpoint was triggered after the commit of that id was made"
    return None


def _folder(path: str | None) -> str:
    """By its last name, which a copy elsewhere keeps: `chk-8`, `savepoint-4f1c22-0a2b`."""
    return (path or "").rstrip("/").removesuffix("/_metadata").rsplit("/", 1)[-1]


def taken_over_unseen(case: Case, run: JobId, first: SnapshotId) -> CannotTell | None:
    """What is missing to know that no later run brought rows again, or will, or left any out, after `run` had begun
    with its commit `first`; None: nothing is. Ids tell nothing of it, because they began anew with `run`. A later start
    without state is one of its own."""
    table, guests = case.observation.table, Guests(case)
    edge, later = table.place_of(first), dict[JobId, SnapshotId]()
    for commit in reversed(table.chain):
        is_other = commit.job_id not in (None, run) and not guests.has(commit)
        if is_other and commit.adds_rows and table.place_of(commit.snapshot_id) > edge:
            later.setdefault(JobId(commit.job_id or ""), commit.snapshot_id)
    counts = (uncounted(case, other, began) or not_passed(case, other, began) for other, began in later.items())
    if (left := next((each for each in counts if each is not None), None)) is not None:
        return left
    if (two := which_point(case)) is not None:
        return CannotTell(missing=(two,))
    known = {run, *later}
    for each in living(case):
        path = each.restored.path if each.restored is not None else None
        is_restored = each.restored is not None and each.job_id not in known
        if is_restored and not any(names_run(path, other) for other in known):
            whence = "a point whose run nothing names" if path is None else path
            return CannotTell(
                missing=(
                    f"the first rows of run {short_job(each.job_id)}, which was restored from {whence}: nothing shows "
                    f"that it goes on from run {short_job(run)}",
                )
            )
    return None
