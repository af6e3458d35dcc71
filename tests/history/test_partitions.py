"""Source partitions of which main has no row from below the first: whether anything tells where they begin."""

import pytest

from bot.diagnosis._support.last_good import rows_up_to
from bot.history.case import Case
from bot.history.proof import Right, Unproven, prove
from bot.observation.findings import GapsFinding
from bot.observation.kafka import KafkaPartition
from bot.observation.ledger import SourceRange
from bot.observation.looked import Seen
from tests.cases import Tale
from tests.history.test_proof import TEN, running
from tests.history.test_source_starts import OLD, reads, with_positions
from tests.tables import observing


def parted(tale: Tale, *lows: dict[str, int], **contract: object) -> Case:
    """Each commit on main with ten positions of each of these partitions, from there on."""
    tops = {name: max(each[name] for each in lows if name in each) + TEN - 1 for one in lows for name in one}
    case = tale.looked_at(gaps=GapsFinding(lowest=0, highest=max(tops.values()), positions=40, missing=0, gaps=()))
    assert case.ledger is not None
    ranges = (
        tuple(SourceRange(partition=name, low=low, high=low + TEN - 1, rows=TEN) for name, low in one.items())
        for one in lows
    )
    rows = tuple(row.model_copy(update={"ranges": each}) for row, each in zip(case.ledger.main, ranges, strict=True))
    told = {
        "ledger": case.ledger.model_copy(update={"rows": rows}),
        "contract": case.contract.model_copy(update={"position_partition": "split", **contract}),
    }
    return case.model_copy(update=told)


def on_broker(case: Case, earliest: int) -> Case:
    held = KafkaPartition(topic="orders", partition=0, earliest=earliest, latest=90)
    return observing(case, kafka=Seen[KafkaPartition](source="Kafka", values=(held,)))


LATE = ({"1": 0}, {"1": 10}, {"1": 20, "0": 5})
"""Partition 0 has rows in the newest of three commits only, from position 5 on."""
EMPTY = Tale().flink_runs("a").commits("a", 1, 2).becomes("a", "CANCELED").flink_runs("b").commits("b", 1, 2)
BEGIN = {
    "at position 0": parted(running(), {"1": 7}, {"1": 17}, {"1": 27, "0": 0}),
    "with the job's first rows": parted(running(), {"1": 7, "0": 5}, {"1": 17}, {"1": 27}),
    "where a checkpoint from before stands": parted(
        with_positions(running().keeps_point("a", 2), reads(OLD, 5)), *LATE
    ),
    "below nothing that the broker deleted": on_broker(parted(running(), *LATE, position_is_dense=False), 0),
    "above older rows, with rows of each since": parted(EMPTY, {"0": 0, "1": 0}, {"0": 10}, {"0": 20}, {"1": 10}),
}
OPEN = {
    "later": (parted(running(), *LATE), "where source partition 0 begins: its first rows lie at position 5"),
    "where a checkpoint stood below": (
        parted(with_positions(running().keeps_point("a", 2), reads(OLD, 4)), *LATE),
        "where source partition 0 begins",
    ),
    "where the broker deleted": (
        on_broker(parted(running(), *LATE, position_is_dense=False), 3),
        "where source partition 0 begins",
    ),
    "above older rows, silent since": (
        parted(EMPTY, {"0": 0, "1": 0}, {"0": 10}, {"0": 20}, {"0": 30}),
        "run bbbbbb began: it started without state, and has brought no row of source partition 1",
    ),
    "above rows that have expired": (
        parted(EMPTY.expires("a", 1).expires("a", 2), {"0": 20}, {"0": 30}),
        "run bbbbbb began: it started without state above commits that have expired",
    ),
}


@pytest.mark.parametrize("case", BEGIN.values(), ids=BEGIN)
def test_a_partition_is_known_to_begin(case: Case) -> None:
    """No row can have been left out below."""
    found = prove(case)

    assert isinstance(found, Right), found


@pytest.mark.parametrize(("case", "said"), OPEN.values(), ids=OPEN)
def test_where_nothing_tells_that_the_table_is_not_called_right(case: Case, said: str) -> None:
    """No gap shows what the source left out below the first rows of a partition."""
    found = prove(case)

    assert isinstance(found, Unproven), found
    assert said in found.missing


@pytest.mark.parametrize(("case", "told"), [(BEGIN["at position 0"], "clean"), (OPEN["later"][0], "not-looked-at")])
def test_no_snapshot_with_such_rows_is_called_clean(case: Case, told: str) -> None:
    """The same rows are, where they lie at the beginning."""
    assert rows_up_to(case, case.observation.table.snapshots[-1].snapshot_id) == told
