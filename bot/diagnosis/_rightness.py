"""Whether the table itself is right: what speaks against it, and what is missing to say that nothing does.

Who calls the table healthy and who leaves it as a dead job left it rest on the same; without a column of source
positions nobody can show that no row is missing, and then neither can tell.

Whether the living run stands below rows that main has already: then it is to bring them again, whatever hides how
it came there.

Whether a run that took over has shown by its rows where it began, where Flink no longer shows it: checkpoints
without rows are committed from time to time, whatever the state was that it began with.

Whether main was begun anew over commits that have expired since, as a `REPLACE TABLE` under the job leaves it then.

Seen with Iceberg 1.12 (Spark 4.1, JDBC and Hadoop catalogs) and PyIceberg 0.12: the first commit after `CREATE OR
REPLACE TABLE`, or the one of `… AS SELECT`, has no parent, totals that count from zero, and the next sequence number of
all. `expire_snapshots` takes what is older out of the list and out of the log, and such a table then looks like a young
one but for that number. A commit that fails takes no number, a new table begins with 1, and Iceberg's expiry leaves the
parent's id where the parent is gone; PyIceberg's takes it away, which the totals still tell (`has_commit_below`).
Snapshots of a branch, or staged ones, that were made before main had its first leave it the same way: nobody can tell
them from main's own. Format v1 counts no snapshots, and nothing is told there.

Whether a run started without state over rows of runs that Flink does not list, by another sink's id: they may be
another job's, or the job's own from before its uid was changed.

What the state that a run was restored from had still to be committed, and is on storage yet: a sink commits it with
the restore and deletes its manifest, unless its state was left out of that (another uid, `allowNonRestoredState`).
"""

from collections.abc import Iterator
from itertools import takewhile

from bot.diagnosis._arrivals import unaccounted
from bot.diagnosis._asked import lacking, unasked, untold_order
from bot.diagnosis._began_over_expired import may_have_begun_empty
from bot.diagnosis._begun_below_expired import may_have_begun_below
from bot.diagnosis._case import (
    has_first_position,
    in_window,
    is_live,
    living,
    run_of,
    time_in,
    unlisted_switches,
    unseen,
)
from bot.diagnosis._lost_and_expired import may_be_lost_and_expired
from bot.diagnosis._origins import unknown_origin
from bot.diagnosis._other_branch import writes_a_branch
from bot.diagnosis._other_writers import COMPARES, unknown_pick, unsettled_compactions
from bot.diagnosis._read_again_once import first_rows_tell, not_passed, older_than_a_start, started_after_a_drain
from bot.diagnosis._rewound_in_doubt import open_rewinds, whose_run
from bot.diagnosis._room_for_a_start import has_room_up_to
from bot.diagnosis._to_come_again import may_come_again
from bot.diagnosis._unbroken import break_in_chain, may_have_begun_anew
from bot.diagnosis._upsert import may_be_replaced
from bot.diagnosis._which_point import newest_of
from bot.diagnosis._wrong_rows import ALL_FILES, missing_now, repeats_unexplained, wrong_files, wrong_rows
from bot.diagnosis.schema_changed_under_the_job import writes_unknown
from bot.domain.diagnosis import CannotTell, Case
from bot.domain.flink import CLOCKS_DIFFER, JobRun, names_run
from bot.domain.gone_commits import gone_before
from bot.domain.guests import Guests, commits_of_job
from bot.domain.ids import JobId, OperatorId, SnapshotId, short, short_job
from bot.domain.looked import NotSeen
from bot.domain.predecessors import Switch
from bot.domain.rewinds import FROM_NOTHING, began_from, began_without_state, came_up_at, flink_commits
from bot.domain.sentences import counted
from bot.domain.table import Snapshot


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


def started_over_others(case: Case) -> CannotTell | None:
    """What is missing to know that such a living run began in the right place. None: its first rows were counted, or
    lie below the window, or there is no such run; while it is silent F15 tells. Runs that Flink lists under another
    name are another job's."""
    commits, guests = flink_commits(case.observation.table), Guests(case)
    known, inside = guests.own | guests.of_other_jobs, {s.snapshot_id for s in in_window(case)}
    for run in living(case):
        first = next((s for s in commits if s.job_id == run.job_id and s.committed_at >= run.started_at), None)
        others = (s for s in reversed(commits) if s.committed_at < run.started_at and s.job_id not in known)
        before = next((s for s in others if s.adds_rows), None)
        if first is None or before is None or first.snapshot_id not in inside:
            continue
        begun = (
            f"where run {short_job(run.job_id)} began, without state after {short(before.snapshot_id)} of run "
            f"{short_job(before.job_id)}, which Flink does not list"
        )
        is_empty = began_without_state(run, first.committed_at)
        if is_empty and (left := first_rows_tell(case, begun, run.job_id, first)) is not None:
            return left
    return None


def may_be_replaced_and_expired(case: Case) -> str | None:
    """What is missing to know that the job had no rows on main before its first listed commit; None: nothing is."""
    table = case.observation.table
    root = table.chain[-1] if table.chain else None
    if root is None or root.has_commit_below or root not in in_window(case):
        return None
    gone = gone_before(root, table)
    if gone <= 0 or has_first_position(case) or not _may_go_on(case, root):
        return None
    are = "is" if gone == 1 else "are"
    return (
        f"whether main had rows of the job before {short(root.snapshot_id)}, with which it begins anew, without a "
        f"parent: by the sequence numbers, {counted(gone, 'older snapshot')} {are} listed no more. The table may have "
        "been replaced under its job, and what it lost so has expired. Look who has replaced it, and whether its rows "
        f"were put back; of what came since, ask with a window that begins after {short(root.snapshot_id)}"
    )


def _may_go_on(case: Case, root: Snapshot) -> bool:
    """Whether the job may have committed before `root`: not where the first of its runs on main began without state
    afterwards, by the id of its first commit or by Flink. What was there before is none of such a run's."""
    first = next(iter(commits_of_job(case)), None)
    if first is None:
        return True
    run = run_of(case, first.job_id)
    is_new = run is not None and began_from(run, first.committed_at) == FROM_NOTHING
    began_after = run is not None and is_new and run.started_at >= root.committed_at
    return first.checkpoint_id != FROM_NOTHING + 1 and not began_after


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


def behind_main(case: Case) -> CannotTell | None:
    """What is missing to know that it does not, by the positions of the rows that it has brought since it began, or
    before it has brought any the run that it goes on from; None: they are main's highest, or neither brought any."""
    for run in living(case):
        first = _first_rows_of(case, run) or _first_rows_before(case, run)
        if first is None or first.job_id is None:
            continue
        if (behind := not_passed(case, first.job_id, first.snapshot_id)) is not None:
            return behind
    return None


def _first_rows_of(case: Case, run: JobRun) -> Snapshot | None:
    began = came_up_at(run)
    return next((s for s in _of(case, run.job_id) if s.committed_at >= began), None)


def _first_rows_before(case: Case, run: JobRun) -> Snapshot | None:
    """The oldest listed commit with rows of the run whose state it has; the newest, where Flink does not list the start
    that made it: an earlier one under that job id may have stood elsewhere."""
    point = run.restored
    commit = newest_of(case, point) if point is not None else None
    if commit is None:
        return None
    own, starts = tuple(_of(case, commit.job_id)), (r for r in case.runs if r.job_id == commit.job_id)
    if not own or any(each.started_at <= own[0].committed_at for each in starts):
        return own[0] if own else None
    return own[-1]


def _of(case: Case, job: str | None) -> Iterator[Snapshot]:
    return (s for s in case.observation.table.of_flink if s.job_id == job and s.adds_rows)


RESTS_ON = ("duplicate_rows", "missing_positions", "duplicate_commits", "leaked_manifests", "unreadable_files")
"""Evidence that must have answered as a whole, and still hold."""
ASKS_FOR = ("replayed_rows", "orphan_files", ALL_FILES, COMPARES)
"""Evidence that settles what these leave open, where they do."""


def speaks_against(case: Case) -> str | None:
    """The first thing that is known to be wrong with rows, files or history; None also where nobody looked."""
    return wrong_rows(case) or wrong_files(case) or break_in_chain(case)


def not_looked_at(case: Case, *tasks: str) -> tuple[str, ...]:
    """Of these tasks and of what the table rests on, what gave no whole answer that still holds; empty: everything
    was looked at."""
    written = writes_unknown(case)
    named = (
        "contract.position: without a column of source positions nobody can show that no row is missing; name one"
        if case.contract.position is None
        else None
    )
    told = (
        named,
        may_be_replaced(case),
        unseen(written) if written is not None else None,
        unknown_pick(case),
        untold_order(case),
        *map(whose_run, open_rewinds(case)),
        writes_a_branch(case),
    )
    return (*lacking(case, *tasks, whole=True), *(what for what in told if what is not None))


def looks_again(case: Case, missing: tuple[str, ...]) -> tuple[str, ...]:
    """What is collected at once where this is missing: the Flink manifests, where they are all of it. They come and go
    without a commit, and a look at them reads no rows."""
    told = lacking(case, "leaked_manifests", whole=True)
    return unasked(case, "leaked_manifests") if missing and missing == told else ()


def begins_above(case: Case) -> SnapshotId | None:
    """The commit from which on a table is called right: where the window begins, or at the oldest listed commit where
    what lies below it has expired. None: all of the table is."""
    since, chain = case.window.since, case.observation.table.chain
    return chain[-1].snapshot_id if since is None and chain and chain[-1].has_commit_below else since


def doubt(case: Case, until: SnapshotId | None) -> CannotTell | None:
    """What all that was looked at leaves open, with the evidence that would settle it; None: nothing. `until`: the
    newest commit that it covers."""
    rows = (repeats_unexplained(case), missing_now(case), unsettled_compactions(case), unaccounted(case, until))
    starts = (
        may_have_begun_empty(case),
        may_have_begun_below(case),
        hidden_start(case),
        start_without_details(case),
        start_between_commits(case),
        behind_main(case),
        older_than_a_start(case, until, *RESTS_ON),
        started_after_a_drain(case),
        started_over_others(case),
    )
    open_still = [each for each in (*rows, *starts) if isinstance(each, CannotTell)]
    missing = [what for each in open_still for what in each.missing]
    anew = (may_have_begun_anew(case), may_be_replaced_and_expired(case))
    told = (
        unknown_origin(case),
        left_by_a_restore(case),
        *anew,
        may_be_lost_and_expired(case, until),
        may_come_again(case, until),
    )
    missing += [what for what in told if what is not None]
    asks = [task for each in open_still for task in each.asks]
    return CannotTell(missing=tuple(missing), asks=tuple(asks)) if missing else None
