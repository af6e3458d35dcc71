"""Remove the branch of a rehearsal that is not needed any more."""

from bot.actions._effects.kind import Did, Hands, Kind, Looked
from bot.domain.effects import DropBranch
from bot.domain.entries import EffectStarted
from bot.domain.ids import short
from bot.ports import TableChange


class DroppingBranch(Kind[DropBranch]):
    """Compared with the head that was approved: a branch on which somebody has worked since is left alone."""

    uses_up = frozenset({"ref-is"})

    def describe(self, effect: DropBranch) -> str:
        return f"Remove branch {effect.branch}"

    def perform(self, effect: DropBranch, intent: EffectStarted, hands: Hands) -> Did:  # noqa: ARG002 - nothing is fixed
        """One commit that does not care where main is."""
        table = hands.catalog.load(effect.table)
        if table.ref(effect.branch) is None:
            return Did(sentence=f"Branch {effect.branch} no longer exists: somebody has removed it.")
        hands.catalog.commit(
            effect.table,
            TableChange(
                expected_uuid=table.uuid,
                expected_head=None,
                expected_refs={effect.branch: effect.head},
                remove_refs=(effect.branch,),
            ),
        )
        return Did(sentence=f"Branch {effect.branch} is removed; it was at {short(effect.head)}.")

    def verify(self, effect: DropBranch, intent: EffectStarted, hands: Hands) -> Looked:  # noqa: ARG002
        """By the branch: its name is never used again, so nobody else has made it anew."""
        at = hands.catalog.load(effect.table).ref(effect.branch)
        if at is None:
            return Looked(happened="yes", sentence=f"There is no branch {effect.branch}.")
        return Looked(happened="no", sentence=f"Branch {effect.branch} is at {short(at)}.")
