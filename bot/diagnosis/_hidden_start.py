"""Whether a run that took over has shown by its rows where it began, where Flink no longer shows it: checkpoints
without rows are committed from time to time, whatever the state was that it began with."""

from itertools import takewhile

from bot.diagnosis._case import in_window, living, run_of, time_in, unlisted_switches
from bot.diagnosis._first_rows import first_rows_tell
from bot.diagnosis._room_for_a_start import has_room_up_to
from bot.domain.beginnings import began_from
from bot.domain.clocks import CLOCKS_DIFFER
from bot.domain.diagnosis import CannotTell, Case
from bot.domain.guests import Guests
from bot.domain.ids import short, short_job
from bot.domain.switches import Switch


def hidden_start(case: Case) -> CannotTell | None:
    """What is missing to know where the newest of such runs began: the first rows that it, or a run after it, has
    brought, counted. None: they were, or there is no such run in the window."""
    table, guests = case.observation.table, Guests(case)
    newest = max(unlisted_switches(case), key=lambda switch: table.place_of(switch.first), default=None)
    if newest is None or _is_told_by_its_ids(case, newest):
        return None
    edge = table.place_of(newest.first)
    since = (s for s in table.of_flink if table.place_of(s.snapshot_id) >= edge and s.adds_rows and not guests.has(s))
    brought = next(since, None)
    begun = f"where run {short_job(newest.run)} began, whose first restore Flink no longer lists"
    run = newest.run if brought is None or brought.job_id is None else brought.job_id
    return first_rows_tell(case, begun, run, brought)


def start_without_details(case: Case) -> CannotTell | None:
    """What is missing to know where the newest start of a run began whose job id had committed before, where Flink, or
    its operator, tells no more of it than when it began: the first rows that came since, counted. None: they were, or
    lie below the window, or there is no such start."""
    table, guests, inside = case.observation.table, Guests(case), {s.snapshot_id for s in in_window(case)}
    for run in reversed(case.runs):
        mine = [s for s in table.of_flink if s.job_id == run.job_id]
        if began_from(run, None) is not None or not any(s.committed_at < run.started_at - CLOCKS_DIFFER for s in mine):
            continue
        since = (s for s in table.of_flink if s.committed_at >= run.started_at and s.adds_rows and not guests.has(s))
        first = next(since, None)
        if first is not None and first.snapshot_id not in inside:
            continue
        begun = (
            f"where run {short_job(run.job_id)} began when it was started once more at "
            f"{time_in(case, run.started_at)}, which Flink does not tell"
        )
        by = run.job_id if first is None or first.job_id is None else first.job_id
        if (left := first_rows_tell(case, begun, by, first)) is not None:
            return left
    return None


def start_between_commits(case: Case) -> CannotTell | None:
    """What is missing to know that a living run, which Flink lists as begun after its newest commit with rows, was not
    started without state between that one and its newest: there was time to count up to that id, and it has brought no
    row since."""
    for run in living(case):
        mine = [s for s in case.observation.table.of_flink if s.job_id == run.job_id]
        since = list(takewhile(lambda commit: not commit.adds_rows, reversed(mine)))
        if not since or len(since) == len(mine):
            continue
        newest, brought = since[0], mine[-len(since) - 1]
        is_listed = run.started_at < brought.committed_at + CLOCKS_DIFFER
        number = newest.checkpoint_id
        if is_listed or number is None or not has_room_up_to(run, number, brought, newest.committed_at):
            continue
        begun = (
            f"whether run {short_job(run.job_id)} was started without state between {short(brought.snapshot_id)} and "
            f"{short(newest.snapshot_id)}, which has no row; there was time for it"
        )
        return first_rows_tell(case, begun, run.job_id, None)
    return None


def _is_told_by_its_ids(case: Case, switch: Switch) -> bool:
    """Whether all its checkpoints are listed, from the first that follows the one from which it was restored."""
    run, first = run_of(case, switch.run), case.observation.table.by_id[switch.first]
    return run is not None and began_from(run, first.committed_at) is not None
