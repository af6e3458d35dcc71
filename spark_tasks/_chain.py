"""What breaks a chain of commits, in words; and which of its rows tell most."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice, pairwise

from bot.domain.ids import CheckpointId, JobId, short, short_job
from bot.domain.ledger import Ledger, LedgerRow, SkippedCheckpoint, SkipReason
from bot.domain.listed_views import Mark, Writer, marks_of
from bot.domain.sentences import counted
from bot.domain.table import TableState
from spark_tasks._window import Reach, line_of
from spark_tasks._words import IDS_IN_A_SENTENCE, ids

SAMPLE = 10
_MOST = 3
_BELOW = 10
_SINKS_APART = 2
"""So many checkpoints may one sink of a run be behind another: its commit is tried again when it fails."""


def faults(ledger: Ledger, before: Sequence[Mark], *, manifests_seen: bool) -> list[str]:
    """What breaks the chain, each a few words with its count. `before`: what main carried below the window, the newest
    last.

    An id that no source explains is a fault only if every source was asked.
    """
    rows = ledger.rows
    runs = runs_of(rows)
    lost = [row.snapshot_id for row in rows if not row.on_main]
    foreign = [row.snapshot_id for row in rows if row.job_id is None and row.operation != "replace" and row.has_changes]
    falls = _falls(rows, before)
    found = []
    if len(runs) > 1:
        found.append(f"{len(runs)} job runs ({', '.join(short_job(run) for run in runs[:4])})")
    if lost:
        found.append(f"{counted(len(lost), 'commit')} rolled back ({ids(lost)})")
    if falls:
        times = "once" if len(falls) == 1 else f"{len(falls)} times"
        found.append(f"checkpoint ids repeat or fall {times} (first at {falls[0]})")
    if foreign:
        found.append(f"{counted(len(foreign), 'commit')} by another writer ({ids(foreign)})")
    found += _gone(ledger, SkipReason.SKIPPED, "that the sink refused as already committed")
    found += _gone(ledger, SkipReason.LEAKED, "whose Flink manifest was never committed")
    if manifests_seen:
        found += _gone(ledger, SkipReason.UNEXPLAINED, "without a commit that nothing explains")
    return found


def unexplained(ledger: Ledger) -> list[str]:
    """Ids that no source explains: what the answer cannot tell while a source is down."""
    return _gone(ledger, SkipReason.UNEXPLAINED, "without a commit")


def _gone(ledger: Ledger, reason: SkipReason, words: str) -> list[str]:
    """`3 checkpoints that … (run b92e04: 7–9)`; empty without any."""
    those = [each for each in missing(ledger) if each.reason is reason]
    if not those:
        return []
    number = sum(each.last - each.first + 1 for each in those)
    by_run: dict[JobId | None, list[str]] = {}
    for each in those:
        by_run.setdefault(each.job_id, []).append(each.ids)
    told = [
        f"run {short_job(run)}: {', '.join(ranges[:_MOST])}{' …' if len(ranges) > _MOST else ''}"
        for run, ranges in list(by_run.items())[:_MOST]
    ]
    return [f"{counted(number, 'checkpoint')} {words} ({'; '.join(told)})"]


def missing(ledger: Ledger) -> tuple[SkippedCheckpoint, ...]:
    """Every checkpoint id without a snapshot on main, those between commits first."""
    return (*(each for row in ledger.rows for each in row.skipped), *ledger.trailing)


def carried_before(table: TableState, reach: Reach) -> tuple[Mark, ...]:
    """The newest commits with a checkpoint that main had where the window begins, the newest last: a replay falls below
    that one at once. Several, because sinks of one run take turns."""
    marks = (mark for mark in marks_of(line_of(table, reach.since)) if mark[3] is not None)
    return tuple(islice(marks, _BELOW))[::-1]


def _falls(rows: Iterable[LedgerRow], before: Sequence[Mark]) -> list[str]:
    """Places on main where the next checkpoint id is not higher than the one before it."""
    found = []
    own: dict[Writer, CheckpointId] = {(job, of): told for _, job, of, told in before if job and told is not None}
    newest = before[-1] if before else None
    for row in rows:
        if not row.on_main or row.checkpoint_id is None:
            continue
        if newest is not None and (fallen := _fallen_from(newest, row, own)) is not None:
            found.append(f"{fallen} → {row.checkpoint_id}, {short(row.snapshot_id)}")
        newest = row.snapshot_id, row.job_id, row.operator_id, row.checkpoint_id
        if row.job_id is not None:
            own[row.job_id, row.operator_id] = row.checkpoint_id
    return found


def _fallen_from(newest: Mark, row: LedgerRow, own: Mapping[Writer, CheckpointId]) -> CheckpointId | None:
    """The id that the row's should be higher than, and is not. Two sinks of one run each commit a checkpoint, at nearly
    the same time: such a one only must not fall far below the other, nor to one that it has committed itself."""
    _, job, operator, before = newest
    if before is None or row.checkpoint_id is None:
        return None
    is_other_sink = job is not None and job == row.job_id and None not in (operator, row.operator_id)
    if not is_other_sink or operator == row.operator_id:
        return before if row.checkpoint_id <= before else None
    if row.checkpoint_id < before - _SINKS_APART:
        return before
    its = own.get((job, row.operator_id)) if job is not None else None
    return its if its is not None and row.checkpoint_id <= its else None


def runs_of(rows: Iterable[LedgerRow]) -> list[JobId]:
    """Flink runs in the order of their first commit."""
    return list(dict.fromkeys(row.job_id for row in rows if row.job_id is not None))


def telling(rows: Sequence[LedgerRow]) -> list[LedgerRow]:
    """Ten rows in their order: those around each break of the chain first, then the lost ones that the headline names,
    then the newest. The finding has all."""
    breaks = [n for n, (before, after) in enumerate(pairwise(rows), start=1) if _is_break(before, after)]
    around = [n + step for n in breaks for step in (-1, 0, -2, 1) if 0 <= n + step < len(rows)]
    lost = [n for n, row in enumerate(rows) if not row.on_main][:IDS_IN_A_SENTENCE]
    wanted = list(dict.fromkeys([*around, *lost, *range(len(rows) - 1, -1, -1)]))[:SAMPLE]
    return [rows[n] for n in sorted(wanted)]


def _is_break(before: LedgerRow, after: LedgerRow) -> bool:
    """Whether another run or engine goes on here, one side of it is no longer on main, or files may be missing."""
    if any(each.is_fault for each in after.skipped):
        return True
    return (before.engine, before.job_id, before.on_main) != (after.engine, after.job_id, after.on_main)
