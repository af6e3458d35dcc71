"""What the catalog says of a table and its history, also of commits that have expired."""

import copy
import gzip
import json
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from pydantic import ValidationError
from pyiceberg.catalog import load_catalog
from pyiceberg.io import load_file_io
from pyiceberg.serializers import FromInputFile

from bot.adapters.iceberg import PyIcebergCatalog, packing
from bot.adapters.iceberg.streaming_metadata import LeanFileIO, catching, lean, read_split, table_state
from bot.observation import listed
from bot.observation.errors import CouldNotLook, UnknownTable
from bot.observation.ids import SnapshotId, TableName
from bot.observation.listed import Lazy, at_checkpoints, first_by, jobs_of
from bot.observation.table import Snapshot, TableState, Window
from spark_tasks._support.window import line_of
from tests.adapters.conftest import NOON, StandingClock
from tests.adapters.lake import ORDERS, Lake
from tests.adapters.serving import unused_address
from tests.tables import job, of_flink


def test_a_loaded_table_has_its_whole_history(lake: Lake, catalog: PyIcebergCatalog) -> None:
    """Snapshots by rising sequence, summaries as strings with the operation, log, refs, columns, properties."""
    head = lake.append(7, **{"flink.job-id": "a" * 32, "flink.max-committed-checkpoint-id": "12"})

    table = catalog.load(ORDERS)

    assert table.head == head
    assert [s.snapshot_id for s in table.snapshots] == lake.heads
    assert [s.snapshot_id for s in reversed(table.chain)] == lake.heads
    assert [move.snapshot_id for move in table.head_moves] == lake.heads
    assert table.snapshots[-1].checkpoint_id == 12
    assert table.snapshots[-1].summary["operation"] == "append"
    assert table.snapshots[-1].counted("added-records") == 1
    assert table.snapshots[0].engine == "unknown"
    assert abs(table.snapshots[-1].committed_at - table.head_moves[-1].at) < timedelta(seconds=1)
    assert [(ref.name, ref.kind) for ref in table.refs] == [("main", "branch")]
    assert [(column.name, column.type) for column in table.columns] == [("order_id", "string"), ("position", "long")]
    assert table.properties["owner"] == "ana"
    assert table.metadata_location == lake.table.metadata_location
    assert table.read_at == NOON


def test_an_empty_table_has_no_head(lake: Lake, catalog: PyIcebergCatalog) -> None:
    """A table without commits is a table."""
    lake.catalog.create_table("sales.empty", schema=lake.table.schema())

    table = catalog.load(TableName("sales.empty"))

    assert table.head is None
    assert table.snapshots == ()


@pytest.mark.parametrize("name", ["sales.nothing", "nowhere.orders"])
def test_an_unknown_table_is_named(catalog: PyIcebergCatalog, name: str) -> None:
    """No such table, or no such namespace: the catalog did answer."""
    with pytest.raises(UnknownTable, match=f"no table {name}"):
        catalog.load(TableName(name))


@pytest.mark.parametrize(
    "properties",
    [
        {"type": "rest", "uri": unused_address()},
        {"type": "sql", "uri": "sqlite:////nowhere/at/all.db"},
        {"type": "sql"},
        {"type": "no-such-kind"},
    ],
    ids=["nobody listens", "no such folder", "no uri", "no such kind"],
)
def test_a_catalog_that_cannot_be_opened_is_could_not_look(properties: dict[str, str], clock: StandingClock) -> None:
    """The bot starts all the same; each look says what is wrong."""
    catalog = PyIcebergCatalog("lake", properties, clock)

    with pytest.raises(CouldNotLook):
        catalog.load(ORDERS)
    with pytest.raises(CouldNotLook):
        catalog.tables()


def test_tables_of_nested_namespaces_are_listed_once(lake: Lake, catalog: PyIcebergCatalog) -> None:
    """Every table of every namespace, by name."""
    lake.catalog.create_namespace("sales.eu")
    for name in ("sales.eu.orders", "sales.returns"):
        lake.catalog.create_table(name, schema=lake.table.schema())

    assert catalog.tables() == ("sales.eu.orders", "sales.orders", "sales.returns")


def test_a_closed_catalog_connects_again(lake: Lake, catalog: PyIcebergCatalog) -> None:
    """Closing gives back connections and is no end; twice is once."""
    catalog.load(ORDERS)

    catalog.close()
    catalog.close()

    assert catalog.load(ORDERS).head == lake.heads[-1]


def test_another_catalog_name_is_another_catalog(lake: Lake, clock: StandingClock) -> None:
    """In a SQL catalog the name is part of the key: a wrong one finds no table, and says so."""
    other = load_catalog("other", **lake.properties)
    adapter = PyIcebergCatalog("other", lake.properties, clock)

    with pytest.raises(UnknownTable, match="Expected it in the catalog other"):
        adapter.load(ORDERS)
    adapter.close()
    other.close()


FLINKS = sorted((Path(__file__).parents[1] / "evidence" / "fixtures").glob("*.metadata.json"))
NAME = TableName("sales.orders")
ICEBERG_HISTORY_NOON = datetime(2026, 11, 3, 12, tzinfo=UTC)


def in_pieces_of(size: int, told: bytes) -> Callable[[int], bytes]:
    """A storage that hands out no more than `size` bytes at a time."""
    stream = BytesIO(told)
    return lambda _wanted: stream.read(size)


@pytest.mark.parametrize("metadata", FLINKS, ids=lambda path: path.name)
@pytest.mark.parametrize("size", [1, 7, 1 << 18])
def test_flinks_metadata_is_split_without_loss(metadata: Path, size: int) -> None:
    """However the file is cut into pieces, rest and history together say what PyIceberg reads at once."""
    whole = FromInputFile.table_metadata(load_file_io({}, str(metadata)).new_input(str(metadata)))

    rest, history = read_split(in_pieces_of(size, metadata.read_bytes()))

    told = json.loads(metadata.read_bytes())
    assert rest == {**told, "snapshots": [], "snapshot-log": []}
    assert table_state(NAME, whole, "m", ICEBERG_HISTORY_NOON, history) == table_state(
        NAME, whole, "m", ICEBERG_HISTORY_NOON
    )
    assert len(history.snapshots) == len(told["snapshots"]) > 0


@pytest.mark.parametrize("ending", [".metadata.json", ".gz.metadata.json"])
def test_pyiceberg_sees_the_rest_and_we_catch_the_history(tmp_path: Path, ending: str) -> None:
    """Packed or not, PyIceberg's own reader accepts what is left."""
    told = FLINKS[0].read_bytes()
    path = tmp_path / f"00007{ending}"
    path.write_bytes(gzip.compress(told) if "gz" in ending else told)

    with catching() as caught:
        rest = FromInputFile.table_metadata(LeanFileIO().new_input(str(path)))

    assert rest.snapshots == []
    assert rest.current_snapshot_id == json.loads(told)["current-snapshot-id"]
    assert len(caught[str(path)].snapshots) == len(json.loads(told)["snapshots"])


def test_without_snapshots_history_is_empty() -> None:
    """A table that was never written to may have null, an empty array, or nothing there."""
    for told in (b"{}", b'{"snapshots": []}', b'{"snapshots": null, "snapshot-log": null}'):
        _, history = read_split(BytesIO(told).read)

        assert (len(history.snapshots), len(history.moves)) == (0, 0)


@pytest.mark.parametrize(
    "told",
    [
        b"",
        b"[]",
        b"<html>login</html>",
        b'{"snapshots": 7}',
        b'{"snapshots": [{"snapshot-id": 1}]}',
        b'{"snapshots": [7]}',
        b'{"snapshots": [{"snapshot-id": 1, "timestamp-ms": 1, "manifest-li',
        b'{"location": "caf\xe9"}',
    ],
)
def test_what_is_no_metadata_is_refused(told: bytes) -> None:
    """A cut or foreign file is never taken for a short history."""
    with pytest.raises(ValueError, match=r"."):
        read_split(BytesIO(told).read)


def test_rows_tell_their_writers_since_the_first_snapshot_with_row_ids() -> None:
    """Of a table that was upgraded to format 3, that is the lowest listed one that was made since; else none is."""
    upgraded = [_snapshot(1), _snapshot(2), {**_snapshot(3), "first-row-id": 0}, {**_snapshot(4), "first-row-id": 9}]

    for snapshots, since in ((upgraded, 3), (upgraded[:2], None)):
        _, history = read_split(BytesIO(json.dumps({"snapshots": snapshots}).encode()).read)

        assert history.lineage_since == since


def _snapshot(number: int) -> dict[str, object]:
    return {"snapshot-id": number, "sequence-number": number, "timestamp-ms": number, "manifest-list": f"{number}.avro"}


def test_a_reader_writes_nothing(tmp_path: Path) -> None:
    """What was read without history must never be written back."""
    reader = LeanFileIO()

    with pytest.raises(OSError, match="opened for reading"):
        reader.new_output(str(tmp_path / "1.metadata.json"))
    with pytest.raises(OSError, match="opened for reading"):
        reader.delete(str(tmp_path / "1.metadata.json"))


def test_a_configured_file_io_is_left_alone() -> None:
    """Whoever names an implementation of their own keeps it, and PyIceberg reads the history."""
    theirs = {"py-io-impl": "pyiceberg.io.fsspec.FsspecFileIO"}

    assert lean(theirs) == theirs
    assert load_catalog("lake", **lean({"type": "in-memory"})).properties["py-io-impl"].endswith("LeanFileIO")


def by_flink(lake: Lake, checkpoint: int) -> SnapshotId:
    """One commit of a Flink run."""
    run = {"flink.job-id": "a" * 32, "flink.max-committed-checkpoint-id": str(checkpoint)}
    return lake.append(checkpoint, **run)


def keeps_only_the_head(lake: Lake) -> Path:
    """Expires all below; the answer is the metadata file from before."""
    table = lake.table
    before = Path(table.metadata_location.removeprefix("file://"))
    table.maintenance.expire_snapshots().by_ids([each for each in lake.heads if each != lake.heads[-1]]).commit()
    return before


def test_the_line_below_main_is_told_oldest_first(lake: Lake, catalog: PyIcebergCatalog) -> None:
    """PyIceberg's expiry leaves no parent in the snapshot that stays; the older file still has it."""
    expired = [by_flink(lake, 1), by_flink(lake, 2)]
    lake.append(9)
    keeps_only_the_head(lake)

    table = catalog.load(ORDERS)
    told = catalog.expired(table)

    assert [each.snapshot_id for each in told][-2:] == expired
    whole = table.below(told)
    assert [each.snapshot_id for each in whole.chain] == [
        lake.heads[-1],
        *reversed([each.snapshot_id for each in told]),
    ]
    assert [each.checkpoint_id for each in whole.of_flink] == [1, 2]


def test_it_is_followed_over_several_expiries(lake: Lake, catalog: PyIcebergCatalog) -> None:
    """Each left one commit by another engine."""
    last = by_flink(lake, 7)
    for position in (8, 9, 10):
        lake.append(position)
        keeps_only_the_head(lake)

    told = catalog.expired(catalog.load(ORDERS))

    assert len(told) >= 3
    assert [each.snapshot_id for each in told if each.checkpoint_id == 7] == [last]


def test_a_file_that_is_gone_is_passed_over(lake: Lake, catalog: PyIcebergCatalog) -> None:
    """The one before it tells of the line too, as far as that had come; with a hole nothing is told."""
    by_flink(lake, 7)
    lake.append(8)
    keeps_only_the_head(lake).unlink()

    assert catalog.expired(catalog.load(ORDERS)) == ()


def test_nothing_was_expired(lake: Lake, catalog: PyIcebergCatalog) -> None:
    """Older files tell of nothing below the table's first commit."""
    by_flink(lake, 1)

    assert catalog.expired(catalog.load(ORDERS)) == ()


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
        head_moves=history.moves,
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
