"""Write rows that are made once more from the source to the branch of a rehearsal, by one commit with its own mark."""

from bot.actions._effects.kind import Did, Hands
from bot.actions._effects.repair_on_branch import RepairOnBranch, mark_of, marked
from bot.actions._requirements import World
from bot.domain.effects import ReplayRows
from bot.domain.entries import Check, EffectStarted
from bot.domain.errors import OutcomeUnknown
from bot.domain.sentences import counted
from bot.ports import RowReplay


class ReplayingRows(RepairOnBranch[ReplayRows]):
    """The rows are made anew; they are written only if they are those that were approved."""

    def told(self, effect: ReplayRows) -> str:
        return f"{counted(effect.replay.rows, 'row')} replayed from the source to branch {effect.branch}"

    def perform(self, effect: ReplayRows, intent: EffectStarted, hands: Hands) -> Did:
        """One commit by Spark. `result`: `snapshot`."""
        assert intent.expected_head is not None
        hands.replays.write(
            hands.catalog.load(effect.table),
            RowReplay(
                ref=effect.branch,
                expected_head=intent.expected_head,
                replay=effect.replay,
                summary=mark_of(effect, intent),
            ),
        )
        made = marked(hands.catalog.load(effect.table), effect, intent)
        if made is None:
            raise OutcomeUnknown(
                f"Spark reports the rows on branch {effect.branch}, but the table does not show their commit.",
                "Expected a commit with this effect's mark; found none.",
                "Check that Spark and Waterline use the same catalog (`spark.catalog` in the configuration file).",
            )
        return self.did(effect, made.snapshot_id)

    def checks(self, effect: ReplayRows, intent: EffectStarted, world: World) -> tuple[Check, ...]:
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
