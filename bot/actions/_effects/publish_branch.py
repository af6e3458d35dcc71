"""Make a repair that was proven on its branch the state of `main`."""

from bot.actions._effects.kind import Did, Hands, Kind, Looked
from bot.actions._requirements import World
from bot.domain.effects import PublishBranch
from bot.domain.entries import Check, EffectStarted
from bot.domain.ids import short
from bot.domain.requirements import HeadDescends, Requirement
from bot.ports import TableChange


class PublishingBranch(Kind[PublishBranch]):
    """A fast-forward: compares `main` with where the branch began, and the branch with what was proven."""

    uses_up = frozenset({"head-descends", "ref-is"})

    def leaves(self, effect: PublishBranch) -> tuple[Requirement, ...]:
        """From then on nobody may have committed."""
        return (HeadDescends(head=effect.head, job_id=None),)

    def describe(self, effect: PublishBranch) -> str:
        return f"Publish branch {effect.branch}"

    def perform(self, effect: PublishBranch, intent: EffectStarted, hands: Hands) -> Did:  # noqa: ARG002
        """One commit moves main, tags what it leaves and what must not expire, and removes the branch where policy says
        so."""
        table = hands.catalog.load(effect.table)
        hands.catalog.commit(
            effect.table,
            TableChange(
                expected_uuid=table.uuid,
                expected_head=effect.base,
                expected_refs={effect.branch: effect.head},
                move_main_to=effect.head,
                new_tags={effect.keep_head_as: effect.base, **effect.keeps},
                remove_refs=(effect.branch,) if effect.drop_branch else (),
            ),
        )
        return Did(sentence=_moved(effect), result={"left": str(effect.base)})

    def verify(self, effect: PublishBranch, intent: EffectStarted, hands: Hands) -> Looked:  # noqa: ARG002
        """By the tag: it was set by the very commit that moved main."""
        table = hands.catalog.load(effect.table)
        if table.ref(effect.keep_head_as) == effect.base and effect.head in table.chain_ids:
            return Looked(happened="yes", sentence=_moved(effect), result={"left": str(effect.base)})
        return Looked(
            happened="no", sentence=f"main is at {short(table.head)} and tag {effect.keep_head_as} is not there."
        )

    def checks(self, effect: PublishBranch, intent: EffectStarted, world: World) -> tuple[Check, ...]:  # noqa: ARG002
        return (
            Check(
                name="The repair is part of main",
                passed=effect.head in world.table.chain_ids,
                sentence=f"main is at {short(world.table.head)}; the repair is snapshot {short(effect.head)}.",
            ),
            *(
                Check(
                    name=f"Tag {tag} keeps snapshot {short(snapshot)}",
                    passed=world.table.ref(tag) == snapshot,
                    sentence=f"Tag {tag} is on {short(world.table.ref(tag))}.",
                )
                for tag, snapshot in effect.keeps.items()
            ),
        )


def _moved(effect: PublishBranch) -> str:
    return (
        f"main moved from {short(effect.base)} to {short(effect.head)}; the state left behind is tag "
        f"{effect.keep_head_as}."
    )
