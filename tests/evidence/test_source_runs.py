"""Ranges that overlap are read again only where a run's source went back, or where two runs brought them."""

from collections.abc import Sequence

import pytest

from bot.domain.evidence import Verdict
from bot.domain.ids import OperatorId, SnapshotId
from spark_tasks._covered import Range
from spark_tasks._source_runs import by_two_runs, read_twice
from tests.cases import Tale
from tests.evidence.conftest import Asks
from tests.tables import OrdersTable


@pytest.mark.parametrize("second", [range(2, 6), (2, 5), ()], ids=["in each commit", "in some", "never"])
def test_partitions_that_the_contract_does_not_tell_apart_repeat_nothing(
    orders: OrdersTable, asks: Asks, second: Sequence[int]
) -> None:
    """Each counts its own positions: a commit may reach from the one partition's to the other's."""
    before = orders.commits("a", 1, [0, 1000])
    for checkpoint in range(2, 6):
        orders.commits("a", checkpoint, [1000 + checkpoint, *([checkpoint] if checkpoint in second else [])])

    answer = asks("duplicate_commits", orders.ask(before))

    assert answer.verdict is Verdict.RULED_OUT


def test_two_sinks_of_one_run_repeat_nothing_of_each_other() -> None:
    """Each brings what it reads of its own topic."""
    both = Tale().flink_runs("a").commits("a", 1).commits("a", 1).by_sink(OperatorId("ee" * 16))
    alone = Tale().flink_runs("a").commits("a", 1, 2)

    told = [read_twice(tale.table, tale.snapshots, _at(tale, 0, 0), {_ids(tale)}) for tale in (both, alone)]

    assert [frozenset(), {_ids(alone)}] == told


def test_a_source_that_begins_nowhere_anew_has_not_gone_back() -> None:
    """The ranges of two commits overlap, as those of several partitions do."""
    tale = Tale().flink_runs("a").commits("a", 1, 2)

    assert frozenset() == read_twice(tale.table, tale.snapshots, _at(tale, 0, 5), {_ids(tale)})


def test_a_compaction_by_the_job_itself_reads_nothing_again() -> None:
    """It moves rows into new files, which cover the positions of the old ones."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).flink_runs("b", restored=2).commits("b", 3, operation="replace")
    _, first, again = tale.snapshots

    assert not by_two_runs(tale.table, first, again)


def _ids(tale: Tale) -> tuple[SnapshotId, SnapshotId]:
    first, again = (s.snapshot_id for s in tale.snapshots)
    return first, again


def _at(tale: Tale, *begins: int) -> list[Range]:
    """Ten positions each."""
    return [Range(s, "", low, low + 9) for s, low in zip(_ids(tale), begins, strict=True)]
