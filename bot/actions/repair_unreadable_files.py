"""Make the table readable again when storage has lost data files (facts F9): put back what a compaction replaced, or
drop the references and state the loss.
"""

from bot.actions._support.staging import (
    every,
    first_that_took_rows,
    listed,
    named,
    rehearsal,
    since_the_first_of,
    sized,
    where,
)
from bot.history.case import Case
from bot.history.staleness import met_files
from bot.incident.action import Action, Plan
from bot.incident.proposal import Proposal
from bot.observation.errors import Refused
from bot.observation.file_changes import FileSources, FileSurvey
from bot.observation.findings import UnreadableFile
from bot.observation.ids import SnapshotId, short
from bot.observation.paths import plain
from bot.observation.record import Record
from bot.observation.sentences import counted
from bot.observation.table import TableState


class LostFiles(Record):
    """What the window's look, the whole table's and tasks that read rows have found, each file once."""

    files: tuple[UnreadableFile, ...]
    """Those that are named: metadata and delete files first."""
    damaged: tuple[str, ...]
    """Of these: what has its size and cannot be decoded."""
    count: int
    """At least so many there are."""
    is_all: bool
    """Whether all of them are named."""
    commits: tuple[SnapshotId, ...]
    """Those that added them, as far as they are named."""


def lost_files(case: Case) -> LostFiles:
    """Empty where nothing was found. A damaged file, of which only its name is known, is taken for a data file."""
    findings = [found for found in (case.unreadable, case.missing_files) if found is not None]
    found = {plain(each.path): each for found in findings for each in found.files}
    by_chance = {
        plain(path): UnreadableFile(
            path=path, what="data", snapshot_id=None, rows=0, problem="It cannot be decoded.", has_its_size=True
        )
        for path in met_files(case.evidence, "damaged_file")
    }
    files = {**by_chance, **found}
    also = (
        *(case.missing_files.commits if case.missing_files is not None else ()),
        *(case.unreadable.commits if case.unreadable is not None else ()),
    )
    known = (*(each.snapshot_id for each in files.values() if each.snapshot_id is not None), *also)
    return LostFiles(
        files=tuple(sorted(files.values(), key=lambda each: each.what == "data")),
        damaged=tuple(each.path for each in files.values() if each.has_its_size),
        count=max(len(files), *(found.count for found in findings)) if findings else len(files),
        is_all=all(found.count <= len(found.files) for found in findings),
        commits=tuple(dict.fromkeys(known)),
    )


ACTION = Action(
    name="repair_unreadable_files",
    title="Repair unreadable files",
    promise="Every file that the table references exists, and the loss is stated.",
    needs=("unreadable_files", "missing_files"),
    proofs=(
        ("unreadable_files", "Every file of the window exists with its recorded size"),
        ("missing_files", "No file that the table references is missing"),
        ("duplicate_rows", "No duplicate rows"),
    ),
    no_more_than_before=("duplicate_rows",),
    repairs=("unreadable_files", "missing_files"),
    moves_waterline="trusted",
)
_PROOF = "every file exists, those of older commits too; no duplicate rows"


def propose(plan: Plan) -> Proposal:
    """A rehearsal without the lost files, of whatever commit. Raises Refused with the reason, CouldNotLook."""
    lost = lost_files(plan.case)
    _must_be_data(lost)
    before = _before_compaction(plan, lost)
    return _put_back(plan, before, lost.commits) if before is not None else _dropped(plan, lost)


def _must_be_data(lost: LostFiles) -> None:
    if not lost.count:
        raise Refused(
            "There is no unreadable file to repair.",
            "Expected data files that storage cannot read; found none.",
            "If reads still fail, look at a longer window.",
        )
    other = next((f for f in lost.files if f.what != "data"), None)
    if other is None:
        return
    remedy = (
        "Dropping it would bring deleted rows back. Restore it from the storage's own versions, or roll back table and "
        "job to before it."
        if other.what == "deletes"
        else "Restore it from the storage's own versions, or roll back table and job to a snapshot that can be read. "
        "It is not known which rows it leads to."
    )
    raise Refused(
        f"A {other.what.replace('-', ' ')} cannot be read, and its reference cannot be dropped.",
        f"Expected only data files to be lost; found {other.path}.",
        remedy,
    )


def _before_compaction(plan: Plan, lost: LostFiles) -> FileSurvey | None:
    """What undoing these commits would meet, if all are compactions whose old files are still whole and hold no row
    that was deleted since; else None."""
    table, commits = plan.case.observation.table, lost.commits
    if not commits or any(file.snapshot_id is None for file in lost.files) or not _only_compacted(table, commits):
        return None
    survey = plan.survey(FileSources(removed_by=commits), FileSources(added_by=commits))
    if survey.add is None or survey.remove is None or survey.gone or survey.not_live or survey.live_already:
        return None
    has_deletes = survey.has_equality_deletes or survey.has_position_deletes or survey.delete_files
    return survey if survey.add.rows == survey.remove.rows and not has_deletes else None


def _only_compacted(table: TableState, commits: tuple[SnapshotId, ...]) -> bool:
    """Whether these are compactions of main, and no commit since the oldest of them took rows away: by delete files it
    leaves the compacted files as they are, and what they had replaced knows nothing of it."""
    since = since_the_first_of(table, commits)
    compactions = {s.snapshot_id for s in since if s.operation == "replace"}
    return compactions.issuperset(commits) and first_that_took_rows(since) is None


def _put_back(plan: Plan, survey: FileSurvey, commits: tuple[SnapshotId, ...]) -> Proposal:
    assert survey.add is not None
    assert survey.remove is not None
    return rehearsal(
        plan,
        ACTION,
        survey,
        title=f"{ACTION.title}: undo compaction {listed(commits)}",
        why="Restore what the compaction replaced",
        sentences=(
            f"Remove {sized(survey.remove)} from the branch, which {every(commits)} wrote. Add {sized(survey.add)} "
            f"again{where(survey)}, which that compaction had replaced and which still exist. No row is lost.",
        ),
        proof=_PROOF,
    )


def _dropped(plan: Plan, lost: LostFiles) -> Proposal:
    """By path while the evidence lists all of them, else by the commits that added them. Storage is asked for them now,
    and again when it is carried out: what has come back meanwhile is not dropped."""
    named_all = {"paths": tuple(f.path for f in lost.files), "damaged": lost.damaged}
    sources = FileSources(only_unreadable=True, **(named_all if lost.is_all else {"added_by": lost.commits}))
    _must_be_listed(plan, lost)
    survey = plan.survey(None, sources)
    if survey.remove is None or (not lost.is_all and survey.remove.files < lost.count):
        seen = sized(survey.remove) if survey.remove else "none of them"
        raise Refused(
            "The unreadable files have changed since the evidence was collected.",
            f"Expected {lost.count} of them; storage now lacks {seen}.",
            "Collect the evidence “unreadable_files” and “missing_files” again. If it finds files of more than 20 "
            "commits, restore them from the storage's own versions or roll back table and job.",
        )
    gone = f"; {named(survey.not_live)} is not live any more" if survey.not_live else ""
    back = f"; {named(survey.whole_again)} can be read again and stays" if survey.whole_again else ""
    return rehearsal(
        plan,
        ACTION,
        survey,
        title=f"{ACTION.title}: drop {sized(survey.remove)}",
        why="Drop the references to lost files",
        sentences=(
            f"Drop the references to {sized(survey.remove)}{where(survey)}{gone}{back}. The table lacks these rows "
            f"until they are replayed or their files are restored from the storage's own versions{_gap(plan)}.",
            f"Lost by the commits that added them: {_by_commit(survey)}.",
            *([] if survey.whole_again else [f"The first is {lost.files[0].path}."]),
        ),
        proof=_PROOF,
    )


def _gap(plan: Plan) -> str:
    """A clause: what follows for the proof of main, where it can tell that rows are missing."""
    return "; a gap keeps the published table under review" if plan.case.contract.position is not None else ""


def _must_be_listed(plan: Plan, lost: LostFiles) -> None:
    """Raises Refused where not all files are named, and a commit that could tell them has expired."""
    listed = plan.case.observation.table.by_id
    expired = [each for each in lost.commits if each not in listed]
    if expired and not lost.is_all:
        raise Refused(
            "The evidence does not name all lost files, and commits that added some of them are no longer listed.",
            f"Expected at most 20 lost files, or only listed commits; found {lost.count}, of {short(expired[0])} too.",
            "Restore them from the storage's own versions, or roll back table and job to a snapshot that can be read.",
        )


def _by_commit(survey: FileSurvey) -> str:
    """`…421007 10 rows, …118223 5 rows`: every one, as the approval covers every one."""
    return ", ".join(f"{short(each.snapshot_id)} {counted(each.rows, 'row')}" for each in survey.by_commit)
