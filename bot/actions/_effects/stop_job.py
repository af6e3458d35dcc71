"""Stop a run for good, keeping its last state."""

from contextlib import suppress

from bot.actions._effects.kind import Did, Hands, Kind, Looked
from bot.domain.effects import StopJob
from bot.domain.entries import EffectStarted
from bot.domain.errors import CouldNotLook
from bot.domain.ids import short_job
from bot.domain.requirements import NobodyWrites, Requirement
from bot.domain.sentences import clock_time
from bot.domain.table import TableState


class StoppingJob(Kind[StopJob]):
    """Stop-with-savepoint, never drained, where the run is settled; else cancel, but never of state that is needed.

    Always a cancel where what follows starts from a checkpoint of the run: Flink deletes it after a savepoint."""

    uses_up = frozenset({"run-is-current", "plan-counts"})

    def leaves(self, effect: StopJob) -> tuple[Requirement, ...]:
        """From then on nobody may write."""
        return (NobodyWrites(job=effect.job),)

    def describe(self, effect: StopJob) -> str:
        return f"Stop run {short_job(effect.job_id)}"

    def perform(self, effect: StopJob, intent: EffectStarted, hands: Hands) -> Did:  # noqa: ARG002 - nothing is fixed
        """`result`: `savepoint`, if one was taken. What the run may have owned is left the time to go, so that the
        requirements of what follows find it gone."""
        ports = hands.jobs[effect.job]
        stopped = ports.flink.stop(
            effect.job, effect.job_id, needs_state=effect.needs_state, keeps_checkpoints=effect.keeps_checkpoints
        )
        if effect.may_delete is not None:
            with suppress(CouldNotLook):  # the requirement is looked at once more, and says so
                ports.checkpoints.outlasts(effect.may_delete)
        return Did(sentence=stopped.sentence, result={"savepoint": stopped.savepoint} if stopped.savepoint else {})

    def verify(self, effect: StopJob, intent: EffectStarted, hands: Hands) -> Looked:  # noqa: ARG002
        """By the run's state, as the cluster tells it, else as the history server remembers it. One that goes on was
        not stopped only if nobody may stop it yet by what was asked for."""
        ports, short = hands.jobs[effect.job], short_job(effect.job_id)
        run = ports.flink.run(effect.job_id)
        if run is not None:
            asked = None if run.is_terminal else ports.flink.still_asked_to_stop(effect.job_id)
            if asked is not None:
                return Looked(happened="unknown", sentence=f"Run {short} is {run.state}. {asked}")
            return Looked(happened="yes" if run.is_terminal else "no", sentence=f"Run {short} is {run.state}.")
        past = ports.history.past_run(effect.job_id) if ports.history is not None else None
        if past is not None and past.is_terminal:
            return Looked(happened="yes", sentence=f"Run {short} is {past.state}, by the history server.")
        alive = [short_job(each.job_id) for each in ports.flink.runs(effect.job) if not each.is_terminal]
        history = (
            "and neither does its history server"
            if ports.history is not None
            else "and no history server is configured"
        )
        return Looked(
            happened="unknown",
            sentence=f"Flink does not know run {short} any more, {history}. Alive under the name {effect.job}: "
            f"{', '.join(alive) or 'no run'}.",
        )

    def may_yet(self, effect: StopJob, hands: Hands) -> str | None:
        """A savepoint that takes longer than anybody has waited."""
        return hands.jobs[effect.job].flink.stop_at_work(effect.job_id)

    def on_table(self, effect: StopJob, table: TableState) -> str:
        """When it committed last: a run that was not stopped would go on."""
        name = f"Run {short_job(effect.job_id)}"
        last = next((snapshot for snapshot in table.chain if snapshot.job_id == effect.job_id), None)
        if last is None:
            return f"{name} has no commit on main."
        at = clock_time(last.committed_at, table.read_at, seconds=True)
        return f"{name} committed last at {at} (checkpoint {last.checkpoint_id}) and has not committed since."
