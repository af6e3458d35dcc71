"""Which lost commits were read and committed again since, or may be yet, by the source positions that the ledger tells
of each."""

from collections.abc import Sequence

from bot.actions._rehearsing import every, listed
from bot.domain.diagnosis import Case
from bot.domain.errors import Refused
from bot.domain.guests import commits_that_bind
from bot.domain.ids import SnapshotId, short
from bot.domain.ledger import LedgerRow, Sink
from bot.domain.table import Snapshot

_BY_KEY = "replay the source range by key"


def not_read_again(case: Case, lost: Sequence[Snapshot]) -> tuple[tuple[SnapshotId, ...], tuple[str, ...]]:
    """(those whose source positions no commit of main has brought since and that the job will not bring, why each of
    the others stays out, a sentence).

    A job that has committed since the rollback brings by itself what lies above its newest position. Of a source of
    several partitions the ledger tells one range over all of them: only ranges that are apart prove anything. Raises
    Refused where that cannot be told, and where there is none.
    """
    rows = {row.snapshot_id: row for row in case.ledger.rows} if case.ledger else {}
    first = (lost[0].sequence_number, lost[0].committed_at)
    since = [r for r in rows.values() if r.on_main and r.age > first and r.added_rows and r.sink is not Sink.COMPACTION]
    untold = [s for s in lost if s.snapshot_id not in rows or rows[s.snapshot_id].position_from is None]
    if untold or any(row.position_from is None for row in since):
        raise Refused(
            "Whether the lost commits were read again cannot be told.",
            "Expected the source positions of every commit since the rollback; the ledger does not have them all.",
            f"Name `position` in the contract and collect the ledger again, or {_BY_KEY}.",
        )
    met = {s.snapshot_id: [r.snapshot_id for r in since if _overlap(rows[s.snapshot_id], r)] for s in lost}
    again = {lost_one: brought for lost_one, brought in met.items() if brought}
    if again and case.contract.position_partition is not None:
        raise _of_several_partitions(tuple(again))
    if len(again) == len(lost):
        raise _none_left(tuple(again), is_whole=all(_is_within(rows[each], since) for each in again))
    why = {
        each: f"Lost commit {short(each)} stays out: {every(brought)} brought source positions of it since, and its "
        "files can only be added whole. What of it was not read again is not put back by this."
        for each, brought in again.items()
    }
    reached = _reached(case, since)
    if (
        reached is not None
        and case.contract.position_partition is not None
        and any(_ends(rows[each])[1] > reached for each in met)
    ):
        raise _of_several_partitions(tuple(met))
    if reached is not None:
        why |= {
            each: f"Lost commit {short(each)} stays out: since the rollback the job has committed up to "
            f"{_position(case, reached)}, and brings by itself what lies above."
            for each in met
            if each not in again and _ends(rows[each])[1] > reached
        }
    if len(why) == len(lost):
        raise _coming_yet(tuple(each for each in why if each not in again), _position(case, reached))
    return tuple(s.snapshot_id for s in lost if s.snapshot_id not in why), tuple(why.values())


def _position(case: Case, reached: int | None) -> str:
    is_told = reached is not None and not case.contract.hides(case.contract.position)
    return f"position {reached:,}" if is_told else "a position that is not shown"


def _reached(case: Case, since: Sequence[LedgerRow]) -> int | None:
    """The highest source position that the job has committed since; None where it has committed nothing."""
    own = {s.snapshot_id for s in commits_that_bind(case)}
    return max((_ends(row)[1] for row in since if row.snapshot_id in own), default=None)


def _overlap(lost: LedgerRow, later: LedgerRow) -> bool:
    (low, high), (since, until) = _ends(lost), _ends(later)
    return low <= until and since <= high


def _is_within(lost: LedgerRow, since: Sequence[LedgerRow]) -> bool:
    """Whether the later commits' ranges leave out no position of the lost one's."""
    reached, high = _ends(lost)
    for low, until in sorted(map(_ends, since)):
        if low > reached:
            break
        reached = max(reached, until + 1)
    return reached > high


def _ends(row: LedgerRow) -> tuple[int, int]:
    return row.position_from or 0, row.position_until or 0


def _of_several_partitions(lost: Sequence[SnapshotId]) -> Refused:
    return Refused(
        "Whether the lost commits were read again cannot be told.",
        "Expected source positions that no commit brought since. The source has several partitions, the ledger tells "
        f"one range over all of them, and that of {listed(lost)} overlaps with what is on main, or reaches above it: "
        "the job may have passed it by, or come to it yet.",
        f"Look which rows are missing (`/waterline run missing_positions`), and {_BY_KEY}.",
    )


def _coming_yet(lost: Sequence[SnapshotId], reached: str) -> Refused:
    return Refused(
        "The job may still bring the lost commits' rows by itself.",
        f"Expected it to have gone past their source positions since the rollback; it has committed up to {reached}, "
        f"and {listed(lost)} reach above that.",
        "Wait until it has gone past them, collect the ledger again (`/waterline run ledger`), and propose this again "
        "if rows are missing then.",
    )


def _none_left(lost: Sequence[SnapshotId], *, is_whole: bool) -> Refused:
    expected = "Expected source positions that no commit brought since; "
    if is_whole:
        return Refused(
            "The lost commits have been read again from the source.",
            f"{expected}those of {listed(lost)} are on main.",
            "Nothing has to be restored. Diagnose again.",
        )
    return Refused(
        "The lost commits have been read again from the source in part, and their files can only be added whole.",
        f"{expected}some of those of {listed(lost)} are on main.",
        f"Look which rows are missing (`/waterline run missing_positions`), and {_BY_KEY}.",
    )
