"""What the table holds against what the broker has: only a record without a row is a loss."""

import contextlib
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.types import IntegerType, LongType, NestedField, StringType

from bot.lab.errors import LabError
from bot.lab.home import Home, LabState
from bot.lab.lab import tell
from bot.lab.producer import Orders, Producing
from bot.lab.proof import PartitionProof, open_catalog, prove_topic
from bot.lab.topic import Record, Topic

_TYPES = (("source_partition", pa.int32()), ("source_offset", pa.int64()), ("order_id", pa.string()))


class Broker(Topic):
    """A topic whose records are given."""

    def __init__(self, records: Sequence[Record], starts: dict[int, int]) -> None:
        self._records, self._starts = list(records), starts

    def starts(self) -> dict[int, int]:
        return self._starts

    def records(self) -> list[Record]:
        return self._records


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    with contextlib.closing(open_catalog(Home(tmp_path).small_storage("lake"))) as opened:
        yield opened


@pytest.fixture
def table(catalog: Catalog) -> Table:
    catalog.create_namespace("sales")
    schema = Schema(
        NestedField(1, "source_partition", IntegerType(), required=False),
        NestedField(2, "source_offset", LongType(), required=False),
        NestedField(3, "order_id", StringType(), required=False),
    )
    return catalog.create_table("sales.orders", schema=schema)


def records(partition: int, *offsets: int, prefix: str = "o") -> list[Record]:
    return [Record(partition, offset, f"{prefix}-{partition}-{offset}") for offset in offsets]


def append(table: Table, rows: Sequence[Record]) -> None:
    columns = [pa.array(values, kind) for values, (_, kind) in zip(zip(*rows, strict=True), _TYPES, strict=True)]
    table.append(pa.table(dict(zip((name for name, _ in _TYPES), columns, strict=True))))


def proven(table: Table, there: Sequence[Record], starts: dict[int, int]) -> list[PartitionProof]:
    return list(prove_topic(table, Broker(there, starts)).partitions)


def test_offsets_that_bear_no_record_are_not_missing(table: Table) -> None:
    """A transaction's mark at 2, and one that was aborted at 4 to 5."""
    there = [*records(0, 0, 1, 3, 6), *records(1, 0, 1)]
    append(table, there)

    proof = prove_topic(table, Broker(there, {0: 0, 1: 0}))

    assert proof.is_exactly_once
    assert [(each.rows, each.highest) for each in proof.partitions] == [(4, 6), (2, 1)]


def test_a_record_without_a_row_is_missing_and_what_comes_later_is_on_its_way(table: Table) -> None:
    append(table, records(0, 0, 1, 4))

    (partition,) = proven(table, records(0, 0, 1, 2, 3, 4, 5, 6), {0: 0})

    assert (partition.missing, partition.duplicates) == (((2, 3),), 0)


def test_a_record_with_two_rows_is_there_twice(table: Table) -> None:
    append(table, [*records(0, 0, 1, 1, 2), *records(0, 1)])

    (partition,) = proven(table, records(0, 0, 1, 2), {0: 0})

    assert partition.duplicates == 2


def test_an_offset_that_comes_again_in_another_topic_is_another_record(table: Table) -> None:
    """The topic was deleted and made anew: the pair is the same, the order is not."""
    append(table, [*records(0, 0, 1), *records(0, 0, prefix="new")])

    (partition,) = proven(table, records(0, 0, 1, prefix="new"), {0: 0})

    assert (partition.rows, partition.duplicates, partition.missing) == (3, 0, ())


def test_what_the_broker_deleted_before_it_was_read_is_lost_for_good(table: Table) -> None:
    append(table, records(0, 0, 1, 5))

    (partition,) = proven(table, records(0, 5, 6), {0: 5})

    assert partition.deleted == ((2, 4),)
    assert not prove_topic(table, Broker(records(0, 5, 6), {0: 5})).is_exactly_once


def test_no_order_is_like_another_and_some_are_no_json_where_that_is_asked_for() -> None:
    """Keys come again where the topic is to be compacted; the orders do not."""
    orders = Orders()

    made = [orders.next(Producing(garbage_every=3, keys=2)) for _ in range(6)]

    assert {key for key, _ in made} == {b"k-0", b"k-1"}
    assert [value == b"no JSON" for _, value in made] == [False, False, True, False, False, True]
    assert len({value for _, value in made}) == 5


def test_a_story_of_a_broker_is_refused_in_a_lab_without_one(tmp_path: Path) -> None:
    """Before anything is done to the job."""
    home = Home(tmp_path)
    storage = home.small_storage("lake").model_dump()
    at = {"flink_url": "http://127.0.0.1:9", "gateway_url": "http://127.0.0.1:9"}
    (tmp_path / "lab.json").write_text(
        LabState.model_construct(
            **storage, **at, home=tmp_path, sink="v2", started_at=datetime.now(UTC), table="sales.orders",
            spark_remote="", lineage_path=tmp_path, job_name="orders", code_version="1", start_statements=(),
            session_properties={}, pids={}
        ).model_dump_json()
    )  # fmt: skip

    with pytest.raises(LabError, match="--stack kafka"):
        tell(home, "retention-passed", lambda _: None)
