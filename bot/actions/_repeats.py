"""Which references of repeating commits are too many: all of a commit that came again whole, else only those to files
that the table had already. What else such a commit brought is nobody's copy, and stays."""

from collections.abc import Sequence

from bot.actions._rehearsing import every, listed
from bot.actions._undoing_compactions import first_that_took_rows, since_the_first_of
from bot.domain.diagnosis import Case
from bot.domain.errors import Refused
from bot.domain.file_changes import FileSources
from bot.domain.findings import RepeatedCommit
from bot.domain.ids import SnapshotId
from bot.domain.record import Record
from bot.domain.sentences import counted


class Repeats(Record):
    """The repeating commits of one proposal, by what of them goes."""

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
        """All of them."""
        return (*self.whole, *self.in_part)

    @property
    def told(self) -> str:
        """What goes, a clause."""
        said = [f"what {every(self.whole)} added"] if self.whole else []
        said += [f"what {every(self.in_part)} added of files that the table had already"] if self.in_part else []
        return ", and ".join(said)

    def sources(self, *, and_all_of: tuple[SnapshotId, ...] = ()) -> FileSources:
        """What is to be removed, with everything that these further commits added."""
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
        return "Rewind table and job to before it: rows of a file that is named twice cannot be deleted one by one."
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
            f"How many rows of {listed(untold)} are too many is not known.",
            "Expected the evidence “duplicate_commits” to count them; an older version of Waterline collected it.",
            "Run it again, diagnose, then propose.",
        )


def _must_be_whole(case: Case, found: Sequence[RepeatedCommit]) -> None:
    doubtful = [each for each in found if each.is_doubtful]
    if doubtful:
        rows = sum(each.rows for each in doubtful)
        raise Refused(
            f"Not all that {listed([each.again for each in doubtful])} brought is surely in the table already.",
            "Expected a checkpoint that came again in other files to have as many files and rows as the first time, "
            f"over the same part of the source; found others, and up to {counted(rows, 'row')} too many.",
            instead(case),
        )
