"""The proof counts what is there twice and what is not there."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.types import LongType, NestedField

from bot.lab.home import Home
from bot.lab.proof import open_catalog, prove


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    """An empty catalog in a file."""

    with contextlib.closing(open_catalog(Home(tmp_path).small_storage("lake"))) as opened:
        yield opened


@pytest.fixture
def table(catalog: Catalog) -> Table:
    """A table of source positions, without a row."""
    catalog.create_namespace("sales")
    schema = Schema(NestedField(1, "source_position", LongType(), required=False))
    return catalog.create_table("sales.orders", schema=schema)


def commit(table: Table, positions: range, job: str, checkpoint: int) -> None:
    """One commit, as Flink's sink would leave it."""
    rows = pa.table({"source_position": pa.array(positions, pa.int64())})
    written = {"flink.job-id": job, "flink.operator-id": "op", "flink.max-committed-checkpoint-id": str(checkpoint)}
    table.append(rows, snapshot_properties=written)


def test_positions_that_are_there_once_are_exactly_once(table: Table) -> None:
    """A table is exactly-once when nothing is missing and nothing is there twice."""
    commit(table, range(1, 11), "a", 1)
    commit(table, range(11, 21), "a", 2)

    proof = prove(table)

    assert (proof.rows, proof.distinct, proof.highest, proof.duplicates) == (20, 20, 20, 0)
    assert proof.missing == ()
    assert proof.is_exactly_once


def test_a_replay_is_counted_row_by_row(table: Table) -> None:
    """Duplicates are rows too many, not commits too many."""
    commit(table, range(1, 11), "a", 1)
    commit(table, range(6, 16), "b", 1)

    proof = prove(table)

    assert proof.duplicates == 5
    assert proof.missing == ()
    assert not proof.is_exactly_once


def test_holes_are_named_with_both_ends(table: Table) -> None:
    """A hole at the very beginning is a hole too; one position alone is a range of one."""
    commit(table, range(3, 6), "a", 1)
    commit(table, range(7, 10), "a", 2)
    commit(table, range(20, 21), "a", 3)

    proof = prove(table)

    assert proof.missing == ((1, 2), (6, 6), (10, 19))
    assert proof.missing_positions == 13
    assert not proof.is_exactly_once


def test_the_chain_holds_ancestors_only_and_oldest_first(table: Table) -> None:
    """A snapshot that was rolled back is no ancestor, and its rows do not count."""
    commit(table, range(1, 11), "a", 1)
    good = table.metadata.current_snapshot_id
    assert good is not None
    commit(table, range(11, 21), "a", 2)
    table.manage_snapshots().rollback_to_snapshot(good).commit()
    commit(table, range(21, 31), "b", 3)

    proof = prove(table.refresh())

    assert [(link.job_id, link.checkpoint_id, link.added_rows) for link in proof.chain] == [("a", 1, 10), ("b", 3, 10)]
    assert proof.missing == ((11, 20),)
    assert proof.head == proof.chain[-1].snapshot_id


def test_an_empty_table_proves_nothing(table: Table) -> None:
    """No row is not the same as every row once."""
    proof = prove(table)

    assert proof.rows == 0
    assert proof.head is None
    assert not proof.is_exactly_once
