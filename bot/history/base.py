"""What lies below the window: whether main began anew over older commits of the job, which nothing may take for right.

A proof begins at a base: all that main holds where the window begins is taken for right, by whoever chose the window.
`REPLACE TABLE` under a running job moves the base itself: main begins with a commit without a parent, and what the job
had brought before is no part of it.

Seen with Iceberg 1.12 (Spark 4.1, JDBC and Hadoop catalogs) and PyIceberg 0.12: the first commit after `CREATE OR
REPLACE TABLE`, or the one of `… AS SELECT`, has no parent, totals that count from zero, and the next sequence number of
all. `expire_snapshots` takes what is older out of the list and out of the log, and such a table then looks like a young
one but for that number. A commit that fails takes no number, a new table begins with 1, and Iceberg's expiry leaves the
parent's id where the parent is gone; PyIceberg's takes it away, which the totals still tell (`has_commit_below`).
Snapshots of a branch, or staged ones, that were made before main had its first leave it the same way: nobody can tell
them from main's own. Format v1 counts no snapshots, and nothing is told there.
"""

from bot.history.case import Case
from bot.history.other_jobs import commits_of_job
from bot.history.rollbacks import gone_before
from bot.history.starts import FROM_NOTHING, began_from
from bot.observation.ids import JobId, SnapshotId, short
from bot.observation.sentences import counted
from bot.observation.table import Snapshot, TableState


def in_window(case: Case) -> tuple[Snapshot, ...]:
    """The window's commits on main, oldest first."""
    table = case.observation.table
    return tuple(s for s in case.window.of(table) if s.snapshot_id in table.chain_ids)


def begun_anew(case: Case) -> str | None:
    """What shows it: main's first commit has no parent, and older commits are listed of a run that goes on there, on no
    branch and never head as far as the log tells: Iceberg before 1.8 clears that with the replacement. None: nothing;
    what a run brought that began without state has nothing to do with what was there before."""
    left = [each for each, is_on_branch in _left_behind(case) if not is_on_branch]
    if not left:
        return None
    return f"{_in_words(case, left)} no part of it: the table was replaced under its job."


def may_have_begun_anew(case: Case) -> str | None:
    """What is missing to know that it does not: a branch holds such commits. It may have been written by itself, or
    made from what main was before a replacement, which takes main alone off the old line."""
    left = [each for each, is_on_branch in _left_behind(case) if is_on_branch]
    if not left:
        return None
    return f"whether main had them once, and the table was replaced under its job: {_in_words(case, left)} on a branch"


def _left_behind(case: Case) -> list[tuple[Snapshot, bool]]:
    """(commit, whether a branch holds it) of those that are older than a beginning of main in the window, and of runs
    that go on there; not those that are known to have been rolled back, which is judged by itself. A tag excuses none:
    it stays on a line that was replaced, Waterline's own most of all."""
    table = case.observation.table
    root = table.chain[-1] if table.chain else None
    begins = table.place_of(root.snapshot_id) if root is not None else 0
    if root is None or root.has_commit_below or not begins or root not in in_window(case):
        return []
    runs, aside = _go_on(case), {*table.chain_ids, *(each.snapshot_id for each in table.rolled_back)}
    held = _on_branches(table)
    return [
        (each, each.snapshot_id in held)
        for each in table.snapshots
        if table.place_of(each.snapshot_id) < begins and each.snapshot_id not in aside and each.job_id is not None
        if runs is None or each.job_id in runs
    ]


def _in_words(case: Case, left: list[Snapshot]) -> str:
    root = case.observation.table.chain[-1]
    them = f"{counted(len(left), 'older commit')} of the job, {short(left[0].snapshot_id)}"
    more = f" to {short(left[-1].snapshot_id)}" if len(left) > 1 else ""
    return (
        f"Main begins anew with {short(root.snapshot_id)}, which has no parent, and {them}{more}, "
        f"{'is' if len(left) == 1 else 'are'}"
    )


def _go_on(case: Case) -> frozenset[JobId] | None:
    """The runs whose earlier commits belong to what is on main; None: those of every run, because the first one there
    brought a state with it, or nothing tells that it did not. Where Flink has committed nothing there yet, the runs
    that are alive are asked."""
    commits = case.observation.table.of_flink
    began_empty = (
        _began_empty(case, commits[0])
        if commits
        else all(began_from(run, None) == FROM_NOTHING for run in case.runs if not run.is_terminal)
    )
    if not began_empty:
        return None
    there = (
        (each.job_id for each in commits)
        if commits
        else (run.job_id for run in (each for each in case.runs if not each.is_terminal))
    )
    return frozenset(each for each in there if each is not None)


def _began_empty(case: Case, first: Snapshot) -> bool:
    """Whether main's first run is known to have begun without state, by Flink or by the id of its first commit."""
    run = next((each for each in case.runs if each.job_id == first.job_id), None)
    is_known = run is not None and began_from(run, first.committed_at) == FROM_NOTHING
    return first.checkpoint_id == FROM_NOTHING + 1 or is_known


def _on_branches(table: TableState) -> frozenset[SnapshotId]:
    branches = (ref.snapshot_id for ref in table.refs if ref.kind == "branch")
    return frozenset(each.snapshot_id for branch in branches for each in table.ancestors(branch))


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
        f"were restored; of what came since, ask with a window that begins after {short(root.snapshot_id)}"
    )


def _may_go_on(case: Case, root: Snapshot) -> bool:
    """Whether the job may have committed before `root`: not where the first of its runs on main began without state
    afterwards, by the id of its first commit or by Flink. What was there before is none of such a run's."""
    first = next(iter(commits_of_job(case)), None)
    if first is None:
        return True
    run = next((each for each in case.runs if each.job_id == first.job_id), None)
    is_new = run is not None and began_from(run, first.committed_at) == FROM_NOTHING
    began_after = run is not None and is_new and run.started_at >= root.committed_at
    return first.checkpoint_id != FROM_NOTHING + 1 and not began_after


def has_first_position(case: Case) -> bool:
    """Whether the table begins with the source's first position, so that nothing can lie below all that lives."""
    return case.gaps is not None and case.gaps.lowest == 0 and case.contract.position_partition is None
