"""What all repairs on a branch have in common: one commit that compares the branch's head and carries its own mark."""

from abc import abstractmethod
from typing import TypeVar

from bot.actions._effects.kind import Did, Hands, Kind, Looked
from bot.actions._requirements import World
from bot.domain.effects import ChangeFiles, DeleteRows, ReplayRows
from bot.domain.entries import Check, EffectStarted
from bot.domain.errors import Superseded
from bot.domain.ids import SnapshotId, short
from bot.domain.table import REPAIR, Snapshot, TableState

R = TypeVar("R", ChangeFiles, DeleteRows, ReplayRows)
OF_INCIDENT = "waterline.incident"


class RepairOnBranch(Kind[R]):
    """The branch's head is what the commit compares with; the mark in its summary tells afterwards that it happened."""

    @abstractmethod
    def told(self, effect: R) -> str:
        """What it did, one clause: `2 files with 20 rows taken out on branch recovery-wl-1`."""

    def did(self, effect: R, made: SnapshotId) -> Did:
        """What its commit did. `result`: `snapshot`."""
        return Did(sentence=f"{self.told(effect)}, as snapshot {short(made)}.", result={"snapshot": str(made)})

    def describe(self, effect: R) -> str:
        return f"{effect.why} on {effect.branch}"

    def prepare(
        self,
        effect: R,
        intent: EffectStarted,
        world: World,
        earlier: EffectStarted | None,  # noqa: ARG002 - nothing can have moved the branch but that intent
    ) -> EffectStarted:
        """Fixes the branch's head. Raises Superseded where it is not there or carries commits of others, and where this
        very repair is made by now: its commit came after the last look."""
        table = world.table
        made = marked(table, effect, intent)
        if made is not None:
            raise Superseded(
                f"This repair of {effect.table} is already done.",
                f"Expected no commit of it yet; {short(made.snapshot_id)} has its mark.",
                "Nothing is repeated and nothing needs to be done.",
            )
        head = table.ref(effect.branch)
        stranger = None if head is None else _stranger(table, effect)
        if head is None or stranger is not None:
            found = f"{short(stranger.snapshot_id)} is on it" if stranger else "there is no such branch"
            raise Superseded(
                f"Branch {effect.branch} of {effect.table} was changed since it was created.",
                f"Expected main's head and repairs of {effect.incident} on top of it; {found}.",
                "The repair was not made, and main did not change. Find out who changed the branch, then propose "
                "again.",
            )
        return intent.model_copy(update={"expected_head": head})

    def verify(self, effect: R, intent: EffectStarted, hands: Hands) -> Looked:
        """By the mark, among the ancestors of the branch or, once it is published, of main."""
        made = marked(hands.catalog.load(effect.table), effect, intent)
        if made is None:
            return Looked(happened="no", sentence=f"Branch {effect.branch} has no such commit.")
        done = self.did(effect, made.snapshot_id)
        return Looked(happened="yes", sentence=done.sentence, result=done.result)

    def checks(self, effect: R, intent: EffectStarted, world: World) -> tuple[Check, ...]:
        """The repair is on the branch, and nothing but repairs lies between it and main."""
        made = marked(world.table, effect, intent)
        stranger = _stranger(world.table, effect)
        return (
            Check(
                name=f"Branch {effect.branch} has nothing but main and the repair",
                passed=made is not None and stranger is None,
                sentence=f"It is at {short(world.table.ref(effect.branch))}, main at {short(world.table.head)}.",
            ),
        )


def mark_of(effect: ChangeFiles | DeleteRows | ReplayRows, intent: EffectStarted) -> dict[str, str]:
    """What the commit's summary says of where it comes from."""
    return {"engine-name": "waterline", REPAIR: _mark(intent), OF_INCIDENT: effect.incident}


def marked(table: TableState, effect: ChangeFiles | DeleteRows | ReplayRows, intent: EffectStarted) -> Snapshot | None:
    """The commit that bears the mark of this intent; None where there is none."""
    there = (*table.ancestors(table.ref(effect.branch)), *table.chain)
    return next((each for each in there if each.summary.get(REPAIR) == _mark(intent)), None)


def _mark(intent: EffectStarted) -> str:
    return f"{intent.proposal}/{intent.index}"


def _stranger(table: TableState, effect: ChangeFiles | DeleteRows | ReplayRows) -> Snapshot | None:
    """The newest commit of the branch above main's head that is no repair of this incident; the branch's own head
    where main is not below it at all."""
    newer: list[Snapshot] = []
    for snapshot in table.ancestors(table.ref(effect.branch)):
        if snapshot.snapshot_id == table.head:
            return next((each for each in newer if each.summary.get(OF_INCIDENT) != effect.incident), None)
        newer.append(snapshot)
    return newer[0] if newer else None
