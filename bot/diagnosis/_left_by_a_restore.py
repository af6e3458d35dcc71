"""What the state that a run was restored from had still to be committed, and is on storage yet: a sink commits it with
the restore and deletes its manifest, unless its state was left out of that (another uid, `allowNonRestoredState`)."""

from bot.diagnosis._case import living
from bot.domain.diagnosis import Case
from bot.domain.flink import names_run
from bot.domain.ids import short_job
from bot.domain.looked import NotSeen


def left_by_a_restore(case: Case) -> str | None:
    """What is missing to know that its rows come: no commit carries it, though a living run was restored from above it
    and runs. None: there is none."""
    listing, table = case.observation.flink_manifests, case.observation.table
    if isinstance(listing, NotSeen):
        return None
    for run in living(case):
        point = run.restored
        if point is None or not run.is_settled:
            continue
        for left in listing.values:
            is_named = point.path is None or names_run(point.path, left.job_id)
            is_of_state = is_named and left.checkpoint_id <= point.checkpoint_id
            if left.job_id == run.job_id or not is_of_state:
                continue
            theirs = (s for s in table.snapshots if s.job_id == left.job_id and s.operator_id == left.operator_id)
            carried = max((s.checkpoint_id or 0 for s in theirs), default=0)
            if carried < left.checkpoint_id:
                name = left.path.rsplit("/", 1)[-1]
                return (
                    f"whether the rows of Flink manifest {name} come: checkpoint {left.checkpoint_id} of run "
                    f"{short_job(left.job_id)} was in the state from which run {short_job(run.job_id)} was restored "
                    f"(checkpoint {point.checkpoint_id}), and no commit carries it"
                )
    return None
