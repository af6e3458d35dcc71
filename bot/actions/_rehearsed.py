"""What a rehearsal has left: its branch, where that began, the run that it stopped and the savepoint of that stop."""

from bot.actions._restore_points import RestorePoint
from bot.domain.action import Action, Past, Plan
from bot.domain.effects import ChangeFiles, DeleteRows, MakeBranch, ReplayRows, StopJob
from bot.domain.errors import Refused
from bot.domain.file_changes import FileList
from bot.domain.ids import JobId, SnapshotId
from bot.domain.paths import may_be_same
from bot.domain.record import Record


class Rehearsed(Record):
    """One rehearsal, as its effects' results tell it."""

    because: str
    """Why it was proposed."""
    code: str
    branch: str
    base: SnapshotId
    head: SnapshotId
    add: FileList | None
    remove: FileList | None
    rows: int
    """Rows that were deleted by their places, beside those of `remove`."""
    written: int
    """Rows that were made once more from the source."""
    stopped: JobId | None
    savepoint: str | None


def rehearsed(plan: Plan, action: Action) -> Rehearsed:
    """The incident's rehearsal whose branch is still there. Raises Refused where there is none."""
    past = plan.rehearsed
    table = plan.case.observation.table
    found = _told(past) if past is not None else None
    if found is None or table.ref(found.branch) is None:
        raise Refused(
            f"“{action.title}” needs a rehearsal, and there is none.",
            "Expected a repair of this incident that was made on a branch; "
            + (f"branch {found.branch} is gone." if found is not None else "found no such branch."),
            "Propose the repair that the diagnosis asks for first.",
        )
    return found


def state_of_stop(plan: Plan, done: Rehearsed) -> RestorePoint | None:
    """The savepoint that the rehearsal's stop took, as storage shows it now; None where it took none."""
    if done.savepoint is None:
        return None
    for stored in plan.case.observation.checkpoints.values:
        is_it = may_be_same(stored.path, done.savepoint)
        if is_it and stored.checkpoint_id is not None and stored.digest is not None:
            return RestorePoint(
                path=stored.path, checkpoint_id=stored.checkpoint_id, snapshot_id=done.base, digest=stored.digest
            )
    return None


def _told(past: Past) -> Rehearsed | None:
    places = {type(effect): index for index, effect in enumerate(past.proposal.effects) if index in past.results}
    made, stop = places.get(MakeBranch), places.get(StopJob)
    changed = next((places[kind] for kind in (ChangeFiles, DeleteRows, ReplayRows) if kind in places), None)
    if made is None:
        return None
    branch, change = past.proposal.effects[made], past.proposal.effects[changed] if changed is not None else None
    stopped = past.proposal.effects[stop] if stop is not None else None
    assert isinstance(branch, MakeBranch)
    base = SnapshotId(int(past.results[made]["base"]))
    return Rehearsed(
        because=past.proposal.because,
        code=past.proposal.code,
        branch=branch.branch,
        base=base,
        head=SnapshotId(int(past.results[changed]["snapshot"])) if changed is not None else base,
        add=change.add if isinstance(change, ChangeFiles) else None,
        remove=change.remove if isinstance(change, ChangeFiles) else None,
        rows=sum(each.rows for each in change.rows) if isinstance(change, DeleteRows) else 0,
        written=change.replay.rows if isinstance(change, ReplayRows) else 0,
        stopped=stopped.job_id if isinstance(stopped, StopJob) else None,
        savepoint=past.results[stop].get("savepoint") if stop is not None else None,
    )
