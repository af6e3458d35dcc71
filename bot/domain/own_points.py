"""Whose restore points storage shows: a folder of savepoints may be another job's too, and its runs write the table.

What such a point holds is that job's state. The job, started from it, would go on where that one stood.
"""

from collections.abc import Iterable

from bot.domain.brought_again import brought_again, held_in_part
from bot.domain.diagnosis import Case
from bot.domain.end_of_main import EndOfMain
from bot.domain.evidence import Ask
from bot.domain.findings import Pairing, PairVerdict
from bot.domain.flink import CheckpointKind, StoredCheckpoint
from bot.domain.guests import Guests, case_of, commits_that_bind
from bot.domain.ids import short, short_job
from bot.domain.looked import NotSeen
from bot.domain.pairing import judged, stays
from bot.domain.paths import ByPath
from bot.domain.run_commits import CommitsByRun
from bot.domain.table import Snapshot


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
