"""Whose restore points storage shows: a folder of savepoints may be another job's too, and its runs write the table.

What such a point holds is that job's state. The job, started from it, would go on where that one stood.

Repairs on main that brought rows which Flink had written, and no keys of Flink: a restore point pairs right through
them. Where it does not hold these rows, a job started from it on the table as it is brings them a second time. Where it
does, a rewind to its table state takes them off, and the job does not bring them again. A lost commit, or a lost
repair, that somebody has cherry-picked by hand is such a repair, too: a pick keeps no keys (facts 1.5).

Whether a restore point that is newer than any commit of its run goes on right where main ends.

It does only where main's newest commit that binds is the newest of that run: what another run has committed since, a
job started from it would bring a second time, and what main has lost of its own run it would never bring again.

The other tables that a job writes: a restore goes on in each of them, whichever table an incident is about.

A restored run has a new job id, so its sink finds no newest checkpoint of its own in a table: whatever the table has
from after the restore point is committed a second time (facts 1.5).
"""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import NamedTuple

from bot.domain.diagnosis import Case
from bot.domain.evidence import Ask, Observation
from bot.domain.findings import Pairing, PairVerdict
from bot.domain.flink import CheckpointKind, StoredCheckpoint
from bot.domain.guests import Guests, case_of, commits_that_bind
from bot.domain.ids import CheckpointId, JobId, SnapshotId, short, short_job
from bot.domain.looked import NotSeen
from bot.domain.other_writers import described_by
from bot.domain.pairing import judged, owed_checkpoints, pairing, stays
from bot.domain.paths import ByPath
from bot.domain.record import Utc
from bot.domain.rewinds import flink_commits
from bot.domain.run_commits import ABOUT, WHENEVER, CommitsByRun, RunCommits, without_put_back
from bot.domain.sentences import counted
from bot.domain.snapshot import RECOVERED, WRITTEN_FROM, WRITTEN_UNTIL
from bot.domain.table import Snapshot, TableState


class EndOfMain:
    """Of one case; its commits are read once for all restore points, and only where one is newer."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self._commits = CommitsByRun(case.observation.table)

    def is_of(self, run: JobId | None) -> bool:
        """Whether the newest commit that binds is the run's own, and the newest listed one of that."""
        newest = self._newest
        if newest is None or run is None or newest.job_id != run:
            return False
        return newest.checkpoint_id == self._reached(run)

    def beside(self, each: Pairing) -> Pairing:
        """The same; of one that is newer, and does not go on where main ends, with what stands against a start."""
        if each.verdict is not PairVerdict.AHEAD or each.job_id is None or self.is_of(each.job_id):
            return each
        return each.model_copy(update={"reason": self._why_not(each.job_id)})

    def _why_not(self, run: JobId) -> str:
        said = f"Run {short_job(run)} has committed up to checkpoint {self._reached(run)}"
        newest, lost = self._newest, self.lost(run)
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

    def _reached(self, run: JobId) -> CheckpointId | None:
        return max((s.checkpoint_id for s in self._commits.listed(run) if s.checkpoint_id is not None), default=None)

    def lost(self, run: JobId) -> Sequence[Snapshot]:
        """The commits of the run that are listed and not on main, nor put back under its keys; oldest first."""
        on_main, listed = self._case.observation.table.chain_ids, self._commits.listed(run)
        there = {(s.operator_id, s.checkpoint_id) for s in listed if s.snapshot_id in on_main}
        return [s for s in listed if (s.operator_id, s.checkpoint_id) not in there]

    def _place(self, commit: Snapshot) -> int:
        return self._case.observation.table.place_of(commit.snapshot_id)

    @cached_property
    def _newest(self) -> Snapshot | None:
        return next(reversed(commits_that_bind(self._case)), None)


class _Brought(NamedTuple):
    recovered: Mapping[JobId, tuple[CheckpointId, CheckpointId]]
    written: tuple[Utc, Utc]
    origin: Snapshot | None = None
    """Of a cherry-pick of Flink's commit: that commit."""


class _Held(NamedTuple):
    """When the state of a restore point was written: between these moments."""

    earliest: datetime
    latest: datetime
    of_start: RunCommits | None
    """The commits of the start of the job from which it comes."""


def brought_again(stored: StoredCheckpoint, state: SnapshotId | None, commits: CommitsByRun) -> Snapshot | None:
    """The newest repair above table state `state` with rows that a job started from `stored` would bring again; None:
    there is none. `state`: None for a point that is newer than the table, of which all repairs count. `commits`: of the
    table.

    Of its own run's rows its checkpoint id tells which it holds, and what it owes is committed again. Of any other's, a
    point that was not written later than the last of these rows does not hold them (object stores tell whole seconds):
    a repair is made only where no run of then would bring them. So it is with rows of its run's id that are younger
    than its state though their checkpoints are not above its own: another start of the job wrote them (F14).
    """
    above = _above(state, commits.table)
    return next((s for s, brought in above if _brings(stored, brought, _held(stored, commits), commits.table)), None)


def held_in_part(stored: StoredCheckpoint, state: SnapshotId | None, commits: CommitsByRun) -> tuple[Snapshot, ...]:
    """The repairs above it, newest first, with rows that the state of `stored` has behind it, some of them or all: no
    job started from it brings these. A repair may hold both kinds."""
    above = _above(state, commits.table)
    return tuple(s for s, brought in above if _holds(stored, brought, _held(stored, commits)))


def _held(stored: StoredCheckpoint, commits: CommitsByRun) -> _Held:
    """By the time of its file, of its checkpoint's commit and of its run's end: copying it makes the file younger."""
    of_start = commits.of(stored).life_of(stored)
    if of_start is None:
        return _Held(WHENEVER, stored.written_at, None)
    return _Held(*of_start.written(stored, commits.ended(stored.job_id)), of_start)


def _above(state: SnapshotId | None, table: TableState) -> Iterator[tuple[Snapshot, _Brought]]:
    below = table.place_of(state)
    for each in reversed(table.recovering):
        told = _told(each, table) if table.place_of(each.snapshot_id) > below else None
        if told is not None:
            yield each, told


def _told(repair: Snapshot, table: TableState) -> _Brought | None:
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


def _brings(stored: StoredCheckpoint, brought: _Brought, held: _Held, table: TableState) -> bool:
    own = _of_its_run(stored, brought, held)
    if own is not None:
        last, owed = own[1], owed_checkpoints(stored, table)
        if (stored.checkpoint_id or 0) < last or owed is None or any(each <= last for each in owed):
            return True
    return _has_others(brought, own) and held.earliest <= brought.written[1]


def _holds(stored: StoredCheckpoint, brought: _Brought, held: _Held) -> bool:
    own = _of_its_run(stored, brought, held)
    if own is not None and (stored.checkpoint_id or 0) >= own[0]:
        return True
    return _has_others(brought, own) and held.latest >= brought.written[0]


def _of_its_run(stored: StoredCheckpoint, brought: _Brought, held: _Held) -> tuple[CheckpointId, CheckpointId] | None:
    """The first and the last checkpoint that it recovered of the run of `stored`; None: none of the start of it from
    which this comes."""
    if stored.job_id is None or stored.checkpoint_id is None:
        return None
    own = brought.recovered.get(stored.job_id) if held.of_start is not None else None
    if own is None or held.of_start is None:
        return own
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


def said_of_rows(recovered: Iterable[tuple[JobId, CheckpointId]], written: Collection[Utc]) -> dict[str, str]:
    """What the summary of a repair says of the rows that it brings. `recovered`: run and checkpoint of each Flink
    manifest; none where the rows were in the table before. `written`: when Flink had written them, one moment at
    least."""
    ids: dict[JobId, list[CheckpointId]] = {}
    for run, checkpoint in recovered:
        ids.setdefault(run, []).append(checkpoint)
    ranges = ",".join(f"{run}:{min(of_run)}-{max(of_run)}" for run, of_run in sorted(ids.items()))
    moments = [each.timestamp() * 1000 for each in written]
    return {
        **({RECOVERED: ranges} if ranges else {}),
        WRITTEN_FROM: str(math.floor(min(moments))),
        WRITTEN_UNTIL: str(math.ceil(max(moments))),
    }


def points_told_apart(seen: Case | Ask) -> tuple[tuple[StoredCheckpoint, Pairing], ...]:
    """(Restore point, what a restore from it would meet), newest first, as storage shows them now; guests' are foreign.
    Nothing where storage was not seen."""
    world = seen.observation
    case = seen if isinstance(seen, Case) else case_of(world)
    told = judged(world.checkpoints.values, world.table, world.jobs)
    apart = told_apart((pair for _, pair in told), case)
    return tuple((stored, pair) for (stored, _), pair in zip(told, apart, strict=True))


def pairings_of(case: Case) -> tuple[Pairing, ...]:
    """What evidence found, newest first; guests' are foreign by what is known now. Empty before anybody looked."""
    return told_apart(case.pairing.pairings, case) if case.pairing is not None else ()


def told_apart(pairings: Iterable[Pairing], case: Case) -> tuple[Pairing, ...]:
    """The same in their order, those of guests with the verdict that they are foreign. They pair with nothing. Nor does
    any with what a repair has put back above commits of another run: it belongs to the commit that was lost. Whether
    one stays is told by the runs as they are now, those of other declared jobs too. Of which a repair has brought
    rows that they do not hold, they say so; one that is newer than the table is behind then. One that is newer, and
    does not go on where main ends, says what stands against it."""
    guests = Guests(case)
    own = (_foreign(each) if guests.has_run(each.job_id) else _of_the_lost(each, case) for each in pairings)
    stored = ByPath((each.path, each) for each in case.observation.checkpoints.values)
    stay = (_as_it_stays(each, stored.get(each.path), case) for each in own)
    commits = CommitsByRun(case.observation.table, case.observation.jobs.values)
    end = EndOfMain(case)
    return tuple(end.beside(beside_repairs(each, stored.get(each.path), commits)) for each in stay)


def beside_repairs(each: Pairing, stored: StoredCheckpoint | None, commits: CommitsByRun) -> Pairing:
    """The same, and of which repairs on main it does not hold the rows, or holds them. `commits`: of the table."""
    table = commits.table
    is_ahead = each.verdict is PairVerdict.AHEAD
    is_on_main = each.verdict is PairVerdict.PAIRED and each.snapshot_id in table.chain_ids
    if stored is None or not table.recovering or not (is_ahead or is_on_main):
        return each
    repair = brought_again(stored, each.snapshot_id, commits)
    if is_ahead:
        return each if repair is None else each.model_copy(update=_not_ahead(repair))
    loses = tuple(s.snapshot_id for s in held_in_part(stored, each.snapshot_id, commits))
    more = (
        f"; but a job started from here on the table as it is would bring rows of {called(repair)} a second time."
        if repair is not None
        else "."
    )
    again = repair.snapshot_id if repair is not None else None
    told = {"reason": each.reason.rstrip(".") + more, "brings_again": again, "rewind_loses": loses}
    return each.model_copy(update=told)


def _not_ahead(repair: Snapshot) -> dict[str, object]:
    told = called(repair)
    reason = f"{told[0].upper()}{told[1:]} has put rows on main that a job started from here would bring again."
    return {"verdict": PairVerdict.BEHIND, "snapshot_id": None, "reason": reason}


def called(repair: Snapshot) -> str:
    """`repair …421007`, `cherry-pick …421007`."""
    return f"{'repair' if repair.is_repair else 'cherry-pick'} {short(repair.snapshot_id)}"


def _as_it_stays(each: Pairing, shown: StoredCheckpoint | None, case: Case) -> Pairing:
    """The same, durable or not by the runs that Flink shows now, whatever it showed when evidence looked. One whose run
    has ended since stays only where storage still shows it (`shown`): Flink may have deleted it at that end."""
    jobs, is_durable = case.observation.jobs, each.is_durable
    if not isinstance(jobs, NotSeen) and each.verdict is not PairVerdict.FOREIGN:
        is_there = shown is not None and shown.digest == each.digest
        is_durable = (is_durable or is_there) and stays(each.checkpoint_kind, each.job_id, jobs)
    is_durable = is_durable and not _may_go(each, case)
    return each if is_durable == each.is_durable else each.model_copy(update={"is_durable": is_durable})


def _may_go(each: Pairing, case: Case) -> bool:
    others = case.observation.others
    if others is None or each.checkpoint_kind in {CheckpointKind.SAVEPOINT, CheckpointKind.STOP_SAVEPOINT}:
        return False
    if isinstance(others, NotSeen):
        return all(run.job_id != each.job_id for run in case.runs)
    return any(run.job_id == each.job_id and not run.is_terminal for run in others.values)


def _of_the_lost(each: Pairing, case: Case) -> Pairing:
    table = case.observation.table
    put_back = table.by_id.get(each.snapshot_id) if each.snapshot_id is not None else None
    if put_back is None or not put_back.is_repair or put_back.snapshot_id not in table.chain_ids:
        return each
    if any(s.snapshot_id == put_back.snapshot_id for s in commits_that_bind(case)):
        return each
    told = (put_back.job_id, put_back.checkpoint_id)
    lost = [s for s in table.snapshots if not s.is_repair and (s.job_id, s.checkpoint_id) == told]
    why = (
        f"Repair {short(put_back.snapshot_id)} has put back what checkpoint {put_back.checkpoint_id} of run "
        f"{short_job(put_back.job_id)} had committed, above commits of another run, which this state does not hold"
    )
    if not lost:
        reason = f"{why}; the commit to which it belongs is not listed any more."
        return each.model_copy(update={"verdict": PairVerdict.BEHIND, "snapshot_id": None, "reason": reason})
    reason = f"{why}; it belongs to {short(lost[-1].snapshot_id)}, which was rolled back and is still listed."
    return each.model_copy(update={"snapshot_id": lost[-1].snapshot_id, "reason": reason})


def _foreign(each: Pairing) -> Pairing:
    return each.model_copy(
        update={
            "verdict": PairVerdict.FOREIGN,
            "snapshot_id": None,
            "reason": f"Run {short_job(each.job_id)} is another job's, by what Flink, its sink and the settings tell.",
            "is_durable": False,
        }
    )


def written_after(
    stored: StoredCheckpoint, table: TableState, runs: Collection[JobId], own: CommitsByRun
) -> tuple[Snapshot, ...]:
    """The commits on main that the job made after restore point `stored`, oldest first: a restore makes them again.

    `runs`: those of the job that are known. Another run counts as the job's where its sink is the same operator, and
    where no commit of the job tells what its sinks are. `own`: of the table that is restored with the job. Where the
    run of `stored` has no commit up to it, or nothing tells from which of its starts that comes, time decides: not that
    of its file alone, as a copy is younger than what it holds.
    """
    commits = _of_the_job(stored, table, {*runs, *([stored.job_id] if stored.job_id else [])})
    held = CommitsByRun(table).of(stored).held_by(stored)
    told = [place for place, s in enumerate(commits) if s.snapshot_id in held]
    if not told:
        first = next((place for place, s in enumerate(commits) if s.job_id == stored.job_id), len(commits))
        latest = _latest(stored, own)
        told = [place for place, s in enumerate(commits[:first]) if s.committed_at <= latest]
    return tuple(commits[told[-1] + 1 :] if told else commits)


def pairs_below(stored: StoredCheckpoint, seen: Observation) -> SnapshotId | None:
    """The snapshot on main that pairs with `stored`; None where there is none."""
    found = pairing(stored, seen.table, seen.jobs).snapshot_id
    return found if found in seen.table.chain_ids else None


def in_words(after: tuple[Snapshot, ...]) -> str:
    """`3 commits, up to …421007 (checkpoint 9 of run b92e04)`."""
    last = after[-1]
    return (
        f"{counted(len(after), 'commit')}, up to {short(last.snapshot_id)} (checkpoint {last.checkpoint_id} of run "
        f"{short_job(last.job_id)})"
    )


def _of_the_job(stored: StoredCheckpoint, table: TableState, runs: Collection[JobId]) -> list[Snapshot]:
    commits = flink_commits(table)
    sinks = {s.operator_id for s in table.snapshots if s.job_id in runs and s.operator_id is not None}
    if not sinks:
        return list(without_put_back(commits, table))
    sinks |= set(stored.operator_ids)
    own = [s for s in commits if s.job_id in runs or s.operator_id is None or s.operator_id in sinks]
    return list(without_put_back(own, table))


def _latest(stored: StoredCheckpoint, own: CommitsByRun) -> datetime:
    """Not after which moment it was written."""
    of_start = own.of(stored).life_of(stored) or RunCommits(())
    _, latest = of_start.written(stored, own.ended(stored.job_id))
    return latest
