"""What the state of a restore point holds, and to which table state it belongs: the rule on which each restore stands.

A restored run has a new job id, so its sink finds no checkpoint of its own in the table (facts 1.5). A restore point
*pairs* with the table state that holds what it holds: the newest commit of its run carries its very checkpoint, or it
owes nothing above an older one. What a start then does to main is told by `prediction`, which point is taken by
`ranking`. Pure.

A repair may bring rows that Flink had written, without Flink's keys: a restore point pairs right through it. Where its
state does not hold these rows, a start on the table as it is brings them a second time. Where it does, a rewind to its
table state takes them off, and the job does not bring them again. A lost commit that somebody has cherry-picked by hand
is such a repair, too: a pick keeps no keys.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from itertools import pairwise, takewhile
from typing import NamedTuple

from bot.history.case import Case
from bot.history.other_jobs import OtherJobs, began_from, case_of, commits_that_bind
from bot.history.other_writers import described_by
from bot.history.rollbacks import gone_between
from bot.history.run_commits import ABOUT, WHENEVER, CommitsByRun, RunCommits, Written
from bot.observation.evidence import Ask, Observation
from bot.observation.findings import Pairing, PairVerdict
from bot.observation.flink import (
    CLOCKS_DIFFER,
    PENDING,
    CheckpointKind,
    JobRun,
    StoredCheckpoint,
    names_run,
    owed_checkpoints,
    owed_to,
)
from bot.observation.ids import CheckpointId, JobId, OperatorId, SnapshotId, short, short_job
from bot.observation.looked import NotSeen, Seen
from bot.observation.paths import ByPath, may_be_same
from bot.observation.record import Record, Utc
from bot.observation.table import Snapshot, TableState

_SAVEPOINTS = {CheckpointKind.SAVEPOINT, CheckpointKind.STOP_SAVEPOINT}
_Judged = tuple[PairVerdict, Snapshot | None, str]


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


class _Brought(NamedTuple):
    """Flink's rows that a repair brought."""

    recovered: Mapping[JobId, tuple[CheckpointId, CheckpointId]]
    written: tuple[Utc, Utc]
    origin: Snapshot | None = None
    """Of a cherry-pick of Flink's commit: that commit."""


class Restores:
    """Everything about the restore points of one case; the table's snapshots are read once for all of them."""

    def __init__(self, seen: Case | Ask) -> None:
        self.case = seen if isinstance(seen, Case) else case_of(seen.observation)
        self.seen: Observation = seen.observation
        self.table: TableState = self.seen.table
        self.other_jobs = OtherJobs(self.case)
        self.commits = CommitsByRun(self.table, self.seen.jobs.values)

    @cached_property
    def binding(self) -> tuple[Snapshot, ...]:
        """As `commits_that_bind`."""
        return commits_that_bind(self.case)

    @cached_property
    def shown(self) -> tuple[tuple[StoredCheckpoint, Pairing], ...]:
        """(Restore point, what a restore from it would meet), newest first, as storage shows them now. Nothing where
        storage was not seen."""
        return tuple((each, self.pair(each)) for each in self.newest_first)

    @property
    def newest_first(self) -> list[StoredCheckpoint]:
        """The restore points that storage shows."""
        return sorted(self.seen.checkpoints.values, key=lambda s: (s.written_at, s.checkpoint_id or 0), reverse=True)

    @cached_property
    def in_evidence(self) -> tuple[Pairing, ...]:
        """What evidence found, newest first, by whose they are and how long they stay as it is known now. Empty before
        anybody looked."""
        found = self.case.pairing.pairings if self.case.pairing is not None else ()
        shown = ByPath((each.path, each) for each in self.seen.checkpoints.values)
        return tuple(self._told_apart(each, shown.get(each.path)) for each in found)

    def pair(self, stored: StoredCheckpoint) -> Pairing:
        """What a restore from `stored` would meet, and what stands against a start on main as it is."""
        return self._told_apart(self.met_by(stored), stored)

    # ------------------------------------------------------------------ the table state to which a state belongs

    def met_by(self, stored: StoredCheckpoint) -> Pairing:
        """The same of its run alone, whoever's that is."""
        verdict, snapshot, reason = self._judge(stored)
        return Pairing(
            path=stored.path,
            checkpoint_kind=stored.kind,
            checkpoint_id=stored.checkpoint_id,
            job_id=stored.job_id,
            verdict=verdict,
            snapshot_id=snapshot.snapshot_id if snapshot else None,
            reason=reason,
            digest=stored.digest,
            is_durable=self._stays(stored.kind, stored.job_id),
        )

    def _judge(self, stored: StoredCheckpoint) -> _Judged:
        if stored.is_drained:
            return (
                PairVerdict.BEHIND,
                None,
                "It was taken with drain: true: the job's operators took its input to be at its end, so "
                "windows and timers have fired. Iceberg's V1 sink, started from it, never commits again (F5); V2 would "
                "go on.",
            )
        if stored.problem is not None or stored.checkpoint_id is None:
            return PairVerdict.UNREADABLE, None, stored.problem or "Its _metadata names no checkpoint."
        if stored.job_id is None:
            return PairVerdict.UNPAIRABLE, None, "Neither its state nor its folder says which run wrote it."
        run, commits = short_job(stored.job_id), self.commits.of(stored)
        if not commits:
            owed = owed_checkpoints(stored, self.table)
            more = f"; its committer still owes {_numbers(owed)}" if owed else ""
            return PairVerdict.UNPAIRABLE, None, f"No listed snapshot was written by run {run}{more}."
        of_start = commits.life_of(stored)
        if of_start is None:
            return (
                PairVerdict.UNPAIRABLE,
                None,
                f"Run {run} has counted its checkpoints from the beginning again. This file is from none of the "
                f"times at which it was at checkpoint {stored.checkpoint_id}: nothing tells of which start it is, as "
                "of a copy that was made later.",
            )
        exact = of_start.carrying(stored.checkpoint_id)
        return self._paired(exact) if exact else self._unmatched(stored, stored.checkpoint_id, of_start)

    def _paired(self, exact: Sequence[Snapshot]) -> _Judged:
        """With the oldest on main (a second copy is a repeated commit, F1), else the newest that was rolled back.

        Where two sinks of the run committed this checkpoint, the table is whole only after the later of them.
        """
        on_main = [s for s in exact if s.snapshot_id in self.table.chain_ids]
        firsts = {s.operator_id: s for s in reversed(on_main)}
        chosen = max(firsts.values(), key=self._place) if len(firsts) > 1 else on_main[0] if on_main else exact[-1]
        twice = ""
        if len(on_main) > len(firsts):
            twice = f"; {len(on_main)} commits on main carry this checkpoint, this is the first"
        elif len(firsts) > 1:
            twice = f"; it is the last of {len(firsts)}, one for each sink of the run"
        carries = f"Snapshot {short(chosen.snapshot_id)} carries exactly checkpoint {chosen.checkpoint_id}"
        return PairVerdict.PAIRED, chosen, f"{carries} and {self._where(chosen)}{twice}."

    def _where(self, commit: Snapshot) -> str:
        is_on_main = commit.snapshot_id in self.table.chain_ids
        return "is on main" if is_on_main else "was rolled back and is still listed"

    def _unmatched(self, stored: StoredCheckpoint, checkpoint: CheckpointId, commits: RunCommits) -> _Judged:
        """Of a state of whose checkpoint no commit is listed."""
        below, above, run = commits.below(checkpoint), commits.above(checkpoint), short_job(stored.job_id)
        if commits.is_drained and above is None:
            return (
                PairVerdict.BEHIND,
                None,
                f"Run {run} was drained: its last commit carries Long.MAX_VALUE, and a job restored from here would "
                "never commit again (F5).",
            )
        owed = owed_checkpoints(stored, self.table)
        owes_nothing = owed == () and stored.is_committer_read
        if above is not None and (below is None or not owes_nothing):
            none, went_on = f"o listed snapshot carries checkpoint {checkpoint}", f"commit checkpoint {above}"
            if stored.kind is CheckpointKind.SAVEPOINT:
                why = f"An intermediate savepoint does not commit: n{none}; the run went on to {went_on}, which took "
                return PairVerdict.BEHIND, None, f"{why}its files along."
            why = f"N{none}; the run went on to {went_on}, so its own commit was merged or has been expired."
            return PairVerdict.BEHIND, None, why
        assert below is not None  # there are commits, and none carries this id, a higher one, or Long.MAX_VALUE
        _, chosen, _ = self._paired(commits.carrying(below))
        assert chosen is not None
        gone = gone_between(chosen, min(owed) if owed else checkpoint, self.table, self.seen.jobs)
        if gone is not None:
            return PairVerdict.UNPAIRABLE, None, gone
        if owes_nothing:
            return (
                PairVerdict.PAIRED,
                chosen,
                f"Checkpoint {checkpoint} carried no files; snapshot {short(chosen.snapshot_id)} of checkpoint "
                f"{below}, which {self._where(chosen)}, is the table state that it belongs to.",
            )
        said = f"Run {run} has committed up to checkpoint {below}; what checkpoint {checkpoint} holds has not reached"
        if owed:
            said += " any listed snapshot. A job restored from here commits it first, if its Flink manifests are still"
            return PairVerdict.AHEAD, None, f"{said} on storage."
        unread = "" if stored.is_committer_read else ", and its committer's state could not be read"
        return PairVerdict.AHEAD, None, f"{said} any listed snapshot{unread}."

    def _stays(self, kind: CheckpointKind, job_id: JobId | None) -> bool:
        """Savepoints stay until a person deletes them; retained checkpoints stay once their run has ended."""
        if kind in _SAVEPOINTS:
            return True
        if isinstance(self.seen.jobs, NotSeen) or job_id is None:
            return False
        run = next((run for run in self.seen.jobs.values if run.job_id == job_id), None)
        return run is None or run.is_terminal

    # ------------------------------------------------------------------ what stands against a start from it

    def _told_apart(self, each: Pairing, shown: StoredCheckpoint | None) -> Pairing:
        """Those of other jobs are foreign, and pair with nothing. None pairs with what a repair has put back above
        commits of another run. Of which repairs one does not hold the rows it says so, and one that is newer than the
        table is behind then. One that is newer, and does not go on where main ends, says why not."""
        if self.other_jobs.has_run(each.job_id):
            reason = f"Run {short_job(each.job_id)} is another job's, by what Flink, its sink and the settings tell."
            is_foreign = {"verdict": PairVerdict.FOREIGN, "snapshot_id": None, "reason": reason, "is_durable": False}
            return each.model_copy(update=is_foreign)
        each = self._beside_repairs(self._as_it_stays(self._of_the_lost(each), shown), shown)
        if each.verdict is not PairVerdict.AHEAD or each.job_id is None or self.ends_with(each.job_id):
            return each
        return each.model_copy(update={"reason": self._why_not_at_the_end(each.job_id)})

    def _of_the_lost(self, each: Pairing) -> Pairing:
        put_back = self.table.by_id.get(each.snapshot_id) if each.snapshot_id is not None else None
        if put_back is None or not put_back.is_repair or put_back.snapshot_id not in self.table.chain_ids:
            return each
        if any(s.snapshot_id == put_back.snapshot_id for s in self.binding):
            return each
        told = (put_back.job_id, put_back.checkpoint_id)
        lost = [s for s in self.table.snapshots if not s.is_repair and (s.job_id, s.checkpoint_id) == told]
        why = (
            f"Repair {short(put_back.snapshot_id)} has restored what checkpoint {put_back.checkpoint_id} of run "
            f"{short_job(put_back.job_id)} had committed, above commits of another run, which this state does not hold"
        )
        if not lost:
            reason = f"{why}; the commit to which it belongs is not listed any more."
            return each.model_copy(update={"verdict": PairVerdict.BEHIND, "snapshot_id": None, "reason": reason})
        reason = f"{why}; it belongs to {short(lost[-1].snapshot_id)}, which was rolled back and is still listed."
        return each.model_copy(update={"snapshot_id": lost[-1].snapshot_id, "reason": reason})

    def _as_it_stays(self, each: Pairing, shown: StoredCheckpoint | None) -> Pairing:
        """The same, durable or not by the runs that Flink shows now, whatever it showed when evidence looked. One whose
        run has ended since stays only where storage still shows it: Flink may have deleted it at that end."""
        is_durable = each.is_durable
        if not isinstance(self.seen.jobs, NotSeen) and each.verdict is not PairVerdict.FOREIGN:
            is_there = shown is not None and shown.digest == each.digest
            is_durable = (is_durable or is_there) and self._stays(each.checkpoint_kind, each.job_id)
        is_durable = is_durable and not self._may_go(each)
        return each if is_durable == each.is_durable else each.model_copy(update={"is_durable": is_durable})

    def _may_go(self, each: Pairing) -> bool:
        others = self.seen.others
        if others is None or each.checkpoint_kind in _SAVEPOINTS:
            return False
        if isinstance(others, NotSeen):
            return all(run.job_id != each.job_id for run in self.case.runs)
        return any(run.job_id == each.job_id and not run.is_terminal for run in others.values)

    def _beside_repairs(self, each: Pairing, stored: StoredCheckpoint | None) -> Pairing:
        is_ahead = each.verdict is PairVerdict.AHEAD
        is_on_main = each.verdict is PairVerdict.PAIRED and each.snapshot_id in self.table.chain_ids
        if stored is None or not self.table.recovering or not (is_ahead or is_on_main):
            return each
        repair = self.brought_again(stored, each.snapshot_id)
        if is_ahead and repair is None:
            return each
        if is_ahead and repair is not None:
            told = called(repair)
            reason = f"{told[0].upper()}{told[1:]} has put rows on main that a job started from here would bring again."
            return each.model_copy(update={"verdict": PairVerdict.BEHIND, "snapshot_id": None, "reason": reason})
        more = (
            f"; but a job started from here on the table as it is would bring rows of {called(repair)} a second time."
            if repair is not None
            else "."
        )
        held = self.commits.written(stored)
        loses = (s for s, brought in self._repairs_above(each.snapshot_id) if _holds(stored, brought, held))
        return each.model_copy(
            update={
                "reason": each.reason.rstrip(".") + more,
                "brings_again": repair.snapshot_id if repair is not None else None,
                "rewind_loses": tuple(s.snapshot_id for s in loses),
            }
        )

    # ------------------------------------------------------------------ main's end

    def ends_with(self, run: JobId | None) -> bool:
        """Whether the newest commit that binds is the run's own, and the newest listed one of that: a restore point
        that is newer than any commit of its run goes on right only there. What another run has committed since, a job
        started from it would bring a second time; what main has lost of its own run it would never bring again."""
        newest = next(reversed(self.binding), None)
        return newest is not None and newest.job_id == run is not None and newest.checkpoint_id == self._reached(run)

    def _reached(self, run: JobId) -> CheckpointId | None:
        return max((s.checkpoint_id for s in self.commits.listed(run) if s.checkpoint_id is not None), default=None)

    def lost_of(self, run: JobId) -> Sequence[Snapshot]:
        """The commits of the run that are listed and not on main, nor put back under its keys; oldest first."""
        listed = self.commits.listed(run)
        there = {(s.operator_id, s.checkpoint_id) for s in listed if s.snapshot_id in self.table.chain_ids}
        return [s for s in listed if (s.operator_id, s.checkpoint_id) not in there]

    def _why_not_at_the_end(self, run: JobId) -> str:
        said = f"Run {short_job(run)} has committed up to checkpoint {self._reached(run)}"
        newest, lost = next(reversed(self.binding), None), self.lost_of(run)
        if lost and (newest is None or self._place(newest) < self._place(lost[-1])):
            until = f" to {short(lost[-1].snapshot_id)}" if len(lost) > 1 else ""
            return (
                f"{said}, and main has lost {len(lost)} of these commits, {short(lost[0].snapshot_id)}{until}, which "
                "this state has behind it: a job started from here does not bring their rows again."
            )
        if newest is not None and newest.job_id != run:
            return (
                f"{said}, and run {short_job(newest.job_id)} has gone on since: {short(newest.snapshot_id)}, its "
                f"checkpoint {newest.checkpoint_id}, is on main. A job started from here would bring that run's rows a "
                "second time."
            )
        return f"{said}, which is not its newest on main: where a job started from here would go on is not known."

    def _place(self, commit: Snapshot) -> int:
        return self.table.place_of(commit.snapshot_id)

    # ------------------------------------------------------------------ rows that repairs brought

    def brought_again(self, stored: StoredCheckpoint, state: SnapshotId | None) -> Snapshot | None:
        """The newest repair above table state `state` with rows that a job started from `stored` would bring again;
        None: there is none. `state`: None for a point that is newer than the table, of which all repairs count.

        Of its own run's rows its checkpoint id tells which it holds, and what it owes is committed again. Of any
        other's, a point that was not written later than the last of these rows does not hold them (object stores tell
        whole seconds): a repair is made only where no run of then would bring them. So it is with rows of its run's id
        that are younger than its state though their checkpoints are not above its own: another start of the job wrote
        them (F14).
        """
        held = self.commits.written(stored)
        above = self._repairs_above(state)
        return next((repair for repair, brought in above if _brings(stored, brought, held, self.table)), None)

    def _repairs_above(self, state: SnapshotId | None) -> Iterator[tuple[Snapshot, _Brought]]:
        """Newest first."""
        below = self.table.place_of(state)
        for each in reversed(self.table.recovering):
            brought = _brought_by(each, self.table) if self._place(each) > below else None
            if brought is not None:
                yield each, brought

    # ------------------------------------------------------------------ what it owes

    def missing(self, stored: StoredCheckpoint) -> tuple[str, ...]:
        """Owed manifests above what main has of their run, which are not on storage. Unknown storage misses none."""
        if isinstance(self.seen.flink_manifests, NotSeen):
            return ()
        there = {manifest.path.rsplit("/", 1)[-1] for manifest in self.seen.flink_manifests.values}
        gone = []
        for name in owed_to(self.table, stored):
            told = PENDING.match(name)
            if told is None or name in there:
                continue
            whose = {None, OperatorId(told["operator"])}
            found = (s.checkpoint_id for s in self.table.chain if s.job_id == told["job"] and s.operator_id in whose)
            reached = next((each for each in found if each is not None), None)
            if reached is None or int(told["checkpoint"]) > reached:
                gone.append(name)
        return tuple(gone)

    def brings_back(self, stored: StoredCheckpoint, pair: Pairing, missing: Sequence[str]) -> bool:
        """Whether job and table go on from it as if nothing had happened; see `RestoreReach.brings_back`."""
        if pair.verdict is PairVerdict.PAIRED:
            return True
        is_known = stored.is_committer_read and not isinstance(self.seen.flink_manifests, NotSeen)
        return pair.verdict is PairVerdict.AHEAD and is_known and not missing and self.ends_with(stored.job_id)

    # ------------------------------------------------------------------ runs that have committed nothing

    def began_idle(self, stored: StoredCheckpoint, passed: frozenset[JobId] = frozenset()) -> RestorePoint | None:
        """A point of a run that has committed nothing and owes nothing, as one that pairs with what its run began with,
        above which no repair has brought rows that it does not hold; through silent runs before it. None for any other.
        """
        run = stored.job_id
        start = self._start_of(run) if run is not None else None
        if run is None or start is None or run in passed or not lists_none_of(run, self.table):
            return None
        is_whole = stored.problem is None and not stored.is_drained and stored.is_committer_read
        if not is_whole or stored.checkpoint_id is None or stored.digest is None:
            return None
        started_at, path = start
        if owed_checkpoints(stored, self.table) != () or not has_lost_none_since(started_at, self.table):
            return None
        met = next(((each, pair) for each, pair in self.shown if may_be_same(each.path, path)), None)
        began = (pair_of(met[1]) or self.began_idle(met[0], passed | {run})) if met is not None else None
        if began is None or self.brought_again(stored, began.snapshot_id) is not None:
            return None
        return RestorePoint(
            path=stored.path, checkpoint_id=stored.checkpoint_id, snapshot_id=began.snapshot_id, digest=stored.digest
        )

    def _start_of(self, run: JobId) -> tuple[datetime, str] | None:
        """When the run was started, and from which path, as Flink shows it or once did; None: neither tells."""
        for each in (each for each in self.case.runs if each.job_id == run):
            if (path := began_from(each)) is not None:
                return each.started_at, path
        for seen in (each for each in self.seen.remembered if each.job_id == run and each.restored is not None):
            if seen.restored is not None and seen.restored.path and not names_run(seen.restored.path, run):
                return seen.started_at, seen.restored.path
        return None

    def is_of_another_start(self, stored: StoredCheckpoint, commit: Snapshot) -> bool:
        """Of a point that pairs with the commit of its run: whether the state was written before the run started, and
        the commit was made after that; or names no file of its own commit, which each checkpoint with files does until
        that is made. Under a job id that never changes (F14) checkpoint ids come again."""
        if commit.is_repair or commit.job_id != stored.job_id:
            return False
        run = next((run for run in self.case.runs if run.job_id == stored.job_id), None)
        if run is not None and stored.written_at + CLOCKS_DIFFER < run.started_at <= commit.committed_at:
            return True
        brought = commit.counted("added-data-files") + commit.counted("added-delete-files")
        is_whole = stored.is_committer_read and bool(stored.state_bytes)
        owes_none = is_whole and owed_checkpoints(stored, self.table) == ()
        return owes_none and brought > 0 and commit.checkpoint_id == stored.checkpoint_id


def pairings(
    points: Iterable[StoredCheckpoint], table: TableState, jobs: Seen[JobRun] | NotSeen
) -> tuple[Pairing, ...]:
    """What a restore from each would meet, newest first, by the commits of its run alone, whoever's that is."""
    unread = NotSeen(source="what was read", reason="Nobody looked.", remedy="Look.")
    stored = Seen[StoredCheckpoint](source="storage", values=tuple(points))
    restores = Restores(case_of(Observation(table=table, jobs=jobs, checkpoints=stored, reads=unread)))
    return tuple(restores.met_by(each) for each in restores.newest_first)


def pairing(stored: StoredCheckpoint, table: TableState, jobs: Seen[JobRun] | NotSeen) -> Pairing:
    """The same of one."""
    return pairings([stored], table, jobs)[0]


def _numbers(checkpoints: Sequence[int]) -> str:
    first, last = checkpoints[0], checkpoints[-1]
    return f"checkpoint {first}" if first == last else f"checkpoints {first} to {last}"


def called(repair: Snapshot) -> str:
    """`repair …421007`, `cherry-pick …421007`."""
    return f"{'repair' if repair.is_repair else 'cherry-pick'} {short(repair.snapshot_id)}"


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


def _brought_by(repair: Snapshot, table: TableState) -> _Brought | None:
    """None of a cherry-pick of what Flink had not written, or by which its writer has published what it had staged. Of
    one whose source is not listed any more it is known that this was older."""
    origin = described_by(table, repair)
    if origin is None:
        return _Brought({}, (WHENEVER, repair.committed_at))
    if origin.written is not None:
        return _Brought(origin.recovered, origin.written)
    if origin.job_id is None or origin.checkpoint_id is None:
        return None
    only = (origin.checkpoint_id, origin.checkpoint_id)
    return _Brought({origin.job_id: only}, (origin.committed_at, origin.committed_at), origin)


def _brings(stored: StoredCheckpoint, brought: _Brought, held: Written, table: TableState) -> bool:
    own = _of_its_run(stored, brought, held)
    if own is not None:
        last, owed = own[1], owed_checkpoints(stored, table)
        if (stored.checkpoint_id or 0) < last or owed is None or any(each <= last for each in owed):
            return True
    return _has_others(brought, own) and held.earliest <= brought.written[1]


def _holds(stored: StoredCheckpoint, brought: _Brought, held: Written) -> bool:
    """Whether its state has some of these rows behind it: no job started from it brings these. A repair may have both
    kinds."""
    own = _of_its_run(stored, brought, held)
    if own is not None and (stored.checkpoint_id or 0) >= own[0]:
        return True
    return _has_others(brought, own) and held.latest >= brought.written[0]


def _of_its_run(stored: StoredCheckpoint, brought: _Brought, held: Written) -> tuple[CheckpointId, CheckpointId] | None:
    """The first and the last checkpoint that it recovered of the run of `stored`; None: none of the start of it from
    which this comes."""
    if stored.job_id is None or stored.checkpoint_id is None or held.of_start is None:
        return None
    own = brought.recovered.get(stored.job_id)
    if own is None:
        return None
    if brought.origin is not None:
        return own if brought.origin in held.of_start else None
    is_of_another = any(
        stored.checkpoint_id >= checkpoint and held.latest + ABOUT < at
        for checkpoint, at in zip(own, brought.written, strict=True)
    )
    return None if is_of_another else own


def _has_others(brought: _Brought, own: object) -> bool:
    """Whether it brought rows of other runs than that of the point, or does not say of which."""
    return own is None or len(brought.recovered) > 1
