"""Whether evidence is older than what the newest start of the job hides: Flink shows only a run's newest restore, so
what an earlier one brought again, or left out, is seen in the rows alone."""

from bot.diagnosis._asked import checked_until, too_early_for
from bot.diagnosis._case import living, time_in
from bot.domain.diagnosis import CannotTell, Case
from bot.domain.flink import Restored, names_run
from bot.domain.guests import Guests
from bot.domain.ids import JobId, SnapshotId, short, short_job
from bot.domain.table import Snapshot


def older_than_a_start(case: Case, until: SnapshotId | None, *tasks: str) -> CannotTell | None:
    """What is missing to vouch for the table up to `until`: the job has committed rows above it, and a run was restored
    since. None: no commit lies between. `tasks`: the evidence that is to be collected again."""
    table, guests = case.observation.table, Guests(case)
    edge = table.place_of(until)
    for run in living(case):
        if run.restored is None:
            continue
        above = (
            s for s in table.chain if table.place_of(s.snapshot_id) > edge and s.job_id is not None and s.adds_rows
        )
        is_older = any(too_early_for(case, task, run.restored.at) is not None for task in tasks)
        hidden = next((s for s in above if (is_older or _is_of_before(s, run.restored)) and not guests.has(s)), None)
        if hidden is not None:
            below = tuple(
                task for task in tasks if table.place_of(checked_until(case, task)) < table.place_of(hidden.snapshot_id)
            )
            said = (
                f"they do not cover commit {short(hidden.snapshot_id)}, and run {short_job(run.job_id)} was restored "
                f"meanwhile, at {time_in(case, run.restored.at)}"
            )
            return CannotTell(missing=(f"{', '.join(below)}, once more: {said}",), asks=below)
    return None


def _is_of_before(commit: Snapshot, point: Restored) -> bool:
    """Whether its rows come from before the restore: a sink commits at a restore what the state lists."""
    is_listed = (commit.checkpoint_id or 0) <= point.checkpoint_id and names_run(point.path, commit.job_id or JobId(""))
    return commit.committed_at < point.at or is_listed
