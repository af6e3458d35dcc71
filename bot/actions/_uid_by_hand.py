"""What people do who give the sink another uid themselves: each step, and what is lost with the old sink's state."""

from bot.domain.diagnosis import Case
from bot.domain.errors import Refused
from bot.domain.findings import PairVerdict
from bot.domain.flink import JobRun, StoredCheckpoint
from bot.domain.guests import commits_of_job
from bot.domain.ids import DRAINED, short_job
from bot.domain.owed import owed_to
from bot.domain.own_points import pairings_of
from bot.domain.rewinds import flink_commits

HOW = (
    "in SQL `/*+ OPTIONS('uid-suffix'='NEW') */` behind the table's name in the INSERT (V2 sink; V1 and the dynamic "
    'sink take none there), in code uidPrefix("NEW") (V1, dynamic) or uidSuffix("NEW") (V2)'
)


def by_hand(case: Case, live: JobRun | None, proof: str, why: str) -> Refused:
    """`case`: with the restore points as they pair. `proof`, `why`: sentences."""
    return Refused(
        f"{proof} {why}",
        _start(case, live),
        "Two people do it together: freeze maintenance (`/waterline freeze`), stop the run, change the uid, start it, "
        "wait for two commits, run missing_positions and duplicate_rows again. Write each step into the thread.",
    )


def _start(case: Case, live: JobRun | None) -> str:
    stop = f"Cancel run {short_job(live.job_id)} (no stop-with-savepoint). " if live else ""
    point = _point(case)
    if point is None:
        return f"{stop}Start it from the newest readable point with allowNonRestoredState=true and {_another()}"
    where = f"from {point.path} (checkpoint {point.checkpoint_id})"
    return f"{stop}Start it {where} with allowNonRestoredState=true and {_another()}{_lost(case, point)}"


def _another() -> str:
    return f"another uid for the sink: {HOW}."


def _point(case: Case) -> StoredCheckpoint | None:
    """The one that belongs to the newest commit by Flink, else the newest that can be read; none of a guest's."""
    stored = {each.path: each for each in case.observation.checkpoints.values}
    known = [p for p in pairings_of(case) if p.path in stored and p.verdict is not PairVerdict.FOREIGN]
    commits = commits_of_job(case)
    newest = commits[-1] if commits else None
    for each in known:
        is_end = newest is not None and newest.checkpoint_id == DRAINED and each.job_id == newest.job_id
        if is_end and stored[each.path].is_drained:
            return stored[each.path]
        if newest is not None and each.verdict is PairVerdict.PAIRED and each.snapshot_id == newest.snapshot_id:
            return stored[each.path]
    return next((stored[each.path] for each in known if each.verdict is not PairVerdict.UNREADABLE), None)


def _lost(case: Case, point: StoredCheckpoint) -> str:
    """What is left behind with its state, a sentence; nothing where that owes nothing that is not on the table."""
    if point.is_drained:
        return " It was drained: windows and timers that were open then have fired early, and begin anew."
    table = case.observation.table
    owed = owed_to(table, point)
    commits = flink_commits(table)
    is_on_main = any(each.job_id == point.job_id and each.checkpoint_id == point.checkpoint_id for each in commits)
    if not owed or is_on_main:
        return ""
    count = "1 Flink manifest" if len(owed) == 1 else f"{len(owed)} Flink manifests"
    return (
        f" Its state still lists {count} ({owed[0]}{', …' if len(owed) > 1 else ''}) and forgets them then: rows of "
        "these that are not on the table are lost unless their files are appended afterwards (leaked_manifests)."
    )
