"""Start the job from a restore point, exactly once."""

import uuid
from collections.abc import Mapping

from bot.actions._effects._left_behind import other_operator, source_kept
from bot.actions._effects.kind import Did, Hands, Kind, Looked
from bot.actions._requirements import World
from bot.domain.effects import StartJob
from bot.domain.entries import Check, EffectStarted
from bot.domain.errors import CouldNotLook
from bot.domain.ids import JobId, SnapshotId, short, short_job
from bot.domain.table import Snapshot, TableState
from bot.ports import FlinkJobs, JobPorts


class StartingJob(Kind[StartJob]):
    """The job id is chosen before the request, and Flink accepts an id once: that makes it exactly one run."""

    uses_up = frozenset({"restore-point-intact", "nobody-writes", "head-descends", "start-possible", "sibling-spared"})

    def describe(self, effect: StartJob) -> str:
        """See Kind."""
        return f"Start from checkpoint {effect.checkpoint_id}"

    def prepare(
        self,
        effect: StartJob,  # noqa: ARG002 - the restore point was checked with the requirements
        intent: EffectStarted,
        world: World,  # noqa: ARG002
        earlier: EffectStarted | None,
    ) -> EffectStarted:
        """An earlier intent's id is used again: should that request still arrive, Flink takes only one of the two."""
        job_id = earlier.job_id if earlier else None
        return intent.model_copy(update={"job_id": job_id or JobId(uuid.uuid4().hex)})

    def perform(self, effect: StartJob, intent: EffectStarted, hands: Hands) -> Did:
        """`result`: `job_id`."""
        assert intent.job_id is not None
        flink = hands.jobs[effect.job].flink
        flink.start(
            effect.job,
            effect.path,
            intent.job_id,
            allow_non_restored=effect.allow_non_restored,
            uid_suffix=effect.uid_suffix,
        )
        return Did(
            sentence=f"Run {short_job(intent.job_id)} started from checkpoint {effect.checkpoint_id}.",
            result={"job_id": intent.job_id},
        )

    def verify(self, effect: StartJob, intent: EffectStarted, hands: Hands) -> Looked:
        """By the id."""
        assert intent.job_id is not None
        run = hands.jobs[effect.job].flink.run(intent.job_id)
        if run is None:
            return Looked(happened="no", sentence=f"Flink does not know run {short_job(intent.job_id)}.")
        return Looked(
            happened="yes",
            sentence=f"Run {short_job(intent.job_id)} is {run.state}.",
            result={"job_id": intent.job_id},
        )

    def awaits(
        self, effect: StartJob, intent: EffectStarted, jobs: Mapping[str, JobPorts]
    ) -> tuple[JobId, SnapshotId] | None:
        """See Kind."""
        if intent.job_id is None or effect.on_top_of is None:
            return None
        return own_id(jobs[effect.job].flink, intent.job_id), effect.on_top_of

    def checks(self, effect: StartJob, intent: EffectStarted, world: World) -> tuple[Check, ...]:
        """The first commit is the next checkpoint on the snapshot that pairs; the run lives and was restored there."""
        assert intent.job_id is not None
        run = _run_check(effect, intent.job_id, world)
        if effect.on_top_of is None:
            return (run,)
        job_id = own_id(world.jobs[effect.job].flink, intent.job_id)
        next_one = commit_check(world.table, effect, effect.on_top_of, job_id)
        if not (effect.allow_non_restored and effect.uid_suffix):
            return next_one, run
        commits = commits_after(world.table, effect.on_top_of, job_id)
        other = other_operator(effect, tuple(world.table.ancestors(effect.on_top_of)), commits, job_id)
        return next_one, other, source_kept(effect, intent.job_id, world), run


def own_id(flink: FlinkJobs, asked: JobId) -> JobId:
    """The id under which the run commits: `asked`, or the one that the cluster chose for that start (an operator
    chooses its own). `asked` where Flink cannot be asked: then its commits are not found, and that is said."""
    try:
        run = flink.run(asked)
    except CouldNotLook:
        return asked
    return run.job_id if run is not None else asked


def commits_after(table: TableState, base: SnapshotId, job_id: JobId) -> tuple[Snapshot, ...]:
    """Commits of run `job_id` on main after `base`, oldest first."""
    kept = {s.snapshot_id for s in table.ancestors(base)}
    return tuple(s for s in reversed(table.chain) if s.snapshot_id not in kept and s.job_id == job_id)


def commit_check(table: TableState, effect: StartJob, base: SnapshotId, job_id: JobId) -> Check:
    """The next commit must be the next checkpoint, on top of the snapshot that pairs."""
    expected = effect.checkpoint_id + 1
    name = f"The next commit is checkpoint {expected}, on top of {short(base)}"
    commits = commits_after(table, base, job_id)
    if not commits:
        return Check(name=name, passed=False, sentence=f"Run {short_job(job_id)} has not committed yet.")
    first = commits[0]
    ids = ", ".join(str(s.checkpoint_id) for s in commits[:6])
    return Check(
        name=name,
        passed=first.checkpoint_id == expected and first.parent_id == base,
        sentence=f"Run {short_job(job_id)} committed checkpoints {ids} on top of {short(first.parent_id)}.",
    )


def _run_check(effect: StartJob, job_id: JobId, world: World) -> Check:
    name = f"The job runs from checkpoint {effect.checkpoint_id}"
    try:
        run = world.jobs[effect.job].flink.run(job_id)
    except CouldNotLook as error:
        return Check(name=name, passed=None, sentence=str(error))
    if run is None or run.restored is None:
        return Check(name=name, passed=False, sentence=f"Run {short_job(job_id)} shows no restore.")
    passed = run.restored.checkpoint_id == effect.checkpoint_id and not run.is_terminal
    found = f"Run {short_job(job_id)} is {run.state}, restored from checkpoint {run.restored.checkpoint_id}."
    return Check(name=name, passed=passed, sentence=found)
