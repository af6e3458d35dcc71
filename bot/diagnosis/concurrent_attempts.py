"""F22: two attempts of one subtask wrote files for the same work, and only one of them was committed.

Speculative execution (batch) does this by design, a failover by accident. What is left are orphan files.
"""

from bot.diagnosis._support.arrivals import unaccounted
from bot.diagnosis._support.asked import checked_until, lacking
from bot.history.case import Case
from bot.incident.diagnosis import Act, CannotTell, Examined, Excluded, Matches, Mode, Remedy
from bot.observation.sentences import counted

MODE = Mode(
    code="F22",
    name="concurrent_attempts",
    title="files of a second attempt were left behind",
    needs=("orphan_files",),
    false_positives=(
        "Files that a running attempt has not committed yet: they look the same until they are old.",
        "Files of a commit that was rolled back and expired, or that a lost metadata file named: rows are missing.",
    ),
    neighbours={
        "F19": "There every file is in the table, by another number of subtasks. Here files lie on storage "
        "that no commit names.",
        "healthy": "Both can hold: no commit names what was left behind, so no row is doubled or lost by it.",
    },
    act=Act.NOTE,
    remedies=(Remedy.NOTHING,),
)


def examine(case: Case) -> Examined:
    """Matches on orphan files whose subtask has committed files under another attempt number."""
    if missing := lacking(case, *MODE.needs):
        return CannotTell(missing=missing)
    found = case.orphans
    assert found is not None
    if not found.of_other_attempts:
        return Excluded(
            reason=f"None of {counted(found.orphans, 'orphan file')} among {found.files_listed} belongs to an attempt "
            "that another attempt of its subtask has outlived."
        )
    needed = _may_be_needed(case)
    return Matches(
        headline=f"Left behind: {counted(found.of_other_attempts, 'file')} of attempts that failed; "
        + ("leave them for now." if needed else "the table does not need them."),
        reasons=(
            f"{found.of_other_attempts} of {counted(found.orphans, 'orphan file')} ({found.bytes:,} bytes in all) came "
            "from an attempt of a subtask of which another attempt has committed since.",
            f"{found.young} of {counted(found.orphans, 'orphan file')} may still be in flight: too young to be judged.",
            needed or "No row is lost or doubled by them: whatever was committed came from the other attempt.",
            "Iceberg's remove_orphan_files removes them. Let your maintenance run it once the incident is closed, not "
            "before.",
        ),
        remedy=Remedy.NOTHING,
    )


def _may_be_needed(case: Case) -> str | None:
    """Why these files may hold rows that the table has lost, a sentence; None: nothing says so. A commit that was taken
    away with every trace in the metadata leaves files that look the same, and they are the only copy."""
    gaps = case.gaps
    if gaps is not None and gaps.missing:
        return (
            f"{counted(gaps.missing, 'source position')} are missing on the table, and these files may hold their rows."
        )
    if case.contract.position is None:
        return None
    if missing := lacking(case, "missing_positions", whole=True):
        return f"Whether the table has lost rows that these files may hold is not known: {missing[0]}."
    lost = unaccounted(case, checked_until(case, "missing_positions"))
    return f"{lost.missing[0][:1].upper()}{lost.missing[0][1:]}." if lost is not None else None
