"""What is asked of the operator, or why it is not, and what has come of it; pure."""

from bot.adapters.flink_operator_resource import FlinkResource
from bot.adapters.flink_operator_settings import DRAIN, SAVEPOINT_DIR, is_on
from bot.adapters.flink_operator_steps import OperatedResource
from bot.adapters.flink_starting import JOB_ID
from bot.domain.errors import CommitRefused, Superseded
from bot.domain.ids import JobId, short_job
from bot.ports import Stopped


def suspension_of(
    seen: FlinkResource, name: str, job_id: JobId, *, needs_state: bool, keeps_checkpoints: bool
) -> dict[str, object]:
    """The change that suspends run `job_id`. Raises Superseded where it is another run's resource now, CommitRefused
    where the state that is needed would not be left."""
    current = seen.status.job.job_id
    if current != job_id:
        raise Superseded(
            f"{name} runs another run now.",
            f"Expected run {short_job(job_id)}; found {short_job(JobId(current)) if current else 'none'}.",
            "Nothing was changed. Collect evidence again and propose anew.",
        )
    if is_on(seen.settings, DRAIN):
        raise CommitRefused(
            f"{name} was not suspended: it would be drained, and no job goes on from that (F5).",
            f"Expected `{DRAIN}` not to be true; its flinkConfiguration says that it is.",
            "Set it to false there, then propose anew.",
        )
    if needs_state and seen.status.job.state == "RUNNING" and not seen.leaves_savepoint:
        raise CommitRefused(
            f"{name} was not suspended: no savepoint would be left, and its state is needed.",
            f"Expected `{SAVEPOINT_DIR}` in its flinkConfiguration, or `upgradeMode: savepoint`; found neither, so "
            "that commits after its newest checkpoint would have no state that goes with them.",
            "The run goes on as before. Set a folder for savepoints there, then propose anew.",
        )
    if keeps_checkpoints and (why := seen.why_savepoint) is not None:
        raise CommitRefused(
            f"{name} was not suspended: the checkpoint to start from would go with it.",
            f"Expected the operator to suspend it without a savepoint; found: {why}.",
            "The run goes on as before. Copy that checkpoint's folder away with all that it names, stop the job by "
            "hand and start it from the copy; or restore from a savepoint.",
        )
    return seen.to_suspend(keeps_checkpoints=keeps_checkpoints)


def restoration_of(
    seen: FlinkResource, resource: OperatedResource, path: str, nonce: int, *, allow_non_restored: bool
) -> dict[str, object]:
    """The change that starts the job from `path`. Raises Superseded where it runs or is about to, CommitRefused where
    it would run under its old id."""
    if not seen.is_at_rest:
        raise Superseded(
            f"{resource.name} is running, or is about to.",
            f"Expected it suspended or ended; found {resource.told(seen)}, changed last by {seen.last_writer}.",
            "It was not started. Collect evidence again and propose anew.",
        )
    if JOB_ID in seen.settings:
        raise CommitRefused(
            f"{resource.name} was not started: its job id is pinned.",
            f"Expected a new id for a run from {path}; `{JOB_ID}` in {seen.place_of(JOB_ID)} keeps the old one, "
            "under which commits would be dropped (F3) and checkpoint folders taken (F25).",
            "Remove that setting, then propose anew.",
        )
    return seen.to_restore(path, nonce, allow_non_restored=allow_non_restored)


def about_to_start(seen: FlinkResource, name: str, job_id: JobId) -> Superseded:
    """The refusal to stop a run in whose place the operator may start another one at any time."""
    return Superseded(
        f"Run {short_job(job_id)} was not stopped: the operator is about to start its job.",
        f"Expected {name} as it was carried out; found: {seen.why_started}.",
        "Suspend it there, or wait until it has started. Then collect evidence again and propose anew.",
    )


def stopped_by(before: FlinkResource, after: FlinkResource, job_id: JobId, *, keeps_checkpoints: bool) -> Stopped:
    """What a suspension has come to: how the run ended, and what it has left."""
    left = after.status.job.left_since(before.status.job)
    savepoint = left.path if left is not None and not left.is_checkpoint else None
    if before.has_ended and savepoint is None:
        why = f" ({before.why_started})" if before.why_started is not None else ""
        told = f"Run {short_job(job_id)} had ended already, and its job might have been started again{why}"
        return Stopped(sentence=f"{told}: it is suspended now.", savepoint=None)
    kept = f"its retained checkpoint {left.path} stays" if left is not None else "its retained checkpoints stay"
    how = f"with savepoint {savepoint}" if savepoint else f"without a savepoint; {kept}"
    if savepoint and keeps_checkpoints:
        how += ", though none was asked for; Flink deletes the checkpoints of a run that ends with one"
    return Stopped(
        sentence=f"Run {short_job(job_id)} was suspended by the operator {how}. It is {after.status.job.state}.",
        savepoint=savepoint,
    )
