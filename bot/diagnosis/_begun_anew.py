"""Whether main begins anew beside older commits of the same job, as a `REPLACE TABLE` under it leaves the table."""

from bot.diagnosis._case import in_window, living, run_of
from bot.domain.diagnosis import Case
from bot.domain.flink import JobRun
from bot.domain.ids import JobId, SnapshotId, short
from bot.domain.rewinds import FROM_NOTHING, began_from
from bot.domain.sentences import counted
from bot.domain.table import Snapshot, TableState


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
    began_empty = _began_empty(case, commits[0]) if commits else all(_is_new(run) for run in living(case))
    if not began_empty:
        return None
    there = (each.job_id for each in commits) if commits else (run.job_id for run in living(case))
    return frozenset(each for each in there if each is not None)


def _began_empty(case: Case, first: Snapshot) -> bool:
    """Whether main's first run is known to have begun without state, by Flink or by the id of its first commit."""
    run = run_of(case, first.job_id)
    is_known = run is not None and began_from(run, first.committed_at) == FROM_NOTHING
    return first.checkpoint_id == FROM_NOTHING + 1 or is_known


def _is_new(run: JobRun) -> bool:
    return began_from(run, None) == FROM_NOTHING


def _on_branches(table: TableState) -> frozenset[SnapshotId]:
    branches = (ref.snapshot_id for ref in table.refs if ref.kind == "branch")
    return frozenset(each.snapshot_id for branch in branches for each in table.ancestors(branch))
