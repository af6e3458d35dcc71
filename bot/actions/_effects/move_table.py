"""Move `main` back by one compare-and-swap that also tags what it leaves."""

from bot.actions._effects.kind import Did, Hands, Kind, Looked
from bot.actions._requirements import World
from bot.domain.effects import MoveTable
from bot.domain.entries import EffectStarted
from bot.domain.ids import short
from bot.domain.requirements import HeadDescends, Requirement
from bot.ports import TableChange


class MovingTable(Kind[MoveTable]):
    """The head that was read after the writer stood still is what the commit compares with."""

    uses_up = frozenset({"head-descends"})

    def leaves(self, effect: MoveTable) -> tuple[Requirement, ...]:
        """From then on nobody may have committed."""
        return (HeadDescends(head=effect.to, job_id=None),)

    def describe(self, effect: MoveTable) -> str:
        return f"Move main to {short(effect.to)}"

    def prepare(
        self, effect: MoveTable, intent: EffectStarted, world: World, earlier: EffectStarted | None
    ) -> EffectStarted:
        """Fixes the head that is compared with."""
        return intent.model_copy(update={"expected_head": world.table.head})

    def perform(self, effect: MoveTable, intent: EffectStarted, hands: Hands) -> Did:
        """One commit; none if main is there already, by an earlier request that landed late or by somebody else."""
        head = intent.expected_head
        assert head is not None
        table = hands.catalog.load(effect.table)
        if table.head == effect.to:
            is_ours = table.ref(effect.keep_head_as) == head
            return Did(
                sentence=f"main is already at {short(effect.to)}.", result={"left": str(head)} if is_ours else {}
            )
        after = hands.catalog.commit(
            effect.table,
            TableChange(
                expected_uuid=table.uuid,
                expected_head=head,
                move_main_to=effect.to,
                new_tags={effect.keep_head_as: head},
            ),
        )
        return Did(
            sentence=f"main moved from {short(head)} to {short(after.head)}; the state left behind is tag "
            f"{effect.keep_head_as}.",
            result={"left": str(head)},
        )

    def verify(self, effect: MoveTable, intent: EffectStarted, hands: Hands) -> Looked:
        """By the tag: it was set by the very commit that moved main."""
        table = hands.catalog.load(effect.table)
        if table.ref(effect.keep_head_as) == intent.expected_head and effect.to in table.chain_ids:
            return Looked(
                happened="yes",
                sentence=f"main is at {short(table.head)} and tag {effect.keep_head_as} is there.",
                result={"left": str(intent.expected_head)},
            )
        return Looked(
            happened="no", sentence=f"main is at {short(table.head)} and tag {effect.keep_head_as} is not there."
        )
