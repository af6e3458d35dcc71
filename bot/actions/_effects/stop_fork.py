"""Stop one of two runs that write the table; the other goes on."""

from bot.actions._effects.kind import Did, Hands, Kind, Looked
from bot.actions._effects.stop_job import StoppingJob
from bot.actions._requirements import World
from bot.domain.effects import StopFork, StopJob
from bot.domain.entries import Check, EffectStarted
from bot.domain.errors import CouldNotLook
from bot.domain.ids import short_job
from bot.domain.requirements import Requirement, RunIsCurrent
from bot.domain.table import TableState

_ALONE = StoppingJob()


class StoppingFork(Kind[StopFork]):
    """As StopJob does it; what must hold afterwards differs."""

    uses_up = frozenset({"runs-alive"})

    def leaves(self, effect: StopFork) -> tuple[Requirement, ...]:
        """From then on only the other may write."""
        return (RunIsCurrent(job=effect.job, job_id=effect.keeps),)

    def describe(self, effect: StopFork) -> str:
        """See Kind."""
        return f"Stop run {short_job(effect.job_id)}, keep run {short_job(effect.keeps)}"

    def perform(self, effect: StopFork, intent: EffectStarted, hands: Hands) -> Did:
        """`result`: `savepoint`, if one was taken."""
        return _ALONE.perform(StopJob(job=effect.job, job_id=effect.job_id), intent, hands)

    def verify(self, effect: StopFork, intent: EffectStarted, hands: Hands) -> Looked:
        """By the run's state."""
        return _ALONE.verify(StopJob(job=effect.job, job_id=effect.job_id), intent, hands)

    def may_yet(self, effect: StopFork, hands: Hands) -> str | None:
        """As of any stop."""
        return _ALONE.may_yet(StopJob(job=effect.job, job_id=effect.job_id), hands)

    def on_table(self, effect: StopFork, table: TableState) -> str:
        """See Kind."""
        return _ALONE.on_table(StopJob(job=effect.job, job_id=effect.job_id), table)

    def checks(self, effect: StopFork, intent: EffectStarted, world: World) -> tuple[Check, ...]:  # noqa: ARG002
        """The one has ended, the other lives."""
        name = f"Only run {short_job(effect.keeps)} of {effect.job} is alive"
        try:
            live = world.live(effect.job)
        except CouldNotLook as error:
            return (Check(name=name, passed=None, sentence=str(error)),)
        found = ", ".join(short_job(job_id) for job_id in live) or "none"
        return (Check(name=name, passed=live == [effect.keeps], sentence=f"Alive: {found}."),)
