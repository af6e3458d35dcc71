"""What the state that a run was restored from had still to be committed, and is on storage yet: a sink commits it with
the restore and deletes its manifest, unless its state was left out of that (another uid, `allowNonRestoredState`)."""

from bot.diagnosis._case import living
from bot.diagnosis._read_again import is_live
from bot.domain.diagnosis import Case
from bot.domain.flink import names_run
from bot.domain.guests import Guests
from bot.domain.ids import JobId, OperatorId, short_job
from bot.domain.looked import NotSeen


def left_by_a_restore(case: Case) -> str | None:
    """What is missing to know that its rows come: no commit carries it, though a living run was restored from above it
    and runs. None: there is none."""
    listing = case.observation.flink_manifests
    if isinstance(listing, NotSeen) or not listing.values:
        return None
    reached, guests = _reached(case), Guests(case)
    for run in living(case):
        point = run.restored
        if point is None or not run.is_settled:
            continue
        for left in listing.values:
            is_named = point.path is None or names_run(point.path, left.job_id)
            is_of_state = is_named and left.checkpoint_id <= point.checkpoint_id
            if left.job_id == run.job_id or not is_of_state or guests.has_run(left.job_id):
                continue
            is_carried = reached.get((left.job_id, left.operator_id), 0) >= left.checkpoint_id
            if not is_carried and not _lives(case, left.path):
                name = left.path.rsplit("/", 1)[-1]
                return (
                    f"whether the rows of Flink manifest {name} come: checkpoint {left.checkpoint_id} of run "
                    f"{short_job(left.job_id)} was in the state from which run {short_job(run.job_id)} was restored "
                    f"(checkpoint {point.checkpoint_id}), and no listed commit carries it; `leaked_manifests` and "
                    "`missing_positions` tell once its next rows are committed"
                )
    return None


def _reached(case: Case) -> dict[tuple[JobId | None, OperatorId | None], int]:
    """Run and sink -> the highest checkpoint that a listed commit of theirs carries, on main or not."""
    found: dict[tuple[JobId | None, OperatorId | None], int] = {}
    for commit in case.observation.table.snapshots:
        key = commit.job_id, commit.operator_id
        found[key] = max(found.get(key, 0), commit.checkpoint_id or 0)
    return found


def _lives(case: Case, path: str) -> bool:
    """Whether each position of the manifest is in a live row: its commit may have expired, and its deletion failed."""
    found = (leak for leak in (case.leaked.manifests if case.leaked is not None else ()) if leak.path == path)
    return any(is_live(leak, case.gaps, case.contract) for leak in found)
