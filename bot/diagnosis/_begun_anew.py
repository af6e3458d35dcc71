"""Whether main begins anew beside older commits of the same job, as a `REPLACE TABLE` under it leaves the table."""

from bot.diagnosis._case import in_window, living, run_of
from bot.domain.beginnings import FROM_NOTHING, began_from
from bot.domain.diagnosis import Case
from bot.domain.flink import JobRun
from bot.domain.ids import JobId, SnapshotId, short
from bot.domain.sentences import counted
from bot.domain.table import Snapshot, TableState


def begun_anew(case: Case) -> str | None:
    """What shows it: main's first commit has no parent, and older commits are listed of a run that goes on there, on no
    branch and never head as far as the log tells: Iceberg before 1.8 clears that with the replacement. None: nothing;
    what a run brought that began without state has nothing to do with what was there before."""
    table = case.observation.table
    root = table.chain[-1] if table.chain else None
    if (
        root is None
        or root.parent_id is not None
        or not table.place_of(root.snapshot_id)
        or root not in in_window(case)
    ):
        return None
    runs, aside, begins = _go_on(case), _held(table), table.place_of(root.snapshot_id)
    left = [
        each
        for each in table.snapshots
        if table.place_of(each.snapshot_id) < begins and each.snapshot_id not in aside and each.job_id is not None
        if runs is None or each.job_id in runs
    ]
    if not left:
        return None
    them = f"{counted(len(left), 'older commit')} of the job, {short(left[0].snapshot_id)}"
    more = f" to {short(left[-1].snapshot_id)}" if len(left) > 1 else ""
    return (
        f"Main begins anew with {short(root.snapshot_id)}, which has no parent, and {them}{more}, "
        f"{'is' if len(left) == 1 else 'are'} no part of it: the table was replaced under its job."
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


def _held(table: TableState) -> frozenset[SnapshotId]:
    """On main or another branch, or known to have been rolled back, which is judged by itself. A tag holds nothing: a
    replacement takes main alone off the old line, and the tags on it stay, Waterline's own first of all."""
    branches = (ref.snapshot_id for ref in table.refs if ref.kind == "branch")
    on_branches = {each.snapshot_id for branch in branches for each in table.ancestors(branch)}
    return frozenset({*table.chain_ids, *on_branches, *(each.snapshot_id for each in table.rolled_back)})
