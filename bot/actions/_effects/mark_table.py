"""Tags and properties of a table in one commit: freeze and thaw of maintenance, protection of a snapshot."""

from bot.actions._effects.kind import Did, Hands, Kind, Looked
from bot.actions._requirements import World
from bot.domain.effects import MarkTable
from bot.domain.entries import Check, EffectStarted
from bot.domain.ids import short
from bot.domain.table import TableState
from bot.ports import TableChange


class MarkingTable(Kind[MarkTable]):
    """Doing it twice is the same as doing it once: what it leads to is what is looked at."""

    def describe(self, effect: MarkTable) -> str:
        """See Kind."""
        return effect.why

    def perform(self, effect: MarkTable, intent: EffectStarted, hands: Hands) -> Did:  # noqa: ARG002 - nothing is fixed
        """One commit that does not care how far the writer has come. `result`: `property KEY` -> its value before."""
        table = hands.catalog.load(effect.table)
        touched = (*effect.set_properties, *effect.remove_properties)
        before = {f"property {key}": table.properties[key] for key in touched if key in table.properties}
        if not _missing(effect, table):
            return Did(sentence=f"{effect.why}: it is so already.", result=before)
        hands.catalog.commit(
            effect.table,
            TableChange(
                expected_uuid=table.uuid,
                expected_head=None,
                new_tags=effect.new_tags,
                remove_refs=effect.remove_tags,
                set_properties=effect.set_properties,
                remove_properties=effect.remove_properties,
            ),
        )
        return Did(sentence=f"{effect.why}: {_told(effect)}.", result=before)

    def verify(self, effect: MarkTable, intent: EffectStarted, hands: Hands) -> Looked:  # noqa: ARG002
        """By what the table carries."""
        missing = _missing(effect, hands.catalog.load(effect.table))
        if missing:
            return Looked(happened="no", sentence=f"Not so: {missing[0]}.")
        return Looked(happened="yes", sentence=f"The table carries it: {_told(effect)}.")

    def checks(self, effect: MarkTable, intent: EffectStarted, world: World) -> tuple[Check, ...]:  # noqa: ARG002
        """Only new tags are checked: a property may rightly have been set back since."""
        return tuple(
            Check(
                name=f"Tag {tag} keeps snapshot {short(snapshot)}",
                passed=world.table.ref(tag) == snapshot,
                sentence=f"Tag {tag} is on {short(world.table.ref(tag))}.",
            )
            for tag, snapshot in effect.new_tags.items()
        )


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
