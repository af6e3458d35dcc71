"""Whether the rows that one start brought still answer for the table: a later run may have begun elsewhere."""

from bot.diagnosis._case import living
from bot.diagnosis._read_again_once import not_passed, uncounted
from bot.diagnosis._which_point import which_point
from bot.domain.diagnosis import CannotTell, Case
from bot.domain.flink import names_run
from bot.domain.guests import Guests
from bot.domain.ids import JobId, SnapshotId, short_job


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
