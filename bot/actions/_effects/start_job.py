"""Start the job from a restore point, exactly once."""

import uuid
from datetime import timedelta

from bot.actions._effects._left_behind import other_operator, source_kept
from bot.actions._effects._started import (
    commit_check,
    commits_after,
    goes_on_check,
    owed_check,
    own_id,
    run_check,
    standing,
)
from bot.actions._effects.kind import Awaited, Did, Hands, Kind, Looked
from bot.actions._requirements import World
from bot.domain.effects import StartJob
from bot.domain.entries import Check, EffectStarted
from bot.domain.errors import CouldNotLook
from bot.domain.ids import JobId, short_job


class StartingJob(Kind[StartJob]):
    """The job id is chosen before the request, and Flink accepts an id once: that makes it exactly one run."""

    uses_up = frozenset({"restore-point-intact", "nobody-writes", "head-descends", "start-possible", "sibling-spared"})

    def describe(self, effect: StartJob) -> str:
        return f"Start from checkpoint {effect.checkpoint_id}"

    def prepare(
        self,
        effect: StartJob,  # noqa: ARG002 - the restore point was checked with the requirements
        intent: EffectStarted,
        world: World,
        earlier: EffectStarted | None,
    ) -> EffectStarted:
        """Fixes job id and head. An earlier intent's id is used again: should that request still arrive, Flink takes
        only one of the two."""
        job_id = (earlier.job_id if earlier else None) or JobId(uuid.uuid4().hex)
        return intent.model_copy(update={"job_id": job_id, "expected_head": world.table.head})

    def perform(self, effect: StartJob, intent: EffectStarted, hands: Hands) -> Did:
        """`result`: `job_id`, and `run`, the id under which the run commits."""
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
            result={"job_id": intent.job_id, "run": own_id(flink, intent.job_id)},
        )

    def verify(self, effect: StartJob, intent: EffectStarted, hands: Hands) -> Looked:
        """By the id. One that is not there was not started only if nobody may start it yet by what was asked for."""
        assert intent.job_id is not None
        flink = hands.jobs[effect.job].flink
        run = flink.run(intent.job_id)
        if run is None:
            missing = f"Flink does not know run {short_job(intent.job_id)}."
            asked = flink.still_asked_to_start(intent.job_id)
            if asked is None:
                return Looked(happened="no", sentence=missing)
            return Looked(happened="unknown", sentence=f"{missing} {asked}")
        return Looked(
            happened="yes",
            sentence=f"Run {short_job(intent.job_id)} is {run.state}.",
            result={"job_id": intent.job_id, "run": run.job_id},
        )

    def awaits(self, effect: StartJob, intent: EffectStarted, world: World) -> Awaited | None:
        """That the run has settled, has brought what was owed, and has committed twice: the second commit shows that
        the first was not the last. Nothing of a run that has ended."""
        assert intent.job_id is not None
        try:
            run = world.jobs[effect.job].flink.run(intent.job_id)
        except CouldNotLook as error:
            return Awaited(sentence=str(error))
        if run is None:
            return Awaited(sentence=f"Flink does not know run {short_job(intent.job_id)} yet.")
        if run.is_terminal:
            return None
        every = timedelta(milliseconds=run.checkpoint_interval_ms) if run.checkpoint_interval_ms else None
        if not run.is_settled:
            return Awaited(sentence=standing(run), every=every)
        open_ones = [check for check in _progress(effect, intent.job_id, run.job_id, world) if not check.passed]
        has_committed = effect.on_top_of and commits_after(world.table, effect.on_top_of, run.job_id)
        if open_ones and not has_committed:
            return Awaited(sentence=open_ones[0].sentence, every=every)
        if not has_committed or len(has_committed) > 1:
            return None
        return Awaited(sentence=f"Run {short_job(run.job_id)} has committed once.", is_needed=False)

    def checks(self, effect: StartJob, intent: EffectStarted, world: World) -> tuple[Check, ...]:
        """What was owed is there, the first commit stands on the snapshot that pairs, the run was restored there, runs,
        and has gone on."""
        assert intent.job_id is not None
        job_id = own_id(world.jobs[effect.job].flink, intent.job_id)
        found = (*_progress(effect, intent.job_id, job_id, world), run_check(effect, intent.job_id, world))
        if effect.on_top_of is None or not (effect.allow_non_restored and effect.uid_suffix):
            return found
        commits = commits_after(world.table, effect.on_top_of, job_id)
        other = other_operator(effect, tuple(world.table.ancestors(effect.on_top_of)), commits, job_id)
        return *found[:-1], other, source_kept(effect, intent.job_id, world), found[-1]


def _progress(effect: StartJob, asked: JobId, own: JobId, world: World) -> tuple[Check, ...]:
    if effect.on_top_of is not None:
        return (commit_check(effect, effect.on_top_of, own, world),)
    owed = owed_check(effect, own, world.table)
    return *([owed] if owed is not None else []), goes_on_check(effect, asked, world)
