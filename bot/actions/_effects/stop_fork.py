"""Stop one of two runs that write the table; the other goes on."""

from bot.actions._effects.kind import Did, Hands, Kind, Looked
from bot.actions._effects.stop_job import StoppingJob
from bot.actions._requirements import World
from bot.domain.effects import StopFork, StopJob
from bot.domain.entries import Check, EffectStarted
from bot.domain.errors import CouldNotLook
from bot.domain.ids import short_job
from bot.domain.requirements import NobodyWrites, Requirement, RunIsCurrent
from bot.domain.table import TableState

_ALONE = StoppingJob()


class StoppingFork(Kind[StopFork]):
    """As StopJob does it; what must hold afterwards differs."""

    uses_up = frozenset({"runs-alive", "run-is-current"})

    def leaves(self, effect: StopFork) -> tuple[Requirement, ...]:
        """From then on only the other may write."""
        kept = RunIsCurrent(job=effect.keeps_of or effect.job, job_id=effect.keeps)
        return (kept,) if effect.keeps_of is None else (kept, NobodyWrites(job=effect.job))

    def describe(self, effect: StopFork) -> str:
        one, other = short_job(effect.job_id), short_job(effect.keeps)
        if effect.keeps_of is None:
            return f"Stop run {one}, keep run {other}"
        return f"Stop run {one} of {effect.job}, keep run {other} of {effect.keeps_of}"

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
        return _ALONE.on_table(StopJob(job=effect.job, job_id=effect.job_id), table)

    def checks(self, effect: StopFork, intent: EffectStarted, world: World) -> tuple[Check, ...]:  # noqa: ARG002
        kept = effect.keeps_of or effect.job
        beside = "" if kept == effect.job else f", and none of {effect.job}"
        name = f"Only run {short_job(effect.keeps)} of {kept} is alive{beside}"
        try:
            live = [run for job in dict.fromkeys((kept, effect.job)) for run in world.live(job)]
        except CouldNotLook as error:
            return (Check(name=name, passed=None, sentence=str(error)),)
        found = ", ".join(short_job(job_id) for job_id in live) or "none"
        return (Check(name=name, passed=live == [effect.keeps], sentence=f"Alive: {found}."),)
