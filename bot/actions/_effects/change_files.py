"""Add and remove references to data files on the branch of a rehearsal, by one commit that carries its own mark."""

from itertools import takewhile

from bot.actions._effects.kind import Did, Hands
from bot.actions._effects.repair_on_branch import RepairOnBranch, mark_of
from bot.domain.effects import ChangeFiles
from bot.domain.entries import EffectStarted
from bot.domain.file_changes import FileList
from bot.domain.ids import SnapshotId
from bot.domain.sentences import counted
from bot.domain.table import TOOK_OUT, TableState
from bot.ports import FileChange


class ChangingFiles(RepairOnBranch[ChangeFiles]):
    """No data is written."""

    def told(self, effect: ChangeFiles) -> str:
        said = [
            f"{_counted(files)} {verb}" for files, verb in ((effect.add, "added"), (effect.remove, "removed")) if files
        ]
        return " and ".join(said) + f" on branch {effect.branch}"

    def perform(self, effect: ChangeFiles, intent: EffectStarted, hands: Hands) -> Did:
        """One commit. `result`: `snapshot`."""
        assert intent.expected_head is not None
        table = hands.catalog.load(effect.table)
        carries = _carried(effect, table, intent.expected_head)
        made = hands.catalog.change_files(
            effect.table,
            FileChange(
                expected_uuid=table.uuid,
                ref=effect.branch,
                expected_head=intent.expected_head,
                add=effect.add,
                remove=effect.remove,
                summary={**carries, **_taken_out(effect), **mark_of(effect, intent)},
            ),
        )
        return self.did(effect, made)


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


def _counted(files: FileList) -> str:
    return f"{counted(files.files, 'file')} with {counted(files.rows, 'row')}"
