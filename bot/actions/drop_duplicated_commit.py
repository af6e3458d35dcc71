"""Take the files of a commit that repeats another one out of the table, and nothing else (facts F1).

Only references that the repeating commit added go, and of these only what is there twice by them: of a file that both
commits name, the first reference stays; files that it alone brought stay. What was committed later stays as well, which
is what a rewind could not do. Where a compaction has written the repeated rows into files of its own, it is undone
first: what it had replaced comes back, but for the repeated files.

Which references of repeating commits are too many: all of a commit that came again whole, else only those to files
that the table had already. What else such a commit brought is nobody's copy, and stays.
"""

from collections.abc import Iterator, Sequence

from bot.actions._support.passed import must_have_passed
from bot.actions._support.staging import (
    every,
    first_that_took_rows,
    listed,
    must_not_rise,
    named,
    rehearsal,
    since_the_first_of,
    sized,
    where,
)
from bot.history.case import Case
from bot.incident.action import Action, Plan
from bot.incident.proposal import Proposal
from bot.observation.errors import Refused
from bot.observation.file_changes import FileSources, FileSurvey, Some
from bot.observation.findings import RepeatedCommit
from bot.observation.ids import SnapshotId, short
from bot.observation.record import Record
from bot.observation.sentences import counted
from bot.observation.table import TableState


class Repeats(Record):
    whole: tuple[SnapshotId, ...]
    """Every file: the checkpoint came again with as many rows, in files of its own. Oldest first, as the next."""
    in_part: tuple[SnapshotId, ...]
    """Files that the table had already, and no others."""
    first: tuple[SnapshotId, ...]
    """Commits that had brought these files before, and whose rows nothing has taken away since."""
    rows: int
    """That are too many, as the evidence counted them."""

    @property
    def commits(self) -> tuple[SnapshotId, ...]:
        return (*self.whole, *self.in_part)

    @property
    def told(self) -> str:
        """What goes, a clause."""
        said = [f"what {every(self.whole)} added"] if self.whole else []
        said += [f"files that {every(self.in_part)} added and the table already had"] if self.in_part else []
        return ", and ".join(said)

    def sources(self, *, and_all_of: tuple[SnapshotId, ...] = ()) -> FileSources:
        return FileSources(added_by=(*self.whole, *and_all_of), added_again_by=self.in_part, added_first_by=self.first)


def repeats_of(case: Case, commits: Sequence[SnapshotId]) -> Repeats:
    """`commits`: the repeating ones on main, oldest first. Raises Refused where nothing tells what of one goes."""
    told = {each.again: each for each in (case.duplicate_commits.repeated if case.duplicate_commits else ())}
    by_file = set(case.duplicate_files.again) if case.duplicate_files else set()
    found = [told[each] for each in commits if each in told]
    _must_be_counted(found)
    whole = [each for each in found if each.how == "same-checkpoint" and each.again not in by_file]
    _must_be_whole(case, whole)
    entire = {each.again for each in whole}
    return Repeats(
        whole=tuple(each for each in commits if each in entire),
        in_part=tuple(each for each in commits if each not in entire),
        first=_still_held(case, [each for each in found if each.how == "same-files"]),
        rows=sum(each.too_many or 0 for each in found),
    )


def instead(case: Case) -> str:
    """What to do where the files cannot be taken out: rows of a file that is named twice are not told apart by place,
    so that they cannot be deleted one by one either."""
    if case.duplicate_files is not None and case.duplicate_files.count:
        return (
            "Roll back table and job to before it: the table references a file twice, so its rows cannot be "
            "deleted one by one."
        )
    return "Keep one copy of each key instead: deduplicate the rows."


def _still_held(case: Case, found: Sequence[RepeatedCommit]) -> tuple[SnapshotId, ...]:
    """The earlier commits, none where a later commit took rows away: then what came again may be the only copy."""
    table = case.observation.table
    first = tuple(dict.fromkeys(each.first for each in found if each.first in table.chain_ids))
    return () if first_that_took_rows(since_the_first_of(table, first)) is not None else first


def _must_be_counted(found: Sequence[RepeatedCommit]) -> None:
    untold = [each.again for each in found if each.too_many is None and each.how != "same-source-range"]
    if untold:
        raise Refused(
            f"It is not known how many rows of {listed(untold)} are duplicates.",
            "Expected the evidence “duplicate_commits” to count them; it does not.",
            "Run that evidence again, diagnose, then propose.",
        )


def _must_be_whole(case: Case, found: Sequence[RepeatedCommit]) -> None:
    doubtful = [each for each in found if each.is_doubtful]
    if doubtful:
        rows = sum(each.rows for each in doubtful)
        raise Refused(
            f"It is not proven that the table already had all rows of {listed([each.again for each in doubtful])}.",
            "Expected a checkpoint that was committed again to have as many files and rows as the first time, over "
            f"the same source range. Found other numbers, and up to {counted(rows, 'row')} too many.",
            instead(case),
        )


ACTION = Action(
    name="drop_duplicated_commit",
    title="Drop the duplicated commit",
    promise="The table has each row of the repeated commit once; every other commit stays.",
    needs=("duplicate_commits", "duplicate_files"),
    proofs=(
        ("duplicate_files", "No duplicate files"),
        ("duplicate_rows", "No duplicate rows"),
        ("missing_positions", "No missing rows"),
    ),
    no_more_than_before=("missing_positions",),
    repairs=("duplicate_files", "duplicate_rows"),
    moves_waterline="trusted",
)
PROOF = "no duplicate files, no duplicate rows, no missing rows"


def propose(plan: Plan) -> Proposal:
    """A rehearsal without what the repeating commits brought again. Raises Refused with the reason, CouldNotLook."""
    repeats = repeats_of(plan.case, _repeating(plan))
    for commit in repeats.commits:
        _must_only_add(plan.case, commit)
    untold = must_have_passed(plan)
    survey = plan.survey(None, repeats.sources())
    if survey.not_live or survey.remove is None:
        return _with_compactions(plan, repeats, survey.not_live, untold)
    return rehearsal(
        plan,
        ACTION,
        survey,
        title=f"{ACTION.title}: {listed(repeats.commits)}",
        why="Remove the repeated commit",
        sentences=(
            f"Remove {sized(survey.remove)}{where(survey)} from the branch: {repeats.told}, and no other reference. "
            "Of a file that is referenced twice, one reference stays.",
            *_own_rows(plan.case.observation.table, repeats, survey),
            *untold,
        ),
        proof=PROOF,
    )


def _own_rows(table: TableState, repeats: Repeats, survey: FileSurvey) -> Iterator[str]:
    """What commits that go in part alone have brought besides, a sentence; none where that is nothing."""
    going = {each.snapshot_id: each.rows for each in survey.by_commit}
    own = sum(table.by_id[each].counted("added-records") - going.get(each, 0) for each in repeats.in_part)
    if own:
        yield f"{counted(own, 'row')} that {every(repeats.in_part)} added besides stay in the table."


def _with_compactions(plan: Plan, repeats: Repeats, not_live: Some, untold: Sequence[str]) -> Proposal:
    """The same where later compactions depend on the repeated files. Raises Refused where anything else does, or where
    what was compacted cannot be put back whole."""
    later = _compactions_after(plan.case, repeats, not_live)
    put_back = FileSources(removed_by=later, without_added_by=(*repeats.whole, *later))
    survey = plan.survey(put_back, repeats.sources(and_all_of=later))
    add, remove, twice = survey.add, survey.remove, repeats.rows
    if add is None or remove is None or survey.gone or survey.live_already or remove.rows - add.rows != twice:
        raise _not_as_committed(plan.case, repeats, _why_not_whole(survey, later, twice))
    must_not_rise(survey, "What the compaction replaced")
    return rehearsal(
        plan,
        ACTION,
        survey,
        title=f"{ACTION.title}: {listed(repeats.commits)}, compacted since",
        why="Remove the repeated commit and its compaction",
        sentences=(
            f"Remove {sized(remove)} from the branch: {repeats.told}, and what compaction {every(later)} made of "
            "these and other files.",
            f"Add {sized(add)} again{where(survey)}, which that compaction had replaced and which still exist: all "
            f"but the repeated ones. This removes {twice:,} rows. Compact the table again afterwards.",
            *untold,
        ),
        proof=PROOF,
    )


def _compactions_after(case: Case, repeats: Repeats, not_live: Some) -> tuple[SnapshotId, ...]:
    """Oldest first. Raises Refused where a later commit took rows away or wrote them anew, or where there is none."""
    since = since_the_first_of(case.observation.table, repeats.commits)
    later = [s for s in since if s.snapshot_id not in repeats.commits]
    gone = f"not live: {named(not_live)}" if not_live else "none that the table references twice"
    other = first_that_took_rows(later)
    if other is not None:
        raise _not_as_committed(
            case,
            repeats,
            f"{gone}. After it {short(other.snapshot_id)} ({other.operation} by {other.engine}) deleted or "
            "overwrote rows, which would return with the earlier files",
        )
    found = tuple(s.snapshot_id for s in later if s.operation == "replace")
    if not found:
        raise _not_as_committed(case, repeats, f"{gone}, and no compaction after it")
    return found


def _why_not_whole(survey: FileSurvey, later: tuple[SnapshotId, ...], twice: int) -> str:
    if survey.gone:
        return f"compaction {listed(later)} replaced {named(survey.gone)}, which storage no longer has"
    came, went = survey.add.rows if survey.add else 0, survey.remove.rows if survey.remove else 0
    return (
        f"undoing compaction {listed(later)} would remove {went - came:,} rows instead of the {twice:,} repeated "
        "ones: it did more than merge files"
    )


def _not_as_committed(case: Case, repeats: Repeats, found: str) -> Refused:
    return Refused(
        f"The table no longer has the files of {listed(repeats.commits)} as they were committed.",
        f"Expected each of them to be live, or compacted from files that still exist; found {found}.",
        instead(case),
    )


def _repeating(plan: Plan) -> tuple[SnapshotId, ...]:
    """The commits on main that the diagnosis names, oldest first: it passes over what a repair took out, and over
    checkpoint ids that only began anew. Raises Refused where it is older than what main and the evidence tell."""
    table, files = plan.case.observation.table, plan.case.duplicate_files
    there = table.chain_ids - table.taken_out
    again = tuple(each for each in plan.match.repeating if each in there)
    if not again:
        raise Refused(
            "There is no duplicated commit to drop.",
            "Expected the diagnosis to name a commit on main that repeats a checkpoint or a file; it names none "
            "that is still there.",
            "Diagnose again. If rows are still duplicated, a replay wrote them: deduplicate the rows, or roll back.",
        )
    newer = [each for each in (files.again if files else ()) if each in there and each not in again]
    if newer:
        raise Refused(
            f"The diagnosis is older than the evidence: {listed(newer)} repeated files as well.",
            f"Expected it to name every commit that added a file a second time; it names {listed(again)}.",
            "Diagnose again, then propose.",
        )
    return again


def _must_only_add(case: Case, commit: SnapshotId) -> None:
    snapshot = case.observation.table.by_id[commit]
    removed, deletes = snapshot.counted("deleted-data-files"), snapshot.counted("added-delete-files")
    if removed or deletes:
        raise Refused(
            f"Commit {short(commit)} cannot be removed by its files alone.",
            f"Expected it only to add data files; it also removed {removed} and added {deletes} delete files, which "
            "removed what it repeated.",
            instead(case),
        )
