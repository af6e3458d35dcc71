"""Make a repair that was proven on its branch the state of `main`."""

from bot.actions._effects.kind import Did, Hands, Kind, Looked
from bot.actions._requirements import World
from bot.domain.effects import DropBranch, MakeBranch, PublishBranch
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

    def perform(self, effect: PublishBranch, intent: EffectStarted, hands: Hands) -> Did:
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

    def verify(self, effect: PublishBranch, intent: EffectStarted, hands: Hands) -> Looked:
        """By the tag: it was set by the very commit that moved main."""
        table = hands.catalog.load(effect.table)
        if table.ref(effect.keep_head_as) == effect.base and effect.head in table.chain_ids:
            return Looked(happened="yes", sentence=_moved(effect), result={"left": str(effect.base)})
        return Looked(
            happened="no", sentence=f"main is at {short(table.head)} and tag {effect.keep_head_as} is not there."
        )

    def checks(self, effect: PublishBranch, intent: EffectStarted, world: World) -> tuple[Check, ...]:
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


class DroppingBranch(Kind[DropBranch]):
    """Compared with the head that was approved: a branch on which somebody has worked since is left alone."""

    uses_up = frozenset({"ref-is"})

    def describe(self, effect: DropBranch) -> str:
        return f"Remove branch {effect.branch}"

    def perform(self, effect: DropBranch, intent: EffectStarted, hands: Hands) -> Did:
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

    def verify(self, effect: DropBranch, intent: EffectStarted, hands: Hands) -> Looked:
        """By the branch: its name is never used again, so nobody else has made it anew."""
        at = hands.catalog.load(effect.table).ref(effect.branch)
        if at is None:
            return Looked(happened="yes", sentence=f"There is no branch {effect.branch}.")
        return Looked(happened="no", sentence=f"Branch {effect.branch} is at {short(at)}.")


class MakingBranch(Kind[MakeBranch]):
    """At the head that was read when it was prepared; `main` must still be there when the commit comes."""

    uses_up = frozenset({"ref-is"})

    def describe(self, effect: MakeBranch) -> str:
        return f"Create branch {effect.branch}"

    def prepare(
        self, effect: MakeBranch, intent: EffectStarted, world: World, earlier: EffectStarted | None
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
