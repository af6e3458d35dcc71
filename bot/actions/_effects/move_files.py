"""Move files that nothing names into a folder that keeps them, or back from it."""

from bot.actions._effects.kind import Did, Hands, Kind, Looked
from bot.domain.effects import MoveFiles
from bot.domain.entries import EffectStarted
from bot.domain.errors import Superseded
from bot.domain.file_changes import FileSources


class MovingFiles(Kind[MoveFiles]):
    """Doing it twice is the same as doing it once: a file that has arrived is passed over."""

    def describe(self, effect: MoveFiles) -> str:
        """See Kind."""
        return effect.why

    def perform(self, effect: MoveFiles, intent: EffectStarted, hands: Hands) -> Did:  # noqa: ARG002 - nothing is fixed
        """The list of moves is written first. A file that main names by now stops all of them."""
        sources = FileSources(paths=tuple(source for source, _ in effect.moves))
        named = hands.catalog.survey_files(effect.table, "main", add=None, remove=sources, columns=()).remove
        if named is not None:
            raise Superseded(
                f"{named.files} of the files to be moved are part of the table by now.",
                "Expected none of them to be named by main; somebody has committed them since.",
                "No file was moved. Collect evidence again.",
            )
        moved = hands.files.move(effect.table, effect.moves, effect.note)
        return Did(sentence=f"{moved} of {len(effect.moves)} files moved; the list is {effect.note}.")

    def verify(self, effect: MoveFiles, intent: EffectStarted, hands: Hands) -> Looked:  # noqa: ARG002
        """By the files themselves; what was moved in part is moved on."""
        there = hands.files.written_at([path for pair in effect.moves for path in pair])
        arrived = sum(target in there and source not in there for source, target in effect.moves)
        sentence = f"{arrived} of {len(effect.moves)} files are at their new place."
        return Looked(happened="yes" if arrived == len(effect.moves) else "no", sentence=sentence)
