"""F22: two attempts of one subtask wrote files for the same work, and only one of them was committed.

Speculative execution (batch) does this by design, a failover by accident. What is left are orphan files.
"""

from bot.diagnosis._asked import lacking
from bot.domain.diagnosis import Act, CannotTell, Case, Examined, Excluded, Matches, Mode, Remedy

MODE = Mode(
    code="F22",
    name="concurrent_attempts",
    title="files of a second attempt were left behind",
    needs=("orphan_files",),
    false_positives=("Files that a running attempt has not committed yet: they look the same until they are old.",),
    neighbours=("F19", "healthy"),
    act=Act.NOTE,
    remedies=(Remedy.REMOVE_ORPHAN_FILES, Remedy.NOTHING),
)


def examine(case: Case) -> Examined:
    """Matches on orphan files whose subtask has committed files under another attempt number."""
    if missing := lacking(case, *MODE.needs):
        return CannotTell(missing=missing)
    found = case.orphans
    assert found is not None
    if not found.of_other_attempts:
        return Excluded(
            reason=f"None of {found.orphans} orphan files among {found.files_listed} belongs to another attempt of a "
            "subtask that has committed."
        )
    all_young = found.young >= found.orphans
    return Matches(
        headline=f"{found.of_other_attempts} files of other attempts were left behind; the table does not name them.",
        reasons=(
            f"{found.of_other_attempts} of {found.orphans} orphan files ({found.bytes} bytes) were written by subtasks "
            "that committed files under another attempt number.",
            f"{found.young} of the orphans are younger than the safe age and may still be in flight.",
            "No row is lost or doubled by them: whatever was committed came from the other attempt.",
        ),
        rows=(),
        last_good=None,
        wrong_run=None,
        remedy=Remedy.NOTHING if all_young else Remedy.REMOVE_ORPHAN_FILES,
    )
