"""Undoes what touched neither main nor the job: files that were put aside, tags and properties."""

from collections.abc import Container, Mapping, Sequence

from bot.actions._draft import drafted, untouched
from bot.domain.action import Action, Plan
from bot.domain.effects import MarkTable, MoveFiles
from bot.domain.errors import Refused
from bot.domain.execution_entries import PROPERTY, TAG
from bot.domain.ids import SnapshotId, short
from bot.domain.proposal import Proposal
from bot.domain.requirements import RefIs, SnapshotPresent, TableIs


def brought_back(plan: Plan, action: Action, aside: MoveFiles, title: str) -> Proposal:
    """Every file that is there goes where it came from: not all may have been moved. Raises Refused where none is,
    CouldNotLook."""
    table = plan.case.observation.table
    back = _ways_back(aside, plan.written_at([path for pair in aside.moves for path in pair]))
    if not back:
        raise Refused(
            f"“{title}” has nothing to bring back.",
            f"Expected some of {len(aside.moves)} files in their folder; none is there.",
            "They were never moved, or somebody has removed them since.",
        )
    folder = aside.note.rpartition("/")[0]
    return drafted(
        plan,
        action,
        title=title,
        effects=(
            MoveFiles(table=table.name, why="Bring the files back", moves=back, note=f"{folder}/moved-back.json"),
        ),
        requirements=(TableIs(uuid=table.uuid),),
        preview=untouched(
            (f"Move {len(back)} files from {folder} back to where they were.", "Neither main nor the job is touched."),
            sure=f"{len(back)} files that nothing names come back; no row is touched.",
        ),
        undo="`/waterline undo` puts them aside again.",
    )


def _ways_back(aside: MoveFiles, there: Container[str]) -> tuple[tuple[str, str], ...]:
    """(from, to) of each file that is there. Proposals of earlier versions may have sent several files to one place:
    there lies the last one that is gone from its own."""
    back: dict[str, str] = {}
    for source, target in aside.moves:
        if target in there and (target not in back or source not in there):
            back[target] = source
    return tuple(back.items())


def unmarked(plan: Plan, action: Action, marks: Sequence[tuple[Mapping[str, str], MarkTable]], title: str) -> Proposal:
    """Tags and properties are as before: what was set goes, what was removed comes back. Raises Refused where nothing
    that is known would change, or a tag's snapshot has expired."""
    table = plan.case.observation.table
    tags, properties = _changed(marks)
    set_again = {tag: SnapshotId(int(was)) for tag, (was, _) in tags.items() if was is not None}
    gone = {tag: SnapshotId(int(is_on)) for tag, (_, is_on) in tags.items() if is_on is not None}
    back = {key: was for key, (was, _) in properties.items() if was is not None}
    cleared = tuple(key for key, (was, _) in properties.items() if was is None)
    if not (set_again or gone or back or cleared):
        raise Refused(
            f"“{title}” would change nothing.",
            "Expected to know which tags or properties were there before; the record does not tell of any.",
            "Set them by hand, if they are needed.",
        )
    lost = [f"{tag} on {short(snapshot)}" for tag, snapshot in set_again.items() if snapshot not in table.by_id]
    if lost:
        raise Refused(
            f"“{title}” cannot set every tag again.",
            f"Expected their snapshots to be listed; expired are those of {', '.join(lost)}.",
            "Nothing points to an expired snapshot.",
        )
    return drafted(
        plan,
        action,
        title=title,
        effects=(
            MarkTable(
                table=table.name,
                why="Put the marks back as they were",
                new_tags=set_again,
                remove_tags=tuple(gone),
                set_properties=back,
                remove_properties=cleared,
            ),
        ),
        requirements=(
            TableIs(uuid=table.uuid),
            *(RefIs(ref=tag, snapshot_id=snapshot) for tag, snapshot in gone.items()),
            *(RefIs(ref=tag, snapshot_id=None) for tag in set_again),
            *(SnapshotPresent(snapshot_id=snapshot) for snapshot in dict.fromkeys(set_again.values())),
        ),
        preview=untouched(
            (
                *(f"Remove the tag {tag}." for tag in gone),
                *(f"Tag {short(snapshot)} as {tag} again." for tag, snapshot in set_again.items()),
                *(f"Set {key} to {value} again." for key, value in back.items()),
                *(f"Remove the property {key}." for key in cleared),
                "Neither main nor the job is touched.",
            ),
            sure="The marks are as they were before; main and the job stay as they are.",
        ),
        undo="`/waterline undo` sets the marks again, if nothing has expired meanwhile.",
    )


_Change = tuple[str | None, str | None]
"""(what it was before, what it is now); None: not there."""


def _changed(marks: Sequence[tuple[Mapping[str, str], MarkTable]]) -> tuple[dict[str, _Change], dict[str, _Change]]:
    """Tag -> its snapshots, key -> its values: of what all marks together have changed."""
    tags: dict[str, _Change] = {}
    properties: dict[str, _Change] = {}
    for before, mark in marks:
        for tag in (*mark.new_tags, *mark.remove_tags):
            was, _ = tags.get(tag, (before.get(f"{TAG}{tag}"), None))
            tags[tag] = was, str(mark.new_tags[tag]) if tag in mark.new_tags else None
        for key in (*mark.set_properties, *mark.remove_properties):
            was, _ = properties.get(key, (before.get(f"{PROPERTY}{key}"), None))
            properties[key] = was, mark.set_properties.get(key)
    return _really(tags), _really(properties)


def _really(changes: Mapping[str, _Change]) -> dict[str, _Change]:
    return {name: (was, is_now) for name, (was, is_now) in changes.items() if was != is_now}
