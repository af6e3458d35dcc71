"""Add and remove references to data files on the branch of a rehearsal, by one commit that carries its own mark."""

from bot.actions._effects.kind import Did, Hands, Kind, Looked
from bot.actions._requirements import World
from bot.domain.effects import ChangeFiles
from bot.domain.entries import Check, EffectStarted
from bot.domain.errors import Superseded
from bot.domain.file_changes import FileList
from bot.domain.ids import short
from bot.domain.table import REPAIR, TOOK_OUT, Snapshot, TableState
from bot.ports import FileChange

OF_INCIDENT = "waterline.incident"


class ChangingFiles(Kind[ChangeFiles]):
    """The branch's head is what the commit compares with; the mark in its summary tells afterwards that it happened."""

    def describe(self, effect: ChangeFiles) -> str:
        """See Kind."""
        return f"{effect.why} on {effect.branch}"

    def prepare(
        self,
        effect: ChangeFiles,
        intent: EffectStarted,
        world: World,
        earlier: EffectStarted | None,  # noqa: ARG002 - nothing can have moved the branch but that intent
    ) -> EffectStarted:
        """Fixes the branch's head. Raises Superseded where it is not there or carries commits of others."""
        table = world.table
        head = table.ref(effect.branch)
        stranger = None if head is None else _stranger(table, effect)
        if head is None or stranger is not None:
            found = f"{short(stranger.snapshot_id)} is on it" if stranger else "there is no such branch"
            raise Superseded(
                f"Branch {effect.branch} of {effect.table} is not as it was made.",
                f"Expected main's head and repairs of {effect.incident} on top of it; {found}.",
                "The repair was not made, and main is as it was. Look at who changed the branch, then propose anew.",
            )
        return intent.model_copy(update={"expected_head": head})

    def perform(self, effect: ChangeFiles, intent: EffectStarted, hands: Hands) -> Did:
        """One commit. `result`: `snapshot`."""
        assert intent.expected_head is not None
        made = hands.catalog.change_files(
            effect.table,
            FileChange(
                expected_uuid=hands.catalog.load(effect.table).uuid,
                ref=effect.branch,
                expected_head=intent.expected_head,
                add=effect.add,
                remove=effect.remove,
                summary=_summary(effect, intent),
            ),
        )
        return Did(sentence=f"{_told(effect)}, as snapshot {short(made)}.", result={"snapshot": str(made)})

    def verify(self, effect: ChangeFiles, intent: EffectStarted, hands: Hands) -> Looked:
        """By the mark, among the ancestors of the branch or, once it is published, of main."""
        made = _marked(hands.catalog.load(effect.table), effect, intent)
        if made is None:
            return Looked(happened="no", sentence=f"Branch {effect.branch} carries no such commit.")
        return Looked(
            happened="yes",
            sentence=f"{_told(effect)}, as snapshot {short(made.snapshot_id)}.",
            result={"snapshot": str(made.snapshot_id)},
        )

    def checks(self, effect: ChangeFiles, intent: EffectStarted, world: World) -> tuple[Check, ...]:
        """The repair is on the branch, and nothing but repairs lies between it and main."""
        made = _marked(world.table, effect, intent)
        stranger = _stranger(world.table, effect)
        return (
            Check(
                name=f"Branch {effect.branch} is main and the repair",
                passed=made is not None and stranger is None,
                sentence=f"It is at {short(world.table.ref(effect.branch))}, main at {short(world.table.head)}.",
            ),
        )


def _summary(effect: ChangeFiles, intent: EffectStarted) -> dict[str, str]:
    taken = effect.remove.sources.added_by if effect.remove and not effect.remove.sources.only_unreadable else ()
    said = {TOOK_OUT: ",".join(map(str, taken))} if taken else {}
    ours = {"engine-name": "waterline", REPAIR: _mark(intent), OF_INCIDENT: effect.incident}
    return {**effect.carries, **said, **ours}


def _mark(intent: EffectStarted) -> str:
    return f"{intent.proposal}/{intent.index}"


def _marked(table: TableState, effect: ChangeFiles, intent: EffectStarted) -> Snapshot | None:
    there = (*table.ancestors(table.ref(effect.branch)), *table.chain)
    return next((each for each in there if each.summary.get(REPAIR) == _mark(intent)), None)


def _stranger(table: TableState, effect: ChangeFiles) -> Snapshot | None:
    """The newest commit of the branch above main's head that is no repair of this incident; the branch's own head
    where main is not below it at all."""
    newer: list[Snapshot] = []
    for snapshot in table.ancestors(table.ref(effect.branch)):
        if snapshot.snapshot_id == table.head:
            return next((each for each in newer if each.summary.get(OF_INCIDENT) != effect.incident), None)
        newer.append(snapshot)
    return newer[0] if newer else None


def _told(effect: ChangeFiles) -> str:
    said = [
        f"{_counted(files)} {verb}" for files, verb in ((effect.add, "added"), (effect.remove, "taken out")) if files
    ]
    return " and ".join(said) + f" on branch {effect.branch}"


def _counted(files: FileList) -> str:
    return f"{files.files:,} {'file' if files.files == 1 else 'files'} with {files.rows:,} rows"
