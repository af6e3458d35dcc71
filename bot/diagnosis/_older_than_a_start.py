"""Whether evidence is older than what the newest start of the job hides: Flink shows only a run's newest restore, so
what an earlier one brought again, or left out, is seen in the rows alone."""

from bot.diagnosis._asked import too_early_for
from bot.diagnosis._case import living, time_in
from bot.domain.diagnosis import CannotTell, Case
from bot.domain.flink import Restored, names_run
from bot.domain.guests import Guests
from bot.domain.ids import JobId, SnapshotId, short, short_job
from bot.domain.rewinds import came_up_at
from bot.domain.table import Snapshot


def older_than_a_start(case: Case, until: SnapshotId | None, *tasks: str) -> CannotTell | None:
    """What is missing to vouch for the table up to `until`: the job has committed rows above it, and a run was started
    or restored since. None: no commit lies between. `tasks`: the evidence that ends there, to be collected again."""
    table, guests = case.observation.table, Guests(case)
    edge = table.place_of(until)
    newer = [s for s in table.of_flink if table.place_of(s.snapshot_id) > edge and s.adds_rows and not guests.has(s)]
    for run in living(case) if newer else ():
        moment = came_up_at(run)
        is_older = any(too_early_for(case, task, moment) is not None for task in tasks)
        hidden = next((s for s in newer if is_older or _is_of_before(s, run.restored)), None)
        if hidden is None:
            continue
        how = "restored" if run.restored is not None else "started"
        said = (
            f"they do not cover commit {short(hidden.snapshot_id)}, and run {short_job(run.job_id)} was {how} "
            f"meanwhile, at {time_in(case, moment)}"
        )
        return CannotTell(missing=(f"{', '.join(tasks)}, once more: {said}",), asks=tasks)
    return None


def _is_of_before(commit: Snapshot, point: Restored | None) -> bool:
    """Whether its rows come from before the restore: a sink commits at a restore what the state lists."""
    if point is None:
        return False
    is_listed = (commit.checkpoint_id or 0) <= point.checkpoint_id and names_run(point.path, commit.job_id or JobId(""))
    return commit.committed_at < point.at or is_listed
