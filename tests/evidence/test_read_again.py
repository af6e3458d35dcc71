"""What would be read again is counted by source position, and no copy of a row twice."""

import itertools
from pathlib import Path

import pytest

from bot.adapters.case_file import read_case
from bot.domain.evidence import Ask
from bot.domain.guests import case_of
from bot.domain.ids import SnapshotId
from bot.domain.own_points import EndOfMain
from bot.domain.pairing import judged
from bot.domain.table import Snapshot
from spark_tasks._data_files import DataFile
from spark_tasks._read_again import RowsAgain, rows_again
from spark_tasks._restore_reach import commits_above, reach_of_point
from tests.cases import Tale

KEPT = Path("tests/data/cases/restored-from-older-savepoint-v2.zip")


def commits(count: int) -> list[Snapshot]:
    """Commits of one run."""
    return Tale().commits("a", *range(1, count + 1)).snapshots


def file(commit: Snapshot, low: int | None, high: int | None, rows: int) -> DataFile:
    """One that the commit added."""
    return DataFile(
        snapshot_id=commit.snapshot_id, is_added=True, content="data", path="f", format="parquet", rows=rows,
        low=low, high=high,
    )  # fmt: skip


def again(position: int | None, *parts: tuple[int | None, int | None, int]) -> RowsAgain:
    """Each part is the one file of a commit: lowest and highest position, rows."""
    above = commits(len(parts))
    return rows_again(above, {s.snapshot_id: [file(s, *part)] for s, part in zip(above, parts, strict=True)}, position)


@pytest.mark.parametrize(
    ("parts", "told"),
    [
        ([(81, 100, 20), (101, 130, 30)], RowsAgain(50, is_exact=True)),
        ([(41, 60, 20), (61, 80, 20)], RowsAgain(0, is_exact=True)),
        ([(41, 80, 40), (71, 90, 20), (81, 100, 20)], RowsAgain(20, is_exact=True)),
        ([(100, 900, 9), (1000, 1900, 10)], RowsAgain(19, is_exact=True)),
        ([(100, 900, 9), (100, 1900, 19)], RowsAgain(28, is_exact=False)),
        ([(50, 150, 11)], RowsAgain(11, is_exact=False)),
        ([(81, 90, 10), (None, None, 7)], RowsAgain(17, is_exact=False)),
    ],
)
def test_positions_above_count_once(parts: list[tuple[int | None, int | None, int]], told: RowsAgain) -> None:
    """Copies of what the point holds do not count, nor do two copies of one position; what is not told counts whole."""
    assert again(80, *parts) == told


def test_without_a_position_all_rows_count() -> None:
    """So many at the most: whether some repeat others is not known."""
    above = commits(2)

    told = rows_again(above, {}, None)

    assert told == RowsAgain(sum(s.counted("added-records") for s in above), is_exact=False)


def test_commits_nobody_looked_into_count_whole() -> None:
    """The window may end below the head, or begin above the point."""
    above = commits(2)

    told = rows_again(above, {above[0].snapshot_id: [file(above[0], 81, 90, 10)]}, 80)

    assert told == RowsAgain(10 + above[1].counted("added-records"), is_exact=False)


def test_counts_agree_with_the_positions_themselves() -> None:
    """Of dense files whatever their order."""
    ranges = [range(30, 60), range(55, 75), range(10, 40), range(90, 95)]

    for order in itertools.permutations(ranges):
        parts = [(each[0], each[-1], len(each)) for each in order]
        assert again(50, *parts) == RowsAgain(len({p for each in ranges for p in each if p > 50}), is_exact=True)


def kept() -> tuple[Ask, dict[SnapshotId, list[DataFile]]]:
    """A run went on to position 80, and was restored from a savepoint at 40: the other one repeated 41 to 80."""
    case = read_case(KEPT).case
    assert case.ledger is not None
    rows = {row.snapshot_id: row for row in case.ledger.rows}
    brought = {
        s.snapshot_id: [file(s, rows[s.snapshot_id].position_from, rows[s.snapshot_id].position_until,
                             s.counted("added-records"))]
        for s in case.observation.table.chain if s.snapshot_id in rows
    }  # fmt: skip
    return Ask(observation=case.observation, window=case.window, contract=case.contract), brought


def test_a_real_stop_savepoint_reads_only_what_it_does_not_hold() -> None:
    """Main holds 81 to 180 above it; the other 40 rows there repeat 41 to 80."""
    ask, brought = kept()
    table = ask.observation.table
    points = judged(ask.observation.checkpoints.values, table, ask.observation.jobs)
    [(stored, pair)] = [
        (stored, pair)
        for stored, pair in points
        if stored.checkpoint_id == 8 and len(commits_above(table, pair.snapshot_id)) == 9
    ]
    assert pair.snapshot_id is not None

    reach = reach_of_point(ask, stored, pair, {pair.snapshot_id: 80}, brought, EndOfMain(case_of(ask.observation)))

    assert (reach.to_read_again, reach.is_at_most) == (100, False)
