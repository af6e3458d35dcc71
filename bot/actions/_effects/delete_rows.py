"""Delete rows by file and place on the branch of a rehearsal, by one commit that carries its own mark."""

from bot.actions._effects.kind import Did, Hands
from bot.actions._effects.repair_on_branch import RepairOnBranch, mark_of, marked
from bot.actions._requirements import World
from bot.domain.effects import DeleteRows
from bot.domain.entries import Check, EffectStarted
from bot.domain.sentences import counted
from bot.ports import RowChange


class DeletingRows(RepairOnBranch[DeleteRows]):
    """Exactly the places that were approved: no query is run again."""

    def told(self, effect: DeleteRows) -> str:
        rows, files = _rows(effect), len(effect.rows)
        return f"{counted(rows, 'row')} of {counted(files, 'file')} deleted on branch {effect.branch}"

    def perform(self, effect: DeleteRows, intent: EffectStarted, hands: Hands) -> Did:
        """One commit. `result`: `snapshot`."""
        assert intent.expected_head is not None
        made = hands.catalog.delete_rows(
            effect.table,
            RowChange(
                expected_uuid=hands.catalog.load(effect.table).uuid,
                ref=effect.branch,
                expected_head=intent.expected_head,
                rows=effect.rows,
                summary={**effect.carries, **mark_of(effect, intent)},
            ),
        )
        return self.did(effect, made)

    def checks(self, effect: DeleteRows, intent: EffectStarted, world: World) -> tuple[Check, ...]:
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
