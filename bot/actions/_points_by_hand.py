"""From which restore point people may start the job without the state of its sink: its source goes on where that point
stands, and nothing passes over what main has. So none is named above which the job has committed."""

from bot.actions._draft import may_lose_state
from bot.actions._idle import lists_none_of
from bot.actions._restore_points import ends_main, pair_of
from bot.domain.diagnosis import Case
from bot.domain.end_of_main import EndOfMain
from bot.domain.findings import Pairing, PairVerdict
from bot.domain.flink import JobRun, StoredCheckpoint
from bot.domain.guests import Guests, commits_that_bind
from bot.domain.ids import DRAINED, short_job
from bot.domain.kin import went_on_from
from bot.domain.own_points import pairings_of
from bot.domain.table import Snapshot


def readable(case: Case) -> list[tuple[StoredCheckpoint, Pairing]]:
    """The restore points that can be read and are no guest's, newest first."""
    stored = {each.path: each for each in case.observation.checkpoints.values}
    none = {PairVerdict.FOREIGN, PairVerdict.UNREADABLE}
    return [(stored[p.path], p) for p in pairings_of(case) if p.path in stored and p.verdict not in none]


def point_by_hand(case: Case) -> StoredCheckpoint | None:
    """The one that belongs to the newest commit by Flink that binds, else the newest that is above it; None of a
    guest's. Of several such one that lasts, see `must_be_copied`. Where nothing tells of any commit by Flink, the
    newest that can be read: see `untold_since`."""
    commits, known = commits_that_bind(case), readable(case)
    if not commits:
        return known[0][0] if known else None
    lasting_first = _lasting_first(known)
    for stored, pair in lasting_first:
        point = pair_of(pair)
        if (point is not None and ends_main(point, commits)) or _is_drained_after(stored, commits[-1]):
            return stored
    return next((stored for stored, pair in lasting_first if _is_above(case, stored, pair, commits[-1])), None)


def must_be_copied(case: Case, point: StoredCheckpoint, live: JobRun | None) -> bool:
    """Whether Flink may delete what it retains there before the job is started from it: it is no savepoint, and not
    known to be kept when its run, `live`, is cancelled."""
    if any(stored.path == point.path and pair.is_durable for stored, pair in readable(case)):
        return False
    return live is None or live.job_id != point.job_id or may_lose_state(live)


def untold_since(case: Case, point: StoredCheckpoint) -> str:
    """What nobody knows of such a point, a sentence that begins with a blank; empty where commits tell."""
    if commits_that_bind(case):
        return ""
    return (
        " Neither main nor an older metadata file tells what the job has committed since that was written, "
        f"{point.written_at:%Y-%m-%d %H:%M:%S} UTC: look first whether the table has rows that it read later. They "
        "would come twice."
    )


def why_none(case: Case) -> str:
    """Why `point_by_hand` names none of those that can be read, a clause."""
    known = readable(case)
    twice = next((pair for _, pair in known if _would_repeat(pair)), None)
    if twice is not None:
        return f"rows after checkpoint {twice.checkpoint_id} would come twice"
    return f"{known[0][0].path} does not surely go on where main ends. {known[0][1].reason.rstrip('.')}"


def beside_the_last(case: Case) -> tuple[str, StoredCheckpoint] | None:
    """(The run that committed last, and may be another job's; the point of the job that pairs with its own newest
    commit); None where the newest commit is surely the job's, or nothing pairs with that."""
    commits, guests = commits_that_bind(case), Guests(case)
    if not commits or not guests.has_run(commits[-1].job_id):
        return None
    own = [s for s in commits if not guests.has_run(s.job_id)]
    for stored, pair in _lasting_first(readable(case)):
        point = pair_of(pair)
        if point is not None and ends_main(point, own):
            return short_job(commits[-1].job_id), stored
    return None


def _lasting_first(known: list[tuple[StoredCheckpoint, Pairing]]) -> list[tuple[StoredCheckpoint, Pairing]]:
    return sorted(known, key=lambda each: not each[1].is_durable)


def _is_drained_after(stored: StoredCheckpoint, newest: Snapshot) -> bool:
    """Whether it is what a drained stop has left, and main's newest commit is that run's."""
    if not stored.is_drained or stored.job_id != newest.job_id or newest.checkpoint_id is None:
        return False
    return newest.checkpoint_id == DRAINED or newest.checkpoint_id <= (stored.checkpoint_id or 0)


def _is_above(case: Case, stored: StoredCheckpoint, pair: Pairing, newest: Snapshot) -> bool:
    """Whether it surely has all behind it that main has of the job."""
    if pair.verdict is PairVerdict.AHEAD:
        return EndOfMain(case).is_of(pair.job_id)
    run = next((run for run in case.runs if run.job_id == stored.job_id), None)
    if pair.verdict is not PairVerdict.UNPAIRABLE or run is None:
        return False
    is_silent = lists_none_of(run.job_id, case.observation.table)
    return is_silent and stored.written_at >= newest.committed_at and _began_above(case, run, newest)


def _began_above(case: Case, run: JobRun, newest: Snapshot) -> bool:
    """Whether Flink shows that the run began from a point of the run that committed last, and not from below that."""
    restored = run.restored
    if restored is None or newest.job_id is None or not went_on_from(run, newest.job_id):
        return False
    of_run = [s.checkpoint_id for s in commits_that_bind(case) if s.job_id == newest.job_id]
    reached = max((each for each in of_run if each is not None and each != DRAINED), default=0)
    is_drained = newest.checkpoint_id == DRAINED
    return restored.checkpoint_id > reached if is_drained else restored.checkpoint_id >= reached


def _would_repeat(pair: Pairing) -> bool:
    return pair.verdict in {PairVerdict.BEHIND, PairVerdict.PAIRED}
