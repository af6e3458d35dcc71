"""What a restore point is to a start, and the one ranking of restore points: which are right, why the others are not.

What is asked differs: a start on main as it is (`where_main_ends`, `where_files_are_owed`), a start after main has
moved back (`for_rewind`), and from where table and job come together at all (`recovering`).
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime
from itertools import pairwise, takewhile
from typing import NamedTuple

from bot.domain.diagnosis import Case
from bot.domain.evidence import Ask, Observation
from bot.domain.findings import Pairing, PairVerdict
from bot.domain.flink import CLOCKS_DIFFER, JobRun, StoredCheckpoint
from bot.domain.guests import case_of, commits_that_bind, those_that_bind
from bot.domain.ids import CheckpointId, JobId, OperatorId, SnapshotId, short, short_job
from bot.domain.kin import began_from
from bot.domain.looked import NotSeen
from bot.domain.own_points import EndOfMain, brought_again, pairings_of, points_told_apart
from bot.domain.pairing import PENDING, owed_checkpoints, owed_to
from bot.domain.paths import may_be_same
from bot.domain.record import Record
from bot.domain.run_commits import CommitsByRun
from bot.domain.sentences import counted
from bot.domain.table import Snapshot, TableState


class RestorePoint(Record):
    """A paired restore point: the state M and the table state that it belongs to."""

    path: str
    checkpoint_id: CheckpointId
    snapshot_id: SnapshotId
    digest: str
    is_right: bool = True
    """Whether table and job are right there; False where an undo goes back to a fault."""
    goes_with_savepoint: bool = False
    """Whether it is a checkpoint that Flink retains when its run, which is alive, is cancelled: when that run ends with
    a savepoint, Flink deletes it."""
    owes: CheckpointId | None = None
    """The newest checkpoint whose files it holds and the table does not; None: it owes nothing."""
    brings_again: SnapshotId | None = None
    """See `Pairing`: a job goes on from it only with its table state."""
    rewind_loses: tuple[SnapshotId, ...] = ()
    """See `Pairing`."""


def ends_main(point: RestorePoint, commits: Sequence[Snapshot]) -> bool:
    """Whether only copies of the commit with which `point` pairs follow it, and no repair whose rows it would bring
    again. `commits`: those that bind, in order."""
    return point.brings_again is None and only_copies_follow(point.snapshot_id, commits)


def only_copies_follow(snapshot: SnapshotId, commits: Sequence[Snapshot]) -> bool:
    """Whether this is one of `commits`, those that bind in order, and none but copies of it (F1) come after it."""
    place = next((n for n, s in enumerate(commits) if s.snapshot_id == snapshot), None)
    return place is not None and len({(s.job_id, s.checkpoint_id) for s in commits[place:]}) == 1


def pair_of(each: Pairing) -> RestorePoint | None:
    """The restore point; None for one that does not pair."""
    is_paired = each.verdict is PairVerdict.PAIRED
    if not is_paired or each.snapshot_id is None or each.checkpoint_id is None or each.digest is None:
        return None
    return RestorePoint(
        path=each.path,
        checkpoint_id=each.checkpoint_id,
        snapshot_id=each.snapshot_id,
        digest=each.digest,
        brings_again=each.brings_again,
        rewind_loses=each.rewind_loses,
    )


def lists_none_of(run: JobId, table: TableState) -> bool:
    """Whether no listed snapshot is a commit of the run."""
    return not any(s.job_id == run and s.checkpoint_id is not None for s in table.snapshots)


def has_lost_none_since(began: datetime, table: TableState) -> bool:
    """Whether the snapshot log shows that main has only gone forward since (inclusive): what it went back from may have
    expired, and no snapshot tells of that any more. False where the log does not tell how main got where it stood."""
    newest_first = tuple(takewhile(lambda move: move.at >= began, reversed(table.head_moves)))
    since, earlier = newest_first[::-1], len(table.head_moves) - len(newest_first)
    if not earlier and since:
        first = table.by_id.get(since[0].snapshot_id)
        if first is None or first.committed_at != since[0].at:
            return False
    heads = [table.head_moves[earlier - 1].snapshot_id] if earlier else []
    heads.extend(move.snapshot_id for move in since)
    is_forward = all(table.place_of(below) < table.place_of(above) for below, above in pairwise(heads))
    return is_forward and all(head in table.chain_ids for head in heads)


def began_with(case: Case, run: JobRun, passed: frozenset[JobId] = frozenset()) -> RestorePoint | None:
    """The point that the run was started from, as what it pairs with; through silent runs before it."""
    path = began_from(run)
    if path is None:
        return None
    for stored, pair in points_told_apart(case):
        if not may_be_same(stored.path, path):
            continue
        if (point := pair_of(pair)) is not None:
            return point
        earlier = next((each for each in case.runs if each.job_id == stored.job_id), None)
        if earlier is not None and earlier.job_id not in {*passed, run.job_id}:
            below = began_with(case, earlier, passed | {run.job_id})
            return idle_point(stored, pair, case.observation.table, below.snapshot_id if below else None, case.runs)
    return None


def idle_point(
    stored: StoredCheckpoint, pair: Pairing, table: TableState, stands_on: SnapshotId | None, runs: Collection[JobRun]
) -> RestorePoint | None:
    """A point of a run that has committed nothing and owes nothing, as one that pairs with `stands_on`, above which no
    repair has brought rows that it does not hold; None for any other. `runs`: those that Flink lists; one that it has
    forgotten began after that commit was made."""
    below = table.by_id.get(stands_on) if stands_on is not None else None
    if below is None or stored.job_id is None or not lists_none_of(stored.job_id, table):
        return None
    began = next((run.started_at for run in runs if run.job_id == stored.job_id), below.committed_at)
    is_whole = stored.problem is None and not stored.is_drained and stored.is_committer_read
    if not is_whole or stored.checkpoint_id is None or stored.digest is None or owed_checkpoints(stored, table) != ():
        return None
    commits = CommitsByRun(table, runs)
    if not has_lost_none_since(began, table) or brought_again(stored, stands_on, commits) is not None:
        return None
    return RestorePoint(
        path=pair.path, checkpoint_id=stored.checkpoint_id, snapshot_id=below.snapshot_id, digest=stored.digest
    )


def missing_manifests(world: Observation, stored: StoredCheckpoint) -> tuple[str, ...]:
    """Owed manifests above what main has of their run, which are not on storage. Unknown storage misses none."""
    if isinstance(world.flink_manifests, NotSeen):
        return ()
    there = {manifest.path.rsplit("/", 1)[-1] for manifest in world.flink_manifests.values}
    gone = []
    for name in owed_to(world.table, stored):
        told = PENDING.match(name)
        if told is None or name in there:
            continue
        reached = _reached_on_main(world.table, JobId(told["job"]), OperatorId(told["operator"]))
        if reached is None or int(told["checkpoint"]) > reached:
            gone.append(name)
    return tuple(gone)


def _reached_on_main(table: TableState, job: JobId, operator: OperatorId) -> CheckpointId | None:
    """What a restored sink finds as already committed: of the newest ancestor of the head by this run and operator."""
    found = (s for s in table.chain if s.job_id == job and s.operator_id in {None, operator})
    return next((s.checkpoint_id for s in found if s.checkpoint_id is not None), None)


def brings_back(
    world: Observation, stored: StoredCheckpoint, pair: Pairing, missing: tuple[str, ...], end: EndOfMain
) -> bool:
    """Whether job and table go on from it as if nothing had happened; see `RestoreReach.brings_back`."""
    if pair.verdict is PairVerdict.PAIRED:
        return True
    is_known = stored.is_committer_read and not isinstance(world.flink_manifests, NotSeen)
    is_ahead = pair.verdict is PairVerdict.AHEAD and is_known and not missing
    return is_ahead and end.is_of(stored.job_id)


class Ranked(NamedTuple):
    """One restore point held against what is asked."""

    stored: StoredCheckpoint | None
    """None where only evidence names it."""
    pair: Pairing
    point: RestorePoint | None
    """What a start from it is; None where it pairs with nothing."""
    why_not: str | None
    """Why it is not right, a sentence or more; None: it is."""


class Ranking(NamedTuple):
    right: tuple[Ranked, ...]
    """The best first."""
    rejected: tuple[Ranked, ...]
    """In the order of what was told, newest first, each with its reason."""

    @property
    def points(self) -> tuple[RestorePoint, ...]:
        """Those that are right, the best first."""
        return tuple(each.point for each in self.right if each.point is not None)

    @property
    def best(self) -> RestorePoint | None:
        return next(iter(self.points), None)

    def in_words(self, most: int = 4) -> str:
        """Those that are not right with their reasons, those that could not be read before all others, a clause."""
        first = sorted(self.rejected, key=lambda each: each.pair.verdict is not PairVerdict.UNREADABLE)[:most]
        told = (f"{e.pair.path}: {e.pair.verdict.value}, {(e.why_not or e.pair.reason).rstrip('.')}" for e in first)
        return "; ".join(told) or "none at all"

    def passed_over(self, chosen: str, most: int = 3) -> tuple[str, ...]:
        """Of those that are newer than `chosen`, a path, why each was not taken: a sentence or more each. Those that
        could not be read are left out: `beside` tells of them."""
        known = (e for e in (*self.right, *self.rejected) if may_be_same(e.pair.path, chosen))
        at = next((e.stored.written_at for e in known if e.stored is not None), None)
        newer = [e for e in self.rejected if at is not None and e.stored is not None and e.stored.written_at > at]
        readable = [each for each in newer if each.stored is not None and not each.stored.is_unread]
        told = tuple(f"Not taken, though newer: {each.pair.path}. {each.why_not}" for each in readable[:most])
        more = len(readable) - most
        return (*told, f"And {more} more newer ones are not taken.") if more > 0 else told


Told = Iterable[tuple[StoredCheckpoint | None, Pairing]]
"""Restore points, newest first, with what a restore from each would meet."""
Fits = Callable[[StoredCheckpoint | None, Pairing], RestorePoint | str]
"""What a start from it is, or why it is not right, a sentence."""


def ranked(told: Told, fits: Fits, *, lasting: bool = False) -> Ranking:
    """Those that last first, else in the order of `told`. `lasting`: one that Flink may delete is not right."""
    right, rejected = list[Ranked](), list[Ranked]()
    for stored, pair in told:
        found = fits(stored, pair)
        if isinstance(found, str):
            rejected.append(Ranked(stored, pair, pair_of(pair), found))
        elif lasting and not pair.is_durable:
            rejected.append(Ranked(stored, pair, found, _MAY_GO))
        else:
            right.append(Ranked(stored, pair, found, None))
    return Ranking(tuple(sorted(right, key=lambda each: not each.pair.is_durable)), tuple(rejected))


_MAY_GO = "It is not known to last: Flink may delete it, or has deleted it already."


def shown(case: Case) -> Told:
    """As storage shows them now."""
    return points_told_apart(case)


def in_evidence(case: Case) -> Told:
    """As the evidence names them: what a proposal may rest on."""
    stored = {each.path: each for each in case.observation.checkpoints.values}
    return ((stored.get(pair.path), pair) for pair in pairings_of(case))


Idle = Callable[[StoredCheckpoint, Pairing], RestorePoint | None]
"""A point of a run that has committed nothing, as what it pairs with; None for any other."""


def where_main_ends(table: TableState, commits: Sequence[Snapshot], idle: Idle | None = None) -> Fits:
    """For a start on main as it is: the point pairs with the newest commit that binds, of which only copies (F1) may
    follow, and no repair above it has brought rows that the job would bring again. `commits`: those that bind, in
    order."""

    def fits(stored: StoredCheckpoint | None, pair: Pairing) -> RestorePoint | str:
        point = pair_of(pair)
        if point is None and idle is not None and stored is not None:
            point = idle(stored, pair)
        if point is None or point.brings_again is not None:
            return pair.reason
        return point if only_copies_follow(point.snapshot_id, commits) else _why_below(pair, point, commits, table)

    return fits


def _why_below(pair: Pairing, point: RestorePoint, commits: Sequence[Snapshot], table: TableState) -> str:
    place = next((n for n, s in enumerate(commits) if s.snapshot_id == point.snapshot_id), None)
    if point.snapshot_id not in table.chain_ids or place is None:
        return pair.reason
    newest, count = commits[-1], len(commits) - 1 - place
    return (
        f"It pairs with {short(point.snapshot_id)}, and main has {counted(count, 'later commit')} by Flink, up to "
        f"checkpoint {newest.checkpoint_id} of run {short_job(newest.job_id)}: a start would write their rows again."
    )


def on_main(case: Case, idle: Idle | None = None) -> Fits:
    """The same, by the commits that bind in this case."""
    return _of_its_own_start(case, where_main_ends(case.observation.table, commits_that_bind(case), idle))


def _of_its_own_start(case: Case, fits: Fits) -> Fits:
    """The same, without the points that pair with a commit of another start under one job id."""

    def own(stored: StoredCheckpoint | None, pair: Pairing) -> RestorePoint | str:
        found = fits(stored, pair)
        commit = case.observation.table.by_id.get(found.snapshot_id) if isinstance(found, RestorePoint) else None
        is_of_another = stored is not None and commit is not None and is_of_another_start(stored, commit, case)
        if commit is not None and is_of_another:
            return f"It may be of an earlier start under the job id that made {short(commit.snapshot_id)}."
        return found

    return own


def is_of_another_start(stored: StoredCheckpoint, commit: Snapshot, case: Case) -> bool:
    """Of a point that pairs with the commit of its run: whether the state was written before the run started, and the
    commit was made after that; or names no file of its own commit, which each checkpoint with files does until that is
    made. Under a job id that never changes (F14) checkpoint ids come again."""
    if commit.is_repair or commit.job_id != stored.job_id:
        return False
    run = next((run for run in case.runs if run.job_id == stored.job_id), None)
    if run is not None and stored.written_at + CLOCKS_DIFFER < run.started_at <= commit.committed_at:
        return True
    brought = commit.counted("added-data-files") + commit.counted("added-delete-files")
    is_whole = stored.is_committer_read and bool(stored.state_bytes)
    owes_none = is_whole and owed_checkpoints(stored, case.observation.table) == ()
    return owes_none and brought > 0 and commit.checkpoint_id == stored.checkpoint_id


def where_files_are_owed(case: Case) -> Fits:
    """For a start on main as it is: the point goes on right above main's newest commit that binds, and the sink commits
    first the files that it owes, which are all on storage."""
    world, commits, end = case.observation, commits_that_bind(case), EndOfMain(case)

    def fits(stored: StoredCheckpoint | None, pair: Pairing) -> RestorePoint | str:
        if stored is None or stored.checkpoint_id is None or stored.digest is None or not commits:
            return pair.reason
        owed, missing = owed_checkpoints(stored, world.table), missing_manifests(world, stored)
        if pair.verdict is not PairVerdict.AHEAD or not owed:
            return pair.reason
        if not brings_back(world, stored, pair, missing, end):
            return _MISSING.format(missing[0]) if missing else pair.reason
        return RestorePoint(
            path=stored.path,
            checkpoint_id=stored.checkpoint_id,
            snapshot_id=commits[-1].snapshot_id,
            digest=stored.digest,
            owes=CheckpointId(max(owed)),
        )

    return fits


_MISSING = "The sink would first commit {0}, which is gone from storage, so the job would fail."


def for_rewind(case: Case, last_good: SnapshotId) -> Ranking:
    """By evidence: the lasting point that pairs with the newest snapshot at or below `last_good` is the best."""
    table = case.observation.table
    below = {s.snapshot_id: s for s in table.ancestors(last_good)}

    def fits(_stored: StoredCheckpoint | None, pair: Pairing) -> RestorePoint | str:
        point = pair_of(pair)
        if point is None:
            return pair.reason
        if point.snapshot_id not in below:
            is_lost = point.snapshot_id not in table.chain_ids
            where = "was rolled back" if is_lost else f"is above {short(last_good)}, the last good one"
            return f"It pairs with {short(point.snapshot_id)}, which {where}."
        if not _speaks_for_its_run(case, below[point.snapshot_id]):
            return f"Repair {short(point.snapshot_id)} has put back its commit above commits of another run."
        return point

    found = ranked(in_evidence(case), _of_its_own_start(case, fits), lasting=True)
    places = {snapshot: place for place, snapshot in enumerate(below)}
    nearest = sorted(found.right, key=lambda each: places[each.point.snapshot_id] if each.point else len(places))
    return found._replace(right=tuple(nearest))


def _speaks_for_its_run(case: Case, snapshot: Snapshot) -> bool:
    """Any commit but one that was put back above those of another run."""
    if not snapshot.is_repair:
        return True
    line = [
        s for s in case.observation.table.ancestors(snapshot.snapshot_id) if s.job_id and s.checkpoint_id is not None
    ]
    return any(s.snapshot_id == snapshot.snapshot_id for s in those_that_bind(case, line[::-1]))


class Recovering(NamedTuple):
    """One restore point, as table and job come together from it."""

    stored: StoredCheckpoint
    pair: Pairing
    missing: tuple[str, ...]
    """Owed manifests that are gone."""
    lost: tuple[str, ...]
    """Ranges of records that it needs and Kafka has no more, a clause each."""
    brings_back: bool
    """See `RestoreReach.brings_back`."""
    may_bring_back: bool
    """The same where owed manifests that were not seen count as there: while a run commits, they are gone before the
    table is read."""


def recovering(seen: Case | Ask, lost: Callable[[StoredCheckpoint], tuple[str, ...]]) -> tuple[Recovering, ...]:
    """Every restore point that storage shows, the best first: those that bring table and job back and whose records are
    all there, then what pairs, what lasts, and the newest."""
    world = seen.observation
    end = EndOfMain(seen if isinstance(seen, Case) else case_of(world))
    found = []
    for stored, pair in points_told_apart(seen):
        missing = missing_manifests(world, stored)
        brings, may = (brings_back(world, stored, pair, told, end) for told in (missing, ()))
        found.append(Recovering(stored, pair, missing, lost(stored), brings, may))
    return tuple(
        sorted(
            found,
            key=lambda each: (
                not (each.brings_back and not each.lost),
                not each.brings_back,
                each.pair.verdict is not PairVerdict.PAIRED,
                not each.pair.is_durable,
                -each.stored.written_at.timestamp(),
            ),
        )
    )
