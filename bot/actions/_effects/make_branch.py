"""Begin the branch on which a repair is rehearsed."""

from bot.actions._effects.kind import Did, Hands, Kind, Looked
from bot.actions._requirements import World
from bot.domain.effects import MakeBranch
from bot.domain.entries import EffectStarted
from bot.domain.ids import short
from bot.ports import TableChange


class MakingBranch(Kind[MakeBranch]):
    """At the head that was read when it was prepared; `main` must still be there when the commit comes."""

    uses_up = frozenset({"ref-is"})

    def describe(self, effect: MakeBranch) -> str:
        return f"Create branch {effect.branch}"

    def prepare(
        self,
        effect: MakeBranch,  # noqa: ARG002 - that the name is free was checked with the requirements
        intent: EffectStarted,
        world: World,
        earlier: EffectStarted | None,  # noqa: ARG002 - the head may have moved since
    ) -> EffectStarted:
        """Fixes the head from which it begins."""
        return intent.model_copy(update={"expected_head": world.table.head})

    def perform(self, effect: MakeBranch, intent: EffectStarted, hands: Hands) -> Did:
        """`result`: `base`, the snapshot from which the branch begins."""
        base = intent.expected_head
        assert base is not None
        table = hands.catalog.load(effect.table)
        hands.catalog.commit(
            effect.table, TableChange(expected_uuid=table.uuid, expected_head=base, new_branches={effect.branch: base})
        )
        return Did(sentence=f"Branch {effect.branch} was created at {short(base)}.", result={"base": str(base)})

    def verify(self, effect: MakeBranch, intent: EffectStarted, hands: Hands) -> Looked:
        """By the branch; it is named after the incident and the proposal, so nobody else makes it."""
        at = hands.catalog.load(effect.table).ref(effect.branch)
        if at is None:
            return Looked(happened="no", sentence=f"There is no branch {effect.branch}.")
        return Looked(
            happened="yes",
            sentence=f"Branch {effect.branch} is at {short(at)}.",
            result={"base": str(intent.expected_head)},
        )
