"""Tags and properties of a table in one commit: freeze and thaw of maintenance, protection of a snapshot.

Freeze the table's maintenance, first of all: what is to be compared and gone back to must stay.
"""

from bot.actions._effects.kind import Did, Hands, Kind, Looked
from bot.actions._maintenance import commit_marks, freeze_change, frozen_by, stays_frozen_for
from bot.actions._requirements import World
from bot.domain.effects import FreezeMaintenance, MarkTable
from bot.domain.entries import PROPERTY, TAG, Check, EffectStarted
from bot.domain.ids import short
from bot.domain.table import TableState
from bot.ports import TableChange


class MarkingTable(Kind[MarkTable]):
    """Doing it twice is the same as doing it once: what it leads to is what is looked at."""

    def describe(self, effect: MarkTable) -> str:
        return effect.why

    def prepare(
        self, effect: MarkTable, intent: EffectStarted, world: World, earlier: EffectStarted | None
    ) -> EffectStarted:
        """Fixes what is replaced, so that an undo knows it after a crash, too."""
        return intent.model_copy(update={"before": _replaced(effect, world.table)})

    def perform(self, effect: MarkTable, intent: EffectStarted, hands: Hands) -> Did:
        """One commit that does not care how far the writer has come. `result`: what was there before, as in
        the intent."""

        def change(table: TableState) -> TableChange | None:
            if not _missing(effect, table):
                return None
            return TableChange(
                expected_uuid=table.uuid,
                expected_head=None,
                new_tags=effect.new_tags,
                remove_refs=effect.remove_tags,
                set_properties=effect.set_properties,
                remove_properties=effect.remove_properties,
            )

        changed = commit_marks(hands.catalog, effect.table, change)
        said = f"{_told(effect)}." if changed else "already done."
        return Did(sentence=f"{effect.why}: {said}", result=intent.before)

    def verify(self, effect: MarkTable, intent: EffectStarted, hands: Hands) -> Looked:
        """By what the table carries."""
        missing = _missing(effect, hands.catalog.load(effect.table))
        if missing:
            return Looked(happened="no", sentence=f"Not done: {missing[0]}.")
        return Looked(happened="yes", sentence=f"The table has {_told(effect)}.", result=intent.before)

    def checks(self, effect: MarkTable, intent: EffectStarted, world: World) -> tuple[Check, ...]:
        """Only new tags are checked: a property may rightly have been set back since."""
        return tuple(
            Check(
                name=f"Tag {tag} keeps snapshot {short(snapshot)}",
                passed=world.table.ref(tag) == snapshot,
                sentence=f"Tag {tag} is on {short(world.table.ref(tag))}.",
            )
            for tag, snapshot in effect.new_tags.items()
        )


def _replaced(effect: MarkTable, table: TableState) -> dict[str, str]:
    properties = (*effect.set_properties, *effect.remove_properties)
    tags = {tag: table.ref(tag) for tag in (*effect.new_tags, *effect.remove_tags)}
    return {
        **{f"{PROPERTY}{key}": table.properties[key] for key in properties if key in table.properties},
        **{f"{TAG}{tag}": str(snapshot) for tag, snapshot in tags.items() if snapshot is not None},
    }


def _missing(effect: MarkTable, table: TableState) -> list[str]:
    """What of the effect the table does not carry."""
    refs = {ref.name for ref in table.refs}
    return [
        *(f"tag {tag} is on {short(table.ref(tag))}" for tag, s in effect.new_tags.items() if table.ref(tag) != s),
        *(f"tag {tag} is still there" for tag in effect.remove_tags if tag in refs),
        *(
            f"property {key} is {table.properties.get(key, 'not set')}"
            for key, value in effect.set_properties.items()
            if table.properties.get(key) != value
        ),
        *(f"property {key} is still set" for key in effect.remove_properties if key in table.properties),
    ]


def _told(effect: MarkTable) -> str:
    said = [
        *(f"tag {tag} on {short(snapshot)}" for tag, snapshot in effect.new_tags.items()),
        *(f"no tag {tag}" for tag in effect.remove_tags),
        *(f"{key}={value}" for key, value in effect.set_properties.items()),
        *(f"no property {key}" for key in effect.remove_properties),
    ]
    return ", ".join(said)


class FreezingMaintenance(Kind[FreezeMaintenance]):
    """Doing it twice is the same as doing it once. The thaw is a duty of the incident's end, not of the proposal."""

    def describe(self, effect: FreezeMaintenance) -> str:
        return "Freeze maintenance"

    def prepare(
        self, effect: FreezeMaintenance, intent: EffectStarted, world: World, earlier: EffectStarted | None
    ) -> EffectStarted:
        """From this intent on compactions may be paused."""
        return intent.model_copy(update={"pauses": True})

    def perform(self, effect: FreezeMaintenance, intent: EffectStarted, hands: Hands) -> Did:
        """Compactions are asked to pause; then one commit of properties that does not care how far the writer has
        come. Its sign on the table says that both were done. Where it fails, the incident owes it to the compactions to
        let them go on, from this effect's intent on."""
        paused = hands.schedulers.pause(effect.table)
        changed = commit_marks(hands.catalog, effect.table, lambda table: freeze_change(table, effect.incident))
        done = "are stopped (gc.enabled=false) until the incident is closed" if changed else "were stopped already"
        return Did(sentence=" ".join([f"Expiry and orphan removal {done}.", *paused]))

    def verify(self, effect: FreezeMaintenance, intent: EffectStarted, hands: Hands) -> Looked:
        """By the sign on the table, and by what keeps it from expiry."""
        table = hands.catalog.load(effect.table)
        if not stays_frozen_for(table, effect.incident):
            return Looked(happened="no", sentence="Maintenance is not stopped for this incident.")
        return Looked(happened="yes", sentence=f"Maintenance is stopped, by {frozen_by(table) or 'hand'}.")
