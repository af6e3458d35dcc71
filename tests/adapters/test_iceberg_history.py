"""History that is read apart from the rest of the metadata is the same history."""

import gzip
import json
from collections.abc import Callable
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path

import pytest
from pyiceberg.catalog import load_catalog
from pyiceberg.io import load_file_io
from pyiceberg.serializers import FromInputFile

from bot.adapters.iceberg.reading import table_state
from bot.adapters.iceberg.streaming_metadata import LeanFileIO, catching, lean, read_split
from bot.domain.ids import TableName

FLINKS = sorted((Path(__file__).parents[1] / "evidence" / "fixtures").glob("*.metadata.json"))
NAME = TableName("sales.orders")
NOON = datetime(2026, 11, 3, 12, tzinfo=UTC)


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
    assert table_state(NAME, whole, "m", NOON, history) == table_state(NAME, whole, "m", NOON)
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
