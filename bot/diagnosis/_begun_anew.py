"""Whether main begins anew beside older commits of the same job, as a `REPLACE TABLE` under it leaves the table."""

from bot.diagnosis._case import in_window, run_of
from bot.domain.diagnosis import Case
from bot.domain.ids import JobId, SnapshotId, short
from bot.domain.sentences import counted
from bot.domain.table import TableState


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
    was restored."""
    commits = case.observation.table.of_flink
    first = commits[0] if commits else None
    run = run_of(case, first.job_id) if first is not None else None
    restored = run.restored.checkpoint_id if run is not None and run.restored is not None else None
    if first is not None and restored is not None and restored < (first.checkpoint_id or 0):
        return None
    return frozenset(each.job_id for each in commits if each.job_id is not None)


def _held(table: TableState) -> frozenset[SnapshotId]:
    """On main or another branch, or known to have been rolled back, which is judged by itself. A tag holds nothing: a
    replacement takes main alone off the old line, and the tags on it stay, Waterline's own first of all."""
    branches = (ref.snapshot_id for ref in table.refs if ref.kind == "branch")
    on_branches = {each.snapshot_id for branch in branches for each in table.ancestors(branch)}
    return frozenset({*table.chain_ids, *on_branches, *(each.snapshot_id for each in table.rolled_back)})
