"""Flink manifests that were not committed and whose data files are gone from storage (F9)."""

from bot.diagnosis._came_again import came_again
from bot.diagnosis._case import living
from bot.domain.diagnosis import Case, Matches, Remedy
from bot.domain.findings import LeakedManifest, LeakStanding
from bot.domain.sentences import counted


def hollow_leaks(case: Case) -> tuple[LeakedManifest, ...]:
    """Uncommitted manifests whose data files are gone; those that nothing will commit only where their rows were not
    read again."""
    waits = case.leaked.of(LeakStanding.PENDING) if case.leaked else ()
    lost = tuple(leak for leak in _never_to_come(case) if came_again(leak, case) is False)
    return tuple(leak for leak in (*waits, *lost) if leak.missing_files)


def in_doubt(case: Case) -> tuple[str, ...]:
    """Other manifests whose data files are gone, where nobody knows whether their rows were read again."""
    untold = case.leaked.of(LeakStanding.UNTOLD) if case.leaked and not _are_rows_there(case) else ()
    untold += tuple(leak for leak in _never_to_come(case) if came_again(leak, case) is None)
    files = sum(leak.missing_files for leak in untold)
    if not files:
        return ()
    said = f"{counted(files, 'data file')} of Flink manifests {'is' if files == 1 else 'are'} gone from storage"
    return (f"whether rows that were not committed have been read again: {said}",)


def _never_to_come(case: Case) -> tuple[LeakedManifest, ...]:
    return case.leaked.of(LeakStanding.DROPPED, LeakStanding.LOST_STATE) if case.leaked else ()


def _are_rows_there(case: Case) -> bool:
    return case.gaps is not None and case.gaps.missing == 0


def told(case: Case, hollow: tuple[LeakedManifest, ...]) -> Matches:
    alive = bool(living(case)) and any(leak.standing is LeakStanding.PENDING for leak in hollow)
    files = sum(leak.missing_files for leak in hollow)
    return Matches(
        headline=f"Gone from storage: {counted(files, 'data file')} of "
        f"{counted(len(hollow), 'uncommitted Flink manifest')}.",
        reasons=(
            f"The manifest {hollow[0].path} lists files that are no longer there: a cleanup took them for orphans.",
            "Should the sink still commit that manifest, the table names files that nobody can read: stop the job "
            "before its next commit."
            if alive
            else "Nothing of it is in the table; the rows can only be read again from the source.",
        ),
        rows=(),
        last_good=case.observation.table.head,
        wrong_run=None,
        remedy=Remedy.REPLAY_SOURCE_RANGE,
    )
