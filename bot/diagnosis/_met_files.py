"""Files that a task which reads rows came to by chance, and that are missing or cannot be decoded."""

from bot.domain.diagnosis import Case, Matches, Remedy
from bot.domain.met_files import met_files
from bot.domain.sentences import counted


def met_by_a_scan(case: Case) -> Matches | None:
    """What is missing before what is damaged; None where no task failed for a file."""
    if lost := met_files(case.evidence, "lost_file"):
        return _found_by_chance(lost)
    damaged = met_files(case.evidence, "damaged_file")
    return _damaged(damaged) if damaged else None


def _found_by_chance(unopened: dict[str, str]) -> Matches:
    path, task = next(iter(unopened.items()))
    return Matches(
        headline=f"{counted(len(unopened), 'file')} that the table names {'is' if len(unopened) == 1 else 'are'} not "
        "on storage: reads of the table fail.",
        reasons=(
            f"The first is {path}; {task} could not be finished without it.",
            "No commit of the window added it, so unreadable_files, which looks at the window's files, did not ask for "
            "it: run missing_files, which looks at all of the table and tells how many are gone, and of which commits.",
        ),
        rows=(),
        last_good=None,
        wrong_run=None,
        remedy=Remedy.REPAIR_UNREADABLE_FILES,
    )


def _damaged(damaged: dict[str, str]) -> Matches:
    path, task = next(iter(damaged.items()))
    return Matches(
        headline=f"{counted(len(damaged), 'file')} that the table names {'is' if len(damaged) == 1 else 'are'} on "
        "storage and cannot be decoded: reads of the table fail.",
        reasons=(
            f"The first is {path}; {task} could not be finished for it.",
            "Name and size are right, and of a Parquet file the footer, so neither unreadable_files nor missing_files "
            "names it: restore it from the storage's own versions, or drop the reference to it.",
        ),
        rows=(),
        last_good=None,
        wrong_run=None,
        remedy=Remedy.REPAIR_UNREADABLE_FILES,
    )
