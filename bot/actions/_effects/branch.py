"""Make a branch, repair rows on it, and drop it.

Each repair is one commit that compares the branch's head and carries its own mark.
"""

from abc import abstractmethod
from itertools import takewhile
from typing import TypeVar

from bot.actions._effects.handler import Clients, EffectHandler, EffectResult, Verification
from bot.actions._support.requirements import CurrentState
from bot.actions._support.staging import sized
from bot.incident.effects import ChangeFiles, DeleteRows, DropBranch, MakeBranch, Repair, ReplayRows
from bot.incident.entries import Check, EffectStarted
from bot.observation.errors import OutcomeUnknown, Superseded
from bot.observation.ids import SnapshotId, short
from bot.observation.sentences import counted
from bot.observation.table import REPAIR, TOOK_OUT, Snapshot, TableState
from bot.ports import FileChange, RowChange, RowReplay, TableChange


class DroppingBranch(EffectHandler[DropBranch]):
    """Compared with the head that was approved: a branch on which somebody has worked since is left alone."""

    uses_up = frozenset({"ref-is"})

    def describe(self, effect: DropBranch) -> str:
        return f"Remove branch {effect.branch}"

    def perform(self, effect: DropBranch, intent: EffectStarted, clients: Clients) -> EffectResult:
        """One commit that does not care where main is."""
        table = clients.catalog.load(effect.table)
        if table.ref(effect.branch) is None:
            return EffectResult(sentence=f"Branch {effect.branch} no longer exists: somebody has removed it.")
        clients.catalog.commit(
            effect.table,
            TableChange(
                expected_uuid=table.uuid,
                expected_head=None,
                expected_refs={effect.branch: effect.head},
                remove_refs=(effect.branch,),
            ),
        )
        return EffectResult(sentence=f"Branch {effect.branch} is removed; it was at {short(effect.head)}.")

    def verify(self, effect: DropBranch, intent: EffectStarted, clients: Clients) -> Verification:
        """By the branch: its name is never used again, so nobody else has made it anew."""
        at = clients.catalog.load(effect.table).ref(effect.branch)
        if at is None:
            return Verification(happened="yes", sentence=f"There is no branch {effect.branch}.")
        return Verification(happened="no", sentence=f"Branch {effect.branch} is at {short(at)}.")


class MakingBranch(EffectHandler[MakeBranch]):
    """At the head that was read when it was prepared; `main` must still be there when the commit comes."""

    uses_up = frozenset({"ref-is"})

    def describe(self, effect: MakeBranch) -> str:
        return f"Create branch {effect.branch}"

    def prepare(
        self, effect: MakeBranch, intent: EffectStarted, world: CurrentState, earlier: EffectStarted | None
    ) -> EffectStarted:
        """Fixes the head from which it begins."""
        return intent.model_copy(update={"expected_head": world.table.head})

    def perform(self, effect: MakeBranch, intent: EffectStarted, clients: Clients) -> EffectResult:
        """`result`: `base`, the snapshot from which the branch begins."""
        base = intent.expected_head
        assert base is not None
        table = clients.catalog.load(effect.table)
        clients.catalog.commit(
            effect.table, TableChange(expected_uuid=table.uuid, expected_head=base, new_branches={effect.branch: base})
        )
        return EffectResult(
            sentence=f"Branch {effect.branch} was created at {short(base)}.", result={"base": str(base)}
        )

    def verify(self, effect: MakeBranch, intent: EffectStarted, clients: Clients) -> Verification:
        """By the branch; it is named after the incident and the proposal, so nobody else makes it."""
        at = clients.catalog.load(effect.table).ref(effect.branch)
        if at is None:
            return Verification(happened="no", sentence=f"There is no branch {effect.branch}.")
        return Verification(
            happened="yes",
            sentence=f"Branch {effect.branch} is at {short(at)}.",
            result={"base": str(intent.expected_head)},
        )


R = TypeVar("R", ChangeFiles, DeleteRows, ReplayRows)
OF_INCIDENT = "waterline.incident"


class RepairOnBranch(EffectHandler[R]):
    """The branch's head is what the commit compares with; the mark in its summary tells afterwards that it happened."""

    @abstractmethod
    def told(self, effect: R) -> str:
        """What it did, one clause: `2 files with 20 rows taken out on branch recovery-wl-1`."""

    @abstractmethod
    def write(
        self, effect: R, table: TableState, head: SnapshotId, intent: EffectStarted, clients: Clients
    ) -> SnapshotId:
        """One commit on the branch, which is at `head`. Raises as `perform`."""

    def perform(self, effect: R, intent: EffectStarted, clients: Clients) -> EffectResult:
        """`result`: `snapshot`."""
        assert intent.expected_head is not None
        table = clients.catalog.load(effect.table)
        return self.did(effect, self.write(effect, table, intent.expected_head, intent, clients))

    def did(self, effect: R, made: SnapshotId) -> EffectResult:
        return EffectResult(sentence=f"{self.told(effect)}, as snapshot {short(made)}.", result={"snapshot": str(made)})

    def describe(self, effect: R) -> str:
        return f"{effect.why} on {effect.branch}"

    def prepare(
        self, effect: R, intent: EffectStarted, world: CurrentState, earlier: EffectStarted | None
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

    def verify(self, effect: R, intent: EffectStarted, clients: Clients) -> Verification:
        """By the mark, among the ancestors of the branch or, once it is published, of main."""
        made = marked(clients.catalog.load(effect.table), effect, intent)
        if made is None:
            return Verification(happened="no", sentence=f"Branch {effect.branch} has no such commit.")
        done = self.did(effect, made.snapshot_id)
        return Verification(happened="yes", sentence=done.sentence, result=done.result)

    def checks(self, effect: R, intent: EffectStarted, world: CurrentState) -> tuple[Check, ...]:
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


def mark_of(effect: Repair, intent: EffectStarted) -> dict[str, str]:
    """What the commit's summary says of where it comes from."""
    return {"engine-name": "waterline", REPAIR: _mark(intent), OF_INCIDENT: effect.incident}


def marked(table: TableState, effect: Repair, intent: EffectStarted) -> Snapshot | None:
    """The commit that bears the mark of this intent; None where there is none."""
    there = (*table.ancestors(table.ref(effect.branch)), *table.chain)
    return next((each for each in there if each.summary.get(REPAIR) == _mark(intent)), None)


def _mark(intent: EffectStarted) -> str:
    return f"{intent.proposal}/{intent.index}"


def _stranger(table: TableState, effect: Repair) -> Snapshot | None:
    """The newest commit of the branch above main's head that is no repair of this incident; the branch's own head
    where main is not below it at all."""
    newer: list[Snapshot] = []
    for snapshot in table.ancestors(table.ref(effect.branch)):
        if snapshot.snapshot_id == table.head:
            return next((each for each in newer if each.summary.get(OF_INCIDENT) != effect.incident), None)
        newer.append(snapshot)
    return newer[0] if newer else None


class DeletingRows(RepairOnBranch[DeleteRows]):
    """Exactly the places that were approved: no query is run again."""

    def told(self, effect: DeleteRows) -> str:
        rows, files = _rows(effect), len(effect.rows)
        return f"{counted(rows, 'row')} of {counted(files, 'file')} deleted on branch {effect.branch}"

    def write(
        self, effect: DeleteRows, table: TableState, head: SnapshotId, intent: EffectStarted, clients: Clients
    ) -> SnapshotId:
        summary = {**effect.carries, **mark_of(effect, intent)}
        change = RowChange(
            expected_uuid=table.uuid, ref=effect.branch, expected_head=head, rows=effect.rows, summary=summary
        )
        return clients.catalog.delete_rows(effect.table, change)

    def checks(self, effect: DeleteRows, intent: EffectStarted, world: CurrentState) -> tuple[Check, ...]:
        """As of any repair; and it deleted as many rows as were approved, by the commit's own count. A deletion vector
        of format 3 also holds the places of the one that it replaces: those were deleted before."""
        made = marked(world.table, effect, intent)
        counts = [made.counted(f"{how}-position-deletes") if made is not None else 0 for how in ("added", "removed")]
        deleted = counts[0] - counts[1]
        exact = Check(
            name="No other row was deleted",
            passed=deleted == _rows(effect),
            sentence=f"{deleted:,} rows were deleted by position; {_rows(effect):,} were approved.",
        )
        return (*super().checks(effect, intent, world), exact)


def _rows(effect: DeleteRows) -> int:
    return sum(each.rows for each in effect.rows)


class ReplayingRows(RepairOnBranch[ReplayRows]):
    """The rows are made anew; they are written only if they are those that were approved."""

    def told(self, effect: ReplayRows) -> str:
        return f"{counted(effect.replay.rows, 'row')} replayed from the source to branch {effect.branch}"

    def write(
        self, effect: ReplayRows, table: TableState, head: SnapshotId, intent: EffectStarted, clients: Clients
    ) -> SnapshotId:
        summary = mark_of(effect, intent)
        replay = RowReplay(ref=effect.branch, expected_head=head, replay=effect.replay, summary=summary)
        clients.replays.write(table, replay)
        made = marked(clients.catalog.load(effect.table), effect, intent)
        if made is None:
            raise OutcomeUnknown(
                f"Spark reports the rows on branch {effect.branch}, but the table does not show their commit.",
                "Expected a commit with this effect's mark; found none.",
                "Check that Spark and Waterline use the same catalog (`spark.catalog` in the configuration file).",
            )
        return made.snapshot_id

    def checks(self, effect: ReplayRows, intent: EffectStarted, world: CurrentState) -> tuple[Check, ...]:
        """As of any repair; and it wrote as many rows as were approved, on the very head that was looked at."""
        made = marked(world.table, effect, intent)
        written = made.counted("added-records") if made is not None else 0
        stands = made is not None and made.parent_id == intent.expected_head
        exact = Check(
            name="Exactly the approved rows were written",
            passed=written == effect.replay.rows and stands,
            sentence=f"{counted(written, 'row')} written, {effect.replay.rows:,} approved"
            + ("." if stands else ", but not on the head that was checked."),
        )
        return (*super().checks(effect, intent, world), exact)


class ChangingFiles(RepairOnBranch[ChangeFiles]):
    """No data is written."""

    def told(self, effect: ChangeFiles) -> str:
        said = [
            f"{sized(files)} {verb}" for files, verb in ((effect.add, "added"), (effect.remove, "removed")) if files
        ]
        return " and ".join(said) + f" on branch {effect.branch}"

    def write(
        self, effect: ChangeFiles, table: TableState, head: SnapshotId, intent: EffectStarted, clients: Clients
    ) -> SnapshotId:
        change = FileChange(
            expected_uuid=table.uuid,
            ref=effect.branch,
            expected_head=head,
            add=effect.add,
            remove=effect.remove,
            summary={**_carried(effect, table, head), **_taken_out(effect), **mark_of(effect, intent)},
        )
        return clients.catalog.change_files(effect.table, change)


def _carried(effect: ChangeFiles, table: TableState, base: SnapshotId) -> dict[str, str]:
    """Whether Flink has committed since the approval is known only now: its stop itself may."""
    if effect.gone_on is None:
        return effect.carries
    approved = effect.gone_on.above
    newer = takewhile(lambda s: s.snapshot_id != approved, table.ancestors(base))
    return effect.gone_on.carries if any(s.job_id is not None for s in newer) else effect.carries


def _taken_out(effect: ChangeFiles) -> dict[str, str]:
    taken = effect.remove.sources.taken_out_of if effect.remove and not effect.remove.sources.only_unreadable else ()
    return {TOOK_OUT: ",".join(map(str, taken))} if taken else {}
