"""What a proposal may do to the world: one record an effect, tagged. `bot/actions/_effects/` says how it is done.

Planned savepoints have entries of their own, which name an effect's result.
"""

from typing import Annotated, Literal

from pydantic import Field

from bot.observation.file_changes import FileList, RowsOfFile
from bot.observation.ids import CheckpointId, IncidentId, JobId, ProposalId, SnapshotId, TableName
from bot.observation.record import Record, Utc
from bot.observation.replay import Replay
from bot.observation.sentences import clock_time, full_stop


class SavepointPlanned(Record):
    """Why a savepoint is taken, for which code, and who answers for it; written before the job is stopped."""

    kind: Literal["savepoint-planned"] = "savepoint-planned"
    reason: str
    code_before: str
    """Version that wrote the state."""
    code_after: str
    """Version that is to be started from it."""
    until: Utc
    """It is kept, and is the authoritative one, until then."""
    over_by: Utc | None = None
    """When the work is expected to be over; None where nobody said so."""


class SavepointReleasing(Record):
    """The tag is about to be removed. Written first: after a crash, a missing tag is known to be our own removal."""

    kind: Literal["savepoint-releasing"] = "savepoint-releasing"
    proposal: ProposalId
    """By which it was taken."""
    tag: str
    snapshot: str


class SavepointReleased(Record):
    """The day of a kept savepoint has passed, and its tag no longer keeps a snapshot."""

    kind: Literal["savepoint-released"] = "savepoint-released"
    proposal: ProposalId
    """By which it was taken."""
    tag: str
    snapshot: str
    how: Literal["removed", "gone", "elsewhere"]
    """`gone`: somebody had removed the tag; `elsewhere`: it stands on another snapshot, and was left there."""


SavepointEntry = SavepointPlanned | SavepointReleasing | SavepointReleased


def savepoint_sentence(body: SavepointEntry) -> str:
    """One sentence or two, for the timeline."""
    match body:
        case SavepointPlanned():
            return (
                f"Savepoint planned, from code {body.code_before} to {body.code_after}: {full_stop(body.reason)} "
                f"Kept until {body.until:%Y-%m-%d}."
                + (f" Expected to be over by {clock_time(body.over_by)}." if body.over_by else "")
            )
        case SavepointReleasing():
            return f"The savepoint expired: removing its tag {body.tag} on snapshot {body.snapshot}."
        case SavepointReleased():
            left = {
                "removed": f"was removed and no longer keeps snapshot {body.snapshot}",
                "gone": "was already removed",
                "elsewhere": "names another snapshot and was kept",
            }[body.how]
            return f"The savepoint expired. Its tag {body.tag} {left}."


class StopJob(Record):
    """Stop run `job_id`, keeping its last state: stop-with-savepoint (never drained), else cancel."""

    kind: Literal["stop-job"] = "stop-job"
    job: str
    """The job's configured name."""
    job_id: JobId
    needs_state: bool = False
    """Whether what follows needs the state that the stop leaves: then a run that cannot leave any goes on."""
    keeps_checkpoints: bool = False
    """Whether what follows starts from a retained checkpoint of this run. Where Flink retains them it does so when the
    run is cancelled, and deletes them when it ends with a savepoint; where they would go, the run goes on."""
    may_delete: str | None = None
    """The restore point of what follows, where the run may own it (`JobRun.may_own`): it is looked at again once Flink
    has had the time to delete it."""


class StopFork(Record):
    """Stop run `job_id`, as StopJob does; run `keeps` goes on writing the table."""

    kind: Literal["stop-fork"] = "stop-fork"
    job: str
    job_id: JobId
    keeps: JobId
    keeps_of: str | None = None
    """The job of the run that goes on, where it is another one; None: the same."""


class MoveTable(Record):
    """Move `main` to `to` by one atomic compare-and-swap that sets the tag as well."""

    kind: Literal["move-table"] = "move-table"
    table: TableName
    to: SnapshotId
    keep_head_as: str
    """Tag that keeps the head that is left behind."""


class Owed(Record):
    """What a restore point holds and the table does not: the sink commits it first, before what is new."""

    checkpoint_id: CheckpointId
    """The newest checkpoint that is owed."""
    head: SnapshotId
    """The head after which it has to come."""


class StartJob(Record):
    """Start the job from `path`; exactly one run, under a job id that is chosen before the request."""

    kind: Literal["start-job"] = "start-job"
    job: str
    path: str
    checkpoint_id: CheckpointId
    on_top_of: SnapshotId | None = None
    """The snapshot that pairs with `path`, on which the first commit must stand; None where it cannot be foretold."""
    owes: Owed | None = None
    """None where `path` owes nothing."""


class StartFromStop(Record):
    """Start the job from the newest state of run `job_id`, which an effect before this one has stopped; only if that
    state pairs with the head that is there then."""

    kind: Literal["start-from-stop"] = "start-from-stop"
    job: str
    job_id: JobId


class KeepSavepoint(Record):
    """Prove that the newest state of the stopped run pairs with the head, and tag the snapshot that it pairs with."""

    kind: Literal["keep-savepoint"] = "keep-savepoint"
    table: TableName
    job: str
    job_id: JobId
    tagged: str
    """What follows the checkpoint id in the tag's name: `20261121-a1b2` makes `savepoint-10-20261121-a1b2`. Checkpoint
    ids come again after a rewind: the end is the proposal's own."""
    plan: SavepointPlanned | None = None
    """The terms that are approved with it; None: it is taken without a plan."""


class FreezeMaintenance(Record):
    """Keep expiry and orphan removal from the table until it is unfrozen. What was set before is noted on the table."""

    kind: Literal["freeze-maintenance"] = "freeze-maintenance"
    table: TableName
    incident: IncidentId


class MarkTable(Record):
    """Set or remove tags in one atomic commit; `main` and data stay as they are."""

    kind: Literal["mark-table"] = "mark-table"
    table: TableName
    why: str
    """As a progress line says it: `Freeze maintenance`."""
    new_tags: dict[str, SnapshotId] = {}
    """Tag -> snapshot; refused if the tag exists on another snapshot."""
    remove_tags: tuple[str, ...] = ()


class MakeBranch(Record):
    """Begin the branch on which a repair is rehearsed, at the head of `main`."""

    kind: Literal["make-branch"] = "make-branch"
    table: TableName
    branch: str


class PublishBranch(Record):
    """Fast-forward `main` to the branch's head: refused unless `main` is still where the branch began."""

    kind: Literal["publish-branch"] = "publish-branch"
    table: TableName
    branch: str
    base: SnapshotId
    """The head of `main` from which the branch began."""
    head: SnapshotId
    """The branch's head that was proven."""
    keep_head_as: str
    """Tag that keeps the head that is left behind."""
    drop_branch: bool
    """By policy: whether the branch is removed in the same commit."""
    keeps: dict[str, SnapshotId] = {}
    """Tag -> a commit that says it deleted files which the branch has put back: while the tag is there, no expiry
    deletes them by that."""


class GoneOn(Record):
    """What a repair says of Flink where the job may commit until it is stopped."""

    above: SnapshotId
    """The head that was approved."""
    carries: dict[str, str]
    """What its summary says instead, where Flink has committed above that head: the keys of an older checkpoint would
    let the sink look for manifests of the newer one, which are gone (F7)."""


class Repair(Record):
    """One commit on the branch of a rehearsal."""

    table: TableName
    branch: str
    incident: IncidentId
    why: str
    """As a progress line says it: `Delete extra copies`."""


class ChangeFiles(Repair):
    """Add and remove references to data files on the branch of a rehearsal; no data is written."""

    kind: Literal["change-files"] = "change-files"
    add: FileList | None = None
    remove: FileList | None = None
    carries: dict[str, str] = {}
    """What else its summary says: the `flink.*` keys of a commit that is put back, where Flink's sink must find it
    again; else which of Flink's rows it brings."""
    gone_on: GoneOn | None = None
    """What it says instead of `carries` where the job has gone on; None: the same, and in records of earlier
    versions."""


class DeleteRows(Repair):
    """Delete rows by file and place on the branch of a rehearsal; the files themselves stay as they are."""

    kind: Literal["delete-rows"] = "delete-rows"
    rows: tuple[RowsOfFile, ...]
    carries: dict[str, str] = {}
    """What else its summary says: by which commits these rows had come."""


class ReplayRows(Repair):
    """Write rows that are made once more from the source to the branch of a rehearsal: only those whose key does not
    live there, and only if they are what was looked at."""

    kind: Literal["replay-rows"] = "replay-rows"
    replay: Replay


class DropBranch(Record):
    """Remove the branch of a rehearsal, if it is still at `head`. Its commits can be expired from then on."""

    kind: Literal["drop-branch"] = "drop-branch"
    table: TableName
    branch: str
    head: SnapshotId


Effect = Annotated[
    StopJob | StopFork | MoveTable | StartJob | StartFromStop | KeepSavepoint | FreezeMaintenance | MarkTable
    | MakeBranch | PublishBranch | ChangeFiles | DeleteRows | ReplayRows | DropBranch,
    Field(discriminator="kind"),
]  # fmt: skip
