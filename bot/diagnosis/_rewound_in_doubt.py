"""Why a rollback may have left a hole although a run seems to explain it, restored from the target since, or going on
from there."""

from bot.diagnosis._unbroken import is_filled, is_found_missing
from bot.diagnosis._which_point import counted_twice
from bot.domain.diagnosis import Case
from bot.domain.findings import LeakedManifest
from bot.domain.ids import short, short_job
from bot.domain.rollbacks import Rollback, Sequel


def rewound_in_doubt(case: Case, lost: Rollback) -> str | None:
    """What is missing to know that its rows have come again, or will; None: nothing is, or no run explains it."""
    if not (lost.is_rewound or lost.sequel in {Sequel.OTHER_RUN, Sequel.REDONE}) or is_filled(case, lost):
        return None
    if is_found_missing(case, lost):
        return (
            f"why positions are missing that main lost by its rollback to {short(lost.target)}: a run goes on from "
            "there as after a rewind of table and job, and has passed them without bringing them again"
        )
    if (leak := _counted_twice(case, lost)) is not None:
        return (
            f"which state run {short_job(leak.job_id)} had at checkpoint {leak.checkpoint_id}: main has that one or a "
            "later one, and yet a Flink manifest of it is left, so the run may have counted these ids twice, and "
            f"what seems to pair with {short(lost.target)} may be the later state; `missing_positions` settles it once "
            "the next commit has come"
        )
    return None


def _counted_twice(case: Case, lost: Rollback) -> LeakedManifest | None:
    """A manifest that shows that the run which made the target came to the target's id twice."""
    below = case.observation.table.ancestors(lost.target) if lost.target is not None else ()
    kept = next((s for s in below if s.job_id is not None and s.checkpoint_id is not None), None)
    if kept is None or kept.job_id is None or kept.checkpoint_id is None:
        return None
    return counted_twice(case, kept.job_id, kept.checkpoint_id)
