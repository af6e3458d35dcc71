"""Stop a run for good, keeping its last state."""

from bot.actions._effects.kind import Did, Hands, Kind, Looked
from bot.domain.effects import StopJob
from bot.domain.entries import EffectStarted
from bot.domain.ids import short_job
from bot.domain.requirements import NobodyWrites, Requirement


class StoppingJob(Kind[StopJob]):
    """Stop-with-savepoint, never drained, where the run is settled; else cancel."""

    uses_up = frozenset({"run-is-current", "plan-counts"})

    def leaves(self, effect: StopJob) -> tuple[Requirement, ...]:
        """From then on nobody may write."""
        return (NobodyWrites(job=effect.job),)

    def describe(self, effect: StopJob) -> str:
        """See Kind."""
        return f"Stop run {short_job(effect.job_id)}"

    def perform(self, effect: StopJob, intent: EffectStarted, hands: Hands) -> Did:  # noqa: ARG002 - nothing is fixed
        """`result`: `savepoint`, if one was taken."""
        stopped = hands.jobs[effect.job].flink.stop(effect.job, effect.job_id)
        return Did(sentence=stopped.sentence, result={"savepoint": stopped.savepoint} if stopped.savepoint else {})

    def verify(self, effect: StopJob, intent: EffectStarted, hands: Hands) -> Looked:  # noqa: ARG002
        """By the run's state."""
        run = hands.jobs[effect.job].flink.run(effect.job_id)
        name = f"Run {short_job(effect.job_id)}"
        if run is None:
            return Looked(happened="unknown", sentence=f"Flink does not know {name[0].lower()}{name[1:]} any more.")
        return Looked(happened="yes" if run.is_terminal else "no", sentence=f"{name} is {run.state}.")
