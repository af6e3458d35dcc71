"""Undoes what touched neither main nor the job: files that were put aside, tags and properties."""

from collections.abc import Mapping, Sequence

from bot.actions._draft import drafted, untouched
from bot.domain.action import Action, Plan
from bot.domain.effects import MarkTable, MoveFiles
from bot.domain.errors import Refused
from bot.domain.proposal import Proposal
from bot.domain.requirements import RefIs, TableIs


def brought_back(plan: Plan, action: Action, aside: MoveFiles, title: str) -> Proposal:
    """Every file that is there goes where it came from: not all may have been moved. Raises Refused where none is,
    CouldNotLook."""
    table = plan.case.observation.table
    there = plan.written_at([target for _, target in aside.moves])
    back = tuple((target, source) for source, target in aside.moves if target in there)
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


def unmarked(plan: Plan, action: Action, marks: Sequence[tuple[Mapping[str, str], MarkTable]], title: str) -> Proposal:
    """Tags that were set go, properties get the values from before."""
    table = plan.case.observation.table
    effects: list[MarkTable] = []
    requirements: list[RefIs] = []
    sentences: list[str] = []
    for before, mark in marks:
        back = {key.removeprefix("property "): value for key, value in before.items()}
        effects.append(
            MarkTable(
                table=table.name,
                why="Take the marks away again",
                remove_tags=tuple(mark.new_tags),
                set_properties=back,
                remove_properties=tuple(key for key in mark.set_properties if key not in back),
            )
        )
        requirements += [RefIs(ref=tag, snapshot_id=snapshot) for tag, snapshot in mark.new_tags.items()]
        sentences += [f"Remove the tag {tag}." for tag in mark.new_tags]
        sentences += [f"Set {key} to {value} again." for key, value in back.items()]
    return drafted(
        plan,
        action,
        title=title,
        effects=effects,
        requirements=(TableIs(uuid=table.uuid), *requirements),
        preview=untouched(
            (*sentences, "Neither main nor the job is touched."),
            sure="The marks go; main and the job stay as they are.",
        ),
        undo="`/waterline undo` sets the marks again, if nothing has expired meanwhile.",
    )
