"""Which restore points pair with the table as it is: what decides between restoring the job and rewinding both.
Other jobs' points do not: no job but theirs goes on from them."""

from bot.diagnosis._support.case import living
from bot.history.case import Case
from bot.history.other_jobs import commits_of_job
from bot.history.ranking import for_rewind
from bot.history.restore import Restores
from bot.history.unread_points import unread_points
from bot.incident.diagnosis import Remedy
from bot.observation.findings import Pairing, PairVerdict
from bot.observation.ids import SnapshotId


def pair_with_head(case: Case) -> Pairing | None:
    """The newest restore point whose table state is the job's newest commit on main; None also before anybody looked.

    Compactions and other writers above that commit do not matter, other jobs of Flink among them: the sink's walk
    passes over them (facts 1.5). A repair does whose rows the job would bring again."""
    commits = commits_of_job(case)
    newest = commits[-1].snapshot_id if commits else None
    paired = (p for p in Restores(case).in_evidence if p.verdict is PairVerdict.PAIRED)
    fit = (p for p in paired if p.snapshot_id == newest and p.brings_again is None)
    return next(fit, None) if newest is not None else None


def newer_than_head(case: Case) -> tuple[Pairing, ...]:
    """The restore points that go on right where main ends, newest first: the sink commits what they owe when the job is
    restored. None above which another run has committed since, or below which main has lost commits."""
    restores = Restores(case)
    found = (p for p in restores.in_evidence if p.verdict is PairVerdict.AHEAD)
    return tuple(p for p in found if restores.ends_with(p.job_id))


def can_rewind_to(case: Case, last_good: SnapshotId | None) -> bool | None:
    """Whether a rewind to `last_good` finds its restore point, as the action asks it; None before anybody looked, and
    where one that could not be read may be it."""
    if case.pairing is None:
        return None
    if last_good is not None and for_rewind(case, last_good).best is not None:
        return True
    return None if unread_points(case.observation.checkpoints) else False


def rewind_or(case: Case, last_good: SnapshotId | None, otherwise: Remedy) -> Remedy:
    """Table and job go back while a restore point is left, or may be, to which they can."""
    return otherwise if can_rewind_to(case, last_good) is False else Remedy.ROLL_BACK_TABLE_AND_RESTORE_JOB


def restore_in_words(case: Case, *, is_owed: bool = False) -> str | None:
    """How the job alone is restored, one clause, where it is not known to have a restore point that fits; None: the
    remedy's own words are true, because one pairs with the head or is newer than it. `is_owed`: files wait for the
    sink's commit, which a start without state would never make."""
    if newer_than_head(case) or pair_with_head(case) is not None:
        return None
    run = next(reversed(living(case)), None)
    if run is not None and run.is_settled:
        how = "stop the job with a savepoint and start it from that"
    elif case.pairing is None:
        how = "look which restore point of the job can be read and fits, then restore the job from it"
    elif is_owed:
        how = (
            "find a restore point elsewhere, as none that was found fits the table; do not start without state, or "
            "what waits is lost"
        )
    else:
        how = (
            "find a restore point elsewhere, as none that was found fits the table, or start the job without state "
            "where the table ends"
        )
    return f"{how}; the table is as it should be"
