"""Set tags, freeze maintenance, and move `main` by one compare-and-swap that tags what it leaves."""

from bot.actions._effects.handler import Clients, EffectHandler, EffectResult, Verification, tag_check
from bot.actions._support.maintenance import commit_marks, freeze_change, frozen_by, stays_frozen_for
from bot.actions._support.requirements import CurrentState
from bot.incident.effects import FreezeMaintenance, MarkTable, MoveTable, PublishBranch
from bot.incident.entries import Check, EffectStarted
from bot.incident.proposal import HeadDescends, Requirement
from bot.observation.ids import SnapshotId, TableName, short
from bot.observation.table import TableState
from bot.ports import TableCatalog, TableChange


class MarkingTable(EffectHandler[MarkTable]):
    """Doing it twice is the same as doing it once: what it leads to is what is looked at."""

    def describe(self, effect: MarkTable) -> str:
        return effect.why

    def prepare(
        self, effect: MarkTable, intent: EffectStarted, world: CurrentState, earlier: EffectStarted | None
    ) -> EffectStarted:
        """Fixes what is replaced, so that an undo knows it after a crash, too."""
        tags = {tag: world.table.ref(tag) for tag in (*effect.new_tags, *effect.remove_tags)}
        there = {tag: snapshot for tag, snapshot in tags.items() if snapshot is not None}
        return intent.model_copy(update={"before": there})

    def perform(self, effect: MarkTable, intent: EffectStarted, clients: Clients) -> EffectResult:
        """One commit that does not care how far the writer has come."""

        def change(table: TableState) -> TableChange | None:
            if not _missing(effect, table):
                return None
            return TableChange(
                expected_uuid=table.uuid,
                expected_head=None,
                new_tags=effect.new_tags,
                remove_refs=effect.remove_tags,
            )

        changed = commit_marks(clients.catalog, effect.table, change)
        said = f"{_told(effect)}." if changed else "already done."
        return EffectResult(sentence=f"{effect.why}: {said}")

    def verify(self, effect: MarkTable, intent: EffectStarted, clients: Clients) -> Verification:
        """By what the table carries."""
        missing = _missing(effect, clients.catalog.load(effect.table))
        if missing:
            return Verification(happened="no", sentence=f"Not done: {missing[0]}.")
        return Verification(happened="yes", sentence=f"The table has {_told(effect)}.")

    def checks(self, effect: MarkTable, intent: EffectStarted, world: CurrentState) -> tuple[Check, ...]:
        return tuple(tag_check(tag, snapshot, world.table) for tag, snapshot in effect.new_tags.items())


def _missing(effect: MarkTable, table: TableState) -> list[str]:
    """What of the effect the table does not carry."""
    refs = {ref.name for ref in table.refs}
    return [
        *(f"tag {tag} is on {short(table.ref(tag))}" for tag, s in effect.new_tags.items() if table.ref(tag) != s),
        *(f"tag {tag} is still there" for tag in effect.remove_tags if tag in refs),
    ]


def _told(effect: MarkTable) -> str:
    tags = [f"tag {tag} on {short(snapshot)}" for tag, snapshot in effect.new_tags.items()]
    return ", ".join((*tags, *(f"no tag {tag}" for tag in effect.remove_tags)))


class FreezingMaintenance(EffectHandler[FreezeMaintenance]):
    """Doing it twice is the same as doing it once. The unfreeze belongs to the incident's end."""

    def describe(self, effect: FreezeMaintenance) -> str:
        return "Freeze maintenance"

    def perform(self, effect: FreezeMaintenance, intent: EffectStarted, clients: Clients) -> EffectResult:
        """One commit of properties that does not care how far the writer has come."""
        changed = commit_marks(clients.catalog, effect.table, lambda table: freeze_change(table, effect.incident))
        done = "are stopped (gc.enabled=false) until the incident is closed" if changed else "were stopped already"
        return EffectResult(sentence=f"Expiry and orphan removal {done}.")

    def verify(self, effect: FreezeMaintenance, intent: EffectStarted, clients: Clients) -> Verification:
        """By the sign on the table, and by what keeps it from expiry."""
        table = clients.catalog.load(effect.table)
        if not stays_frozen_for(table, effect.incident):
            return Verification(happened="no", sentence="Maintenance is not stopped for this incident.")
        return Verification(happened="yes", sentence=f"Maintenance is stopped, by {frozen_by(table) or 'hand'}.")


def _has_moved(
    catalog: TableCatalog, table: TableName, to: SnapshotId, left: SnapshotId | None, tag: str
) -> Verification:
    """By the tag: it is set by the very commit that moves main."""
    now = catalog.load(table)
    if now.ref(tag) == left and to in now.chain_ids:
        return Verification(happened="yes", sentence=_moved(left, to, tag), result={"left": str(left)})
    return Verification(happened="no", sentence=f"main is at {short(now.head)} and tag {tag} is not there.")


def _moved(left: SnapshotId | None, to: SnapshotId, tag: str) -> str:
    return f"main moved from {short(left)} to {short(to)}; the state left behind is tag {tag}."


class MovingTable(EffectHandler[MoveTable]):
    """The head that was read after the writer stood still is what the commit compares with."""

    uses_up = frozenset({"head-descends"})

    def leaves(self, effect: MoveTable) -> tuple[Requirement, ...]:
        """From then on nobody may have committed."""
        return (HeadDescends(head=effect.to, job_id=None),)

    def describe(self, effect: MoveTable) -> str:
        return f"Move main to {short(effect.to)}"

    def prepare(
        self, effect: MoveTable, intent: EffectStarted, world: CurrentState, earlier: EffectStarted | None
    ) -> EffectStarted:
        """Fixes the head that is compared with."""
        return intent.model_copy(update={"expected_head": world.table.head})

    def perform(self, effect: MoveTable, intent: EffectStarted, clients: Clients) -> EffectResult:
        """One commit; none if main is there already, by an earlier request that landed late or by somebody else."""
        head = intent.expected_head
        assert head is not None
        table = clients.catalog.load(effect.table)
        if table.head == effect.to:
            is_ours = table.ref(effect.keep_head_as) == head
            return EffectResult(
                sentence=f"main is already at {short(effect.to)}.", result={"left": str(head)} if is_ours else {}
            )
        clients.catalog.commit(
            effect.table,
            TableChange(
                expected_uuid=table.uuid,
                expected_head=head,
                move_main_to=effect.to,
                new_tags={effect.keep_head_as: head},
            ),
        )
        return EffectResult(sentence=_moved(head, effect.to, effect.keep_head_as), result={"left": str(head)})

    def verify(self, effect: MoveTable, intent: EffectStarted, clients: Clients) -> Verification:
        return _has_moved(clients.catalog, effect.table, effect.to, intent.expected_head, effect.keep_head_as)


class PublishingBranch(EffectHandler[PublishBranch]):
    """A fast-forward: compares `main` with where the branch began, and the branch with what was proven."""

    uses_up = frozenset({"head-descends", "ref-is"})

    def leaves(self, effect: PublishBranch) -> tuple[Requirement, ...]:
        """From then on nobody may have committed."""
        return (HeadDescends(head=effect.head, job_id=None),)

    def describe(self, effect: PublishBranch) -> str:
        return f"Publish branch {effect.branch}"

    def perform(self, effect: PublishBranch, intent: EffectStarted, clients: Clients) -> EffectResult:
        """One commit moves main, tags what it leaves and what must not expire, and removes the branch where policy says
        so."""
        clients.catalog.commit(
            effect.table,
            TableChange(
                expected_uuid=clients.catalog.load(effect.table).uuid,
                expected_head=effect.base,
                expected_refs={effect.branch: effect.head},
                move_main_to=effect.head,
                new_tags={effect.keep_head_as: effect.base, **effect.keeps},
                remove_refs=(effect.branch,) if effect.drop_branch else (),
            ),
        )
        moved = _moved(effect.base, effect.head, effect.keep_head_as)
        return EffectResult(sentence=moved, result={"left": str(effect.base)})

    def verify(self, effect: PublishBranch, intent: EffectStarted, clients: Clients) -> Verification:
        return _has_moved(clients.catalog, effect.table, effect.head, effect.base, effect.keep_head_as)

    def checks(self, effect: PublishBranch, intent: EffectStarted, world: CurrentState) -> tuple[Check, ...]:
        is_there = Check(
            name="The repair is part of main",
            passed=effect.head in world.table.chain_ids,
            sentence=f"main is at {short(world.table.head)}; the repair is snapshot {short(effect.head)}.",
        )
        return is_there, *(tag_check(tag, snapshot, world.table) for tag, snapshot in effect.keeps.items())
