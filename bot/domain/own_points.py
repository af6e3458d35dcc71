"""Whose restore points storage shows: a folder of savepoints may be another job's too, and its runs write the table.

What such a point holds is that job's state. The job, started from it, would go on where that one stood.
"""

from collections.abc import Iterable

from bot.domain.diagnosis import Case
from bot.domain.evidence import Ask
from bot.domain.findings import Pairing, PairVerdict
from bot.domain.flink import CheckpointKind, StoredCheckpoint
from bot.domain.guests import Guests, case_of
from bot.domain.ids import short_job
from bot.domain.looked import NotSeen
from bot.domain.pairing import judged


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
    """The same in their order, those of guests with the verdict that they are foreign. They pair with nothing. What
    Flink may drop as its run, one of another declared job, may be alive, does not stay."""
    guests = Guests(case)
    told = (_foreign(each) if guests.has_run(each.job_id) else each for each in pairings)
    return tuple(each.model_copy(update={"is_durable": False}) if _may_go(each, case) else each for each in told)


def _may_go(each: Pairing, case: Case) -> bool:
    others = case.observation.others
    if others is None or each.checkpoint_kind in {CheckpointKind.SAVEPOINT, CheckpointKind.STOP_SAVEPOINT}:
        return False
    if isinstance(others, NotSeen):
        return all(run.job_id != each.job_id for run in case.runs)
    return any(run.job_id == each.job_id and not run.is_terminal for run in others.values)


def _foreign(each: Pairing) -> Pairing:
    return each.model_copy(
        update={
            "verdict": PairVerdict.FOREIGN,
            "snapshot_id": None,
            "reason": f"Run {short_job(each.job_id)} is another job's, by what Flink, its sink and the settings tell.",
            "is_durable": False,
        }
    )
