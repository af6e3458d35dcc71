"""A long history that is packed answers whatever a plain one answers."""

import copy
import json
import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from io import BytesIO
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from pydantic import ValidationError

from bot.adapters.iceberg.streaming_metadata import read_split
from bot.domain import listed, packing
from bot.domain.columns import Lazy
from bot.domain.ids import SnapshotId, TableName
from bot.domain.listed import at_checkpoints, first_by, jobs_of
from bot.domain.table import Snapshot, TableState, Window
from spark_tasks._window import line_of
from tests.tables import job, of_flink

MINUTE = 60_000
NOT_NUMBERS = ("", "-", "²", "--5", "9" * 40, "9223372036854775808", "-9223372036854775808", "٣")


@contextmanager
def packed_from(many: int, block: int = 2) -> Iterator[None]:
    """Histories of so many snapshots and more are packed, in blocks of that size."""
    before = (packing.PACKED_FROM, packing.BLOCK, listed.BLOCK)
    packing.PACKED_FROM, packing.BLOCK, listed.BLOCK = many, block, block
    yield
    packing.PACKED_FROM, packing.BLOCK, listed.BLOCK = before


def commit(number: int, parent: int | None, summary: dict[str, str], sequence: int | None = None) -> dict[str, Any]:
    """One snapshot as the metadata file has it."""
    return {
        "snapshot-id": number,
        **({} if parent is None else {"parent-snapshot-id": parent}),
        "sequence-number": number if sequence is None else sequence,
        "timestamp-ms": 1_760_000_000_001 + number * MINUTE,
        "manifest-list": f"s3://lake/{'old/' * (number % 3 == 0)}snap-{number}.avro",
        "schema-id": number % 2,
        "summary": {"operation": "append", **summary},
    }


def state(snapshots: list[dict[str, Any]], heads: list[int], *, packed: bool) -> TableState:
    """A table whose head was each of these, the last one last."""
    log = [{"timestamp-ms": 1_760_000_000_000, "snapshot-id": head} for head in heads]
    told = json.dumps({"snapshots": snapshots, "snapshot-log": log}).encode()
    with packed_from(0 if packed else 10_000):
        _, history = read_split(BytesIO(told).read)
    return TableState(
        name=TableName("sales.orders"),
        uuid="u",
        location="s3://lake",
        metadata_location="s3://lake/1.metadata.json",
        format_version=2,
        head=SnapshotId(heads[-1]) if heads else None,
        snapshots=history.snapshots,
        refs=(),
        head_moves=history.moves,
        properties={},
        columns=(),
        read_at=datetime(2026, 11, 3, tzinfo=UTC),
    )


@some.composite
def histories(draw: some.DrawFn) -> tuple[list[dict[str, Any]], list[int]]:
    """Branches and expired parents, several writers, checkpoint ids that are none, in any order."""
    told = []
    for number in range(1, draw(some.integers(1, 9))):
        parent = draw(some.sampled_from([None, 0, *range(1, number)]))
        checkpoint = draw(some.sampled_from([str(number), *NOT_NUMBERS]))
        flink = of_flink(draw(some.sampled_from("ab")), 0, {"flink.max-committed-checkpoint-id": checkpoint})
        spark = {"spark.app.id": "local-1", "note": draw(some.sampled_from(["", "\0", "a\0b"]))}
        told.append(commit(number, parent, draw(some.sampled_from([flink, spark, {}])), draw(some.integers(1, 4))))
    told = draw(some.permutations(told))
    heads = draw(some.lists(some.sampled_from([each["snapshot-id"] for each in told] or [0]), max_size=5))
    return told, heads


@given(history=histories())
@settings(max_examples=60, deadline=None)
def test_a_packed_history_answers_as_a_plain_one(history: tuple[list[dict[str, Any]], list[int]]) -> None:
    """Chains, branches, windows, writers, and what is saved of it."""
    plain, packed = state(*history, packed=False), state(*history, packed=True)

    with packed_from(0):
        assert isinstance(packed.snapshots, Lazy)
        assert packed == plain
        assert plain == packed
        assert list(packed.chain) == list(plain.chain)
        assert list(reversed(packed.chain)) == list(reversed(plain.chain))
        assert (packed.chain[:2], packed.chain[-1:]) == (tuple(plain.chain[:2]), tuple(plain.chain[-1:]))
        assert set(packed.chain_ids) == set(plain.chain_ids)
        assert dict(packed.by_id) == dict(plain.by_id)
        assert packed.rolled_back == plain.rolled_back
        assert packed.of_flink == plain.of_flink
        assert packed.model_dump_json() == plain.model_dump_json()
        assert jobs_of(packed.snapshots) == jobs_of(plain.snapshots)
        for jobs in ({job("a")}, {job("b")}, {job("a"), job("b")}, set()):
            assert list(first_by(packed.chain, jobs)) == list(first_by(plain.chain, jobs))
        for checkpoints in (set(), {-(2**63), 2, 3}, {each.checkpoint_id for each in plain.chain} - {None}):
            assert list(at_checkpoints(packed.chain, checkpoints)) == list(at_checkpoints(plain.chain, checkpoints))
        for one in [0, *plain.by_id]:
            assert list(line_of(packed, SnapshotId(one))) == list(plain.ancestors(SnapshotId(one)))
            assert (one in packed.by_id, one in packed.chain_ids) == (one in plain.by_id, one in plain.chain_ids)
            assert list(packed.ancestors(SnapshotId(one))) == list(plain.ancestors(SnapshotId(one)))
            for until in plain.by_id:
                window = Window(since=SnapshotId(one) or None, until=until)
                assert window.of(packed) == window.of(plain)
        for mine, theirs in zip(packed.snapshots, plain.snapshots, strict=True):
            names = ("job_id", "operator_id", "checkpoint_id", "engine", "is_repair", *Snapshot.model_fields)
            assert [getattr(mine, name) for name in names] == [getattr(theirs, name) for name in names]


@pytest.fixture
def packed() -> Iterator[TableState]:
    """Five commits of one run."""
    commits = [commit(n, n - 1 or None, of_flink("a", n, {"added-records": str(n)})) for n in range(1, 6)]
    with packed_from(0):
        yield state(commits, [5], packed=True)


def test_a_snapshot_of_a_packed_history_is_a_snapshot(packed: TableState) -> None:
    """Copied, saved and compared like any other."""
    mine = packed.snapshots[2]

    plain = Snapshot.model_validate_json(mine.model_dump_json())

    assert type(plain) is Snapshot
    assert (mine == plain, plain == mine) == (True, True)
    assert mine != packed.snapshots[1]
    assert mine.model_dump() == plain.model_dump()
    assert [copy.copy(mine), copy.deepcopy(mine), pickle.loads(pickle.dumps(mine))] == [plain] * 3  # noqa: S301
    assert mine.model_copy(update={"schema_id": 9}).schema_id == 9
    assert (mine.schema_id, mine.counted("added-records"), repr(mine.snapshot_id)) == (1, 3, "3")


def test_a_packed_snapshot_cannot_be_changed(packed: TableState) -> None:
    """It is a record."""
    with pytest.raises((ValidationError, AttributeError)):
        packed.snapshots[0].schema_id = 7  # type: ignore[misc]


def test_a_packed_history_is_read_again_as_a_plain_one(packed: TableState) -> None:
    """A saved case does not depend on how its table was held."""
    again = TableState.model_validate_json(packed.model_dump_json())

    assert isinstance(again.snapshots, tuple)
    assert again == packed


def test_a_place_beyond_the_history_is_refused(packed: TableState) -> None:
    """As of any sequence."""
    assert packed.snapshots[-1].snapshot_id == 5

    with pytest.raises(IndexError):
        packed.snapshots[5]


@pytest.mark.parametrize("name", ["snapshot-id", "timestamp-ms", "sequence-number"])
def test_a_number_beyond_the_format_s_is_no_metadata(name: str) -> None:
    """The format's numbers are longs; whoever writes others is not read halfway."""
    with pytest.raises(ValueError, match="Not Iceberg metadata"):
        state([commit(1, None, {}) | {name: 1 << 70}], [1], packed=True)
