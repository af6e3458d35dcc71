"""Make the table readable again when storage has lost data files (facts F9): put back what a compaction replaced, or
drop the references and state the loss.
"""

from bot.actions._rehearsing import listed, named, rehearsal, sized, where
from bot.domain.action import Action, Plan
from bot.domain.errors import Refused
from bot.domain.file_changes import FileSources, FileSurvey
from bot.domain.findings import UnreadableFilesFinding
from bot.domain.ids import SnapshotId
from bot.domain.proposal import Proposal
from bot.domain.table import TableState

ACTION = Action(
    name="repair_unreadable_files",
    title="Repair unreadable files",
    promise="Every file that the table names can be read; what is lost is stated.",
    needs=("unreadable_files",),
    proofs=(("unreadable_files", "Every file can be read"), ("duplicate_rows", "No row is there twice")),
    proofs_on_main=(
        ("unreadable_files", "Every file can be read"),
        ("missing_files", "Every file that the head names is there"),
    ),
)


def propose(plan: Plan) -> Proposal:
    """A rehearsal without the lost files. Raises Refused with the reason, CouldNotLook."""
    found = _data_files_only(plan.case.unreadable)
    commits = tuple(dict.fromkeys(f.snapshot_id for f in found.files if f.snapshot_id is not None))
    before = _before_compaction(plan, commits)
    return _put_back(plan, before, commits) if before is not None else _dropped(plan, found, commits)


def _data_files_only(found: UnreadableFilesFinding | None) -> UnreadableFilesFinding:
    if found is None or not found.count:
        raise Refused(
            "There is no unreadable file to repair.",
            "Expected data files of the window that storage does not give; found none.",
            "If reads fail nevertheless, look at a longer window.",
        )
    other = next((f for f in found.files if f.what != "data"), None)
    if other is not None:
        remedy = (
            "Dropping it would bring deleted rows back. Restore it from the storage's own versions, or rewind table "
            "and job to before it."
            if other.what == "deletes"
            else "Restore it from the storage's own versions, or rewind table and job to a snapshot that can be read."
        )
        raise Refused(
            f"A {other.what.replace('-', ' ')} cannot be read, and no reference to it can be dropped.",
            f"Expected only data files to be lost; found {other.path}.",
            remedy,
        )
    return found


def _before_compaction(plan: Plan, commits: tuple[SnapshotId, ...]) -> FileSurvey | None:
    """What undoing these commits would meet, if all are compactions whose old files are still whole; else None."""
    table = plan.case.observation.table
    if not commits or any(not _is_compaction(table, commit) for commit in commits):
        return None
    survey = plan.survey(FileSources(removed_by=commits), FileSources(added_by=commits))
    if survey.add is None or survey.remove is None or survey.gone or survey.not_live or survey.live_already:
        return None
    is_whole = survey.add.rows == survey.remove.rows
    return survey if is_whole and not survey.has_equality_deletes and not survey.delete_files else None


def _is_compaction(table: TableState, commit: SnapshotId) -> bool:
    return commit in table.by_id and table.by_id[commit].operation == "replace"


def _put_back(plan: Plan, survey: FileSurvey, commits: tuple[SnapshotId, ...]) -> Proposal:
    assert survey.add is not None
    assert survey.remove is not None
    return rehearsal(
        plan,
        ACTION,
        survey,
        title=f"{ACTION.title}: undo compaction {listed(commits)}",
        why="Put back what the compaction replaced",
        sentences=(
            f"Take {sized(survey.remove)} out of it, which {listed(commits)} wrote, and put {sized(survey.add)} back, "
            f"which that compaction had replaced and which are still whole{where(survey)}. No row is lost.",
        ),
        proof="every file can be read, no row is there twice",
    )


def _dropped(plan: Plan, found: UnreadableFilesFinding, commits: tuple[SnapshotId, ...]) -> Proposal:
    """By path while the evidence lists all of them, else by asking storage again for the files of these commits."""
    paths = tuple(f.path for f in found.files)
    is_all = found.count <= len(paths)
    sources = FileSources(paths=paths) if is_all else FileSources(added_by=commits, only_unreadable=True)
    survey = plan.survey(None, sources)
    if survey.remove is None or (not is_all and survey.remove.files < found.count):
        seen = sized(survey.remove) if survey.remove else "none"
        raise Refused(
            "The unreadable files are not those that the evidence found.",
            f"Expected {found.count} of them; storage does not give {seen}.",
            "Collect the evidence “unreadable_files” again.",
        )
    gone = f"; {named(survey.not_live)} is not live any more" if survey.not_live else ""
    return rehearsal(
        plan,
        ACTION,
        survey,
        title=f"{ACTION.title}: drop {sized(survey.remove)}",
        why="Drop the references to lost files",
        sentences=(
            f"Drop the references to {sized(survey.remove)}{where(survey)}{gone}. These rows are lost to the table "
            "until they are replayed or their files come back from the storage's own versions.",
            f"The first is {found.files[0].path}.",
        ),
        proof="every file can be read, no row is there twice",
    )
