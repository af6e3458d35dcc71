"""Take the files of a commit that repeats another one out of the table, and nothing else (facts F1).

Only references that the repeating commit added go: of a file that both commits name, the first reference stays. What
was committed later stays as well, which is what a rewind could not do.
"""

from bot.actions._rehearsing import listed, named, rehearsal, sized, where
from bot.domain.action import Action, Plan
from bot.domain.diagnosis import Case
from bot.domain.errors import Refused
from bot.domain.file_changes import FileSources
from bot.domain.ids import SnapshotId, short
from bot.domain.proposal import Proposal

ACTION = Action(
    name="drop_duplicated_commit",
    title="Drop the duplicated commit",
    promise="Each row of the repeated commit is in the table once; every other commit stays.",
    needs=("duplicate_commits", "duplicate_files"),
    proofs=(
        ("duplicate_files", "No file is live twice"),
        ("duplicate_rows", "No row is there twice"),
        ("missing_positions", "No row is missing"),
    ),
)


def propose(plan: Plan) -> Proposal:
    """A rehearsal without the repeating commits' own files. Raises Refused with the reason, CouldNotLook."""
    again = _repeating(plan.case)
    for commit in again:
        _must_only_add(plan.case, commit)
    survey = plan.survey(None, FileSources(added_by=again))
    if survey.not_live or survey.remove is None:
        raise Refused(
            f"The files of {listed(again)} are not in the table any more as they were committed.",
            f"Expected each of them to be live; not live: {named(survey.not_live)}. A compaction or a delete has "
            "written their rows into other files.",
            "Keep one copy of each key instead: deduplicate the rows.",
        )
    return rehearsal(
        plan,
        ACTION,
        survey,
        title=f"{ACTION.title}: {listed(again)}",
        why="Take the repeated commit out",
        sentences=(
            f"Take {sized(survey.remove)}{where(survey)} out of it: what {listed(again)} added, and no other "
            "reference. Of a file that is named twice, one reference stays.",
        ),
        proof="no file and no row is there twice, no row is missing",
    )


def _repeating(case: Case) -> tuple[SnapshotId, ...]:
    """The commits on main that bring once more what another had brought, by checkpoint or by file; oldest first."""
    found = case.duplicate_commits
    by_checkpoint = {
        each.again
        for each in (found.repeated if found else ())
        if each.how != "same-source-range" and not each.is_cherry_pick
    }
    by_file = set(case.duplicate_files.again) if case.duplicate_files else set()
    chain = reversed(case.observation.table.chain)
    again = tuple(s.snapshot_id for s in chain if s.snapshot_id in by_checkpoint | by_file)
    if not again:
        raise Refused(
            "There is no duplicated commit to drop.",
            "Expected a commit on main that brings a checkpoint or a file once more; found none.",
            "If rows are there twice nevertheless, they came by a replay: rewind, or deduplicate the rows.",
        )
    return again


def _must_only_add(case: Case, commit: SnapshotId) -> None:
    snapshot = case.observation.table.by_id[commit]
    removed, deletes = snapshot.counted("deleted-data-files"), snapshot.counted("added-delete-files")
    if removed or deletes:
        raise Refused(
            f"Commit {short(commit)} cannot be dropped by its files alone.",
            f"Expected it only to add data files; it also removed {removed} and added {deletes} delete files, which "
            "took away what it brought again.",
            "Rewind table and job to before it, or deduplicate the rows.",
        )
