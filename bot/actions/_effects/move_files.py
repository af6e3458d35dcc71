"""Move files that nothing names into a folder that keeps them, or back from it."""

from collections.abc import Mapping, Sequence

from bot.actions._effects.kind import Did, Hands, Kind, Looked
from bot.domain.effects import MoveFiles
from bot.domain.entries import EffectStarted
from bot.domain.errors import Superseded
from bot.domain.file_changes import MovedFiles
from bot.domain.paths import told_apart


class MovingFiles(Kind[MoveFiles]):
    """Doing it twice is the same as doing it once: a file that has arrived is passed over."""

    def describe(self, effect: MoveFiles) -> str:
        return effect.why

    def perform(self, effect: MoveFiles, intent: EffectStarted, hands: Hands) -> Did:
        """The list of moves is written first. A file that main, another branch or a tag names by now stops all of them.
        `result`: `moved`, how many are at their new place."""
        _must_be_named_by_nothing(effect, hands)
        moved = hands.files.move(effect.table, effect.moves, effect.note)
        return Did(sentence=_put_aside(effect, moved), result={"moved": str(moved.arrived)})

    def verify(self, effect: MoveFiles, intent: EffectStarted, hands: Hands) -> Looked:
        """By the files themselves; what was moved in part is moved on. `result`: `moved`, if any was."""
        there = hands.files.written_at(effect.table, [path for pair in effect.moves for path in pair])
        left = tuple(source for source, _ in effect.moves if source in there)
        gone = tuple(source for source, target in effect.moves if source not in there and target not in there)
        moved = MovedFiles(arrived=len(effect.moves) - len(left) - len(gone), gone=gone, left=left)
        return Looked(
            happened="no" if left else "yes",
            sentence=_put_aside(effect, moved),
            result={"moved": str(moved.arrived)} if moved.arrived else {},
        )


def _must_be_named_by_nothing(effect: MoveFiles, hands: Hands) -> None:
    """Raises Superseded: a repair on its branch, or what an undo goes back to, may have come to need one."""
    sources = [source for source, _ in effect.moves]
    heads = {ref.snapshot_id: ref.name for ref in hands.catalog.load(effect.table).refs if ref.name != "main"}
    for ref in ("main", *heads.values()):
        named = hands.catalog.files_named(effect.table, ref, sources)
        if named:
            raise Superseded(
                f"{len(named)} of the files to be moved have become part of the table.",
                f"Expected no branch or tag to reference them; {ref} now does.",
                "No further file is moved. Move back what was moved before (`/waterline undo`), then collect "
                "evidence again.",
            )


def _put_aside(effect: MoveFiles, moved: MovedFiles) -> str:
    """`8 of 10 files are at their new place; …`, and where the list is."""
    names = told_apart([source for source, _ in effect.moves])
    said = [f"{moved.arrived} of {len(effect.moves)} files are at their new place"]
    if moved.gone:
        said.append(f"somebody has removed {_counted_files(moved.gone, names)}")
    if moved.left:
        said.append(
            f"{_counted_files(moved.left, names)} are still at their old place{f': {moved.problem}' if moved.problem else ''}"
        )
    return f"{'; '.join(said)}. The list is {effect.note}."


def _counted_files(paths: Sequence[str], names: Mapping[str, str]) -> str:
    return f"{len(paths)} ({names[paths[0]]}{', …' if len(paths) > 1 else ''})"
