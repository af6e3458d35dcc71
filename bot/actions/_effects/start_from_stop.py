"""Start the job from the state that its stop has left, once it is proven that this state pairs with the head."""

from bot.actions._effects.kind import Awaited, Did, Hands, Kind, Looked
from bot.actions._effects.start_job import StartingJob
from bot.actions._requirements import World
from bot.actions._stopped_state import asked_before, newest_that_pairs
from bot.domain.effects import StartFromStop, StartJob
from bot.domain.entries import Check, EffectStarted
from bot.domain.ids import short_job
from bot.domain.requirements import Requirement

_STARTING = StartingJob()


class StartingFromStop(Kind[StartFromStop]):
    """The restore point is looked for on storage, after the stop: what Flink said of it may have been lost."""

    uses_up = _STARTING.uses_up

    def asks(self, requirement: Requirement) -> Requirement:
        """See Kind: a commit that does not bind matters to no start."""
        return asked_before(requirement)

    def describe(self, effect: StartFromStop) -> str:
        return f"Start from where run {short_job(effect.job_id)} stopped"

    def prepare(
        self, effect: StartFromStop, intent: EffectStarted, world: World, earlier: EffectStarted | None
    ) -> EffectStarted:
        """Fixes restore point, head and job id. Raises Superseded where nothing of the run pairs with the head."""
        point = newest_that_pairs(world, effect.job, effect.job_id, effect.stands_on)
        chosen = {"path": point.path, "checkpoint_id": point.checkpoint_id, "expected_head": world.table.head}
        fixed = intent.model_copy(update=chosen)
        return _STARTING.prepare(_as_start(effect, fixed), fixed, world, earlier)

    def perform(self, effect: StartFromStop, intent: EffectStarted, hands: Hands) -> Did:
        """`result`: as of a start."""
        return _STARTING.perform(_as_start(effect, intent), intent, hands)

    def verify(self, effect: StartFromStop, intent: EffectStarted, hands: Hands) -> Looked:
        """By the id."""
        return _STARTING.verify(_as_start(effect, intent), intent, hands)

    def awaits(self, effect: StartFromStop, intent: EffectStarted, world: World) -> Awaited | None:
        """As of any start."""
        return _STARTING.awaits(_as_start(effect, intent), intent, world)

    def checks(self, effect: StartFromStop, intent: EffectStarted, world: World) -> tuple[Check, ...]:
        """As of any start."""
        return _STARTING.checks(_as_start(effect, intent), intent, world)


def _as_start(effect: StartFromStop, intent: EffectStarted) -> StartJob:
    assert intent.path is not None
    assert intent.checkpoint_id is not None
    return StartJob(
        job=effect.job,
        path=intent.path,
        checkpoint_id=intent.checkpoint_id,
        on_top_of=intent.expected_head,
        uid_suffix=effect.uid_suffix,
    )
