"""Freeze the table's maintenance, first of all: what is to be compared and gone back to must stay."""

from bot.actions._effects.kind import Did, Hands, Kind, Looked
from bot.actions._maintenance import freeze_change, frozen_by, stays_frozen_for
from bot.actions._marking import commit_marks
from bot.actions._requirements import World
from bot.domain.effects import FreezeMaintenance
from bot.domain.entries import EffectStarted


class FreezingMaintenance(Kind[FreezeMaintenance]):
    """Doing it twice is the same as doing it once. The thaw is a duty of the incident's end, not of the proposal."""

    def describe(self, effect: FreezeMaintenance) -> str:  # noqa: ARG002 - there is one table
        return "Freeze maintenance"

    def prepare(
        self,
        effect: FreezeMaintenance,  # noqa: ARG002
        intent: EffectStarted,
        world: World,  # noqa: ARG002
        earlier: EffectStarted | None,  # noqa: ARG002
    ) -> EffectStarted:
        """From this intent on compactions may be paused."""
        return intent.model_copy(update={"pauses": True})

    def perform(self, effect: FreezeMaintenance, intent: EffectStarted, hands: Hands) -> Did:  # noqa: ARG002
        """Compactions are asked to pause; then one commit of properties that does not care how far the writer has
        come. Its sign on the table says that both were done. Where it fails, the incident owes it to the compactions to
        let them go on, from this effect's intent on."""
        paused = hands.schedulers.pause(effect.table)
        changed = commit_marks(hands.catalog, effect.table, lambda table: freeze_change(table, effect.incident))
        done = "are stopped (gc.enabled=false) until the incident is closed" if changed else "were stopped already"
        return Did(sentence=" ".join([f"Expiry and orphan removal {done}.", *paused]))

    def verify(self, effect: FreezeMaintenance, intent: EffectStarted, hands: Hands) -> Looked:  # noqa: ARG002
        """By the sign on the table, and by what keeps it from expiry."""
        table = hands.catalog.load(effect.table)
        if not stays_frozen_for(table, effect.incident):
            return Looked(happened="no", sentence="Maintenance is not stopped for this incident.")
        return Looked(happened="yes", sentence=f"Maintenance is stopped, by {frozen_by(table) or 'hand'}.")
