"""What `replayed_rows` says, in words."""

from collections.abc import Sequence

from bot.domain.evidence import Answer, Ask
from bot.domain.findings import ReplayedRowsFinding
from bot.domain.ids import SnapshotId, short
from bot.domain.looked import NotSeen
from bot.domain.sentences import counted
from spark_tasks._told_apart import not_told_apart
from spark_tasks._words import could_not


def came_again(ask: Ask, finding: ReplayedRowsFinding) -> str:
    """How many rows an earlier commit had brought, and how many their own holds once more."""
    positions = (
        f", positions {finding.first} to {finding.last}"
        if finding.first is not None and not ask.contract.hides(ask.contract.position)
        else ""
    )
    largest = finding.pairs[0]
    changed = f"{finding.changed:,} of them with other values" if finding.changed else "all with the same values"
    stand = "stands in its" if finding.within_commit == 1 else "stand in their"
    own = f" {counted(finding.within_commit, 'row')} {stand} own commit once more." if finding.within_commit else ""
    return (
        f"{finding.replayed:,} of {counted(finding.rows_checked, 'row')} came again{positions}, "
        f"{changed}; most were brought by {short(largest.first)} first and by {short(largest.second)} again.{own}"
    )


def came_once(finding: ReplayedRowsFinding, most: SnapshotId | None, *, is_told: bool) -> str:
    """No earlier commit had brought any. `most`: the commit that holds most rows once more; `is_told`: whether rows of
    one commit were compared."""
    if most is not None:
        stand = "stands in its" if finding.within_commit == 1 else "stand in their"
        return (
            f"No row was brought again by a later commit, but {finding.within_commit:,} of "
            f"{counted(finding.rows_checked, 'row')} {stand} own commit once more, equal in every column; most in "
            f"{short(most)}."
        )
    own = ", nor stands in its own one twice, equal in every column" if is_told else ""
    return f"None of {counted(finding.rows_checked, 'row')} of the window had been brought by an earlier commit{own}."


def other_records(ask: Ask, rows: int) -> NotSeen:
    """What is said of rows at the position of another record."""
    carry = "carries" if rows == 1 else "carry"
    return not_told_apart(
        ask,
        f"{counted(rows, 'row')} of the window {carry} a position that a row of another key had before",
        "Whether records like these came again is not known.",
    )


def without_identity(ask: Ask, identity: Sequence[str]) -> Answer:
    """Where no row of the window has one."""
    name = identity[-1]
    return could_not(
        f"Replayed rows cannot be told: {name} is null in every row of the window.",
        NotSeen(
            source=f"column {name} of {ask.observation.table.name}",
            reason=f"Every row that the window brought has null in {name}.",
            remedy="Look whether the job still fills it; name another column if not.",
        ),
    )
