"""A table's history stays small in memory, and says what the file says."""

import json
import subprocess
import sys
import tracemalloc
from datetime import UTC, datetime
from io import BytesIO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from bot.adapters.iceberg.streaming_metadata import read_split
from bot.observation.ids import TableName
from bot.observation.snapshot import Summaries, unpacked
from bot.observation.table import TableState
from tests.tables import of_flink

pytestmark = pytest.mark.slow

MANY = 5_000
MOST_BYTES = 150
"""One commit of a table that Flink writes, its line in the snapshot log included. Plain records with a dictionary each
took 1,700; half of what is left is the random part of its manifest list's name."""
TEXTS = some.text(alphabet="ab1\0|", max_size=3)


def metadata(many: int) -> bytes:
    """What one Flink job leaves after so many checkpoints, names as long as in life."""
    snapshots = [
        {
            "snapshot-id": 4_000_000_000_000_000_000 + number,
            "parent-snapshot-id": 4_000_000_000_000_000_000 + number - 1,
            "sequence-number": number,
            "timestamp-ms": 1_760_000_000_000 + number * 60_000,
            "manifest-list": f"s3://lake/warehouse/sales/orders/metadata/snap-{number:019d}-1-{number:036d}.avro",
            "schema-id": 0,
            "summary": {
                "operation": "append",
                **of_flink("a", number, {"app.git-sha": "9f1c2ab", "engine-version": "1.20.3"}),
                **{f"total-{what}": str(number * 50_000) for what in ("records", "files-size", "data-files")},
                **{f"added-{what}": str(number % 97) for what in ("records", "files-size", "data-files")},
            },
        }
        for number in range(1, many + 1)
    ]
    log = [{"timestamp-ms": each["timestamp-ms"], "snapshot-id": each["snapshot-id"]} for each in snapshots]
    return json.dumps({"snapshots": snapshots, "snapshot-log": log}).encode()


def state(told: bytes) -> TableState:
    """A table with that history, its chain walked once."""
    _, history = read_split(BytesIO(told).read)
    table = TableState(
        name=TableName("sales.orders"),
        uuid="u",
        location="s3://lake/sales/orders",
        metadata_location="s3://lake/sales/orders/metadata/1.metadata.json",
        format_version=2,
        head=history.snapshots[-1].snapshot_id,
        snapshots=history.snapshots,
        head_moves=history.moves,
        read_at=datetime(2026, 11, 3, tzinfo=UTC),
    )
    assert history.snapshots[0].snapshot_id in table.chain_ids
    return table


def bytes_of_a_commit() -> float:
    """In a process of its own: what threads of other tests allocate would be counted, too."""
    told = metadata(MANY)
    state(told)

    tracemalloc.start()
    table = state(told)
    held, _ = tracemalloc.get_traced_memory()
    assert len(table.chain) == MANY
    return held / MANY


def test_five_thousand_commits_take_little_memory() -> None:
    """Tables of streaming jobs list tens of thousands of commits, and the bot holds several of them at once."""
    code = f"from {__name__} import bytes_of_a_commit; print(bytes_of_a_commit())"

    done = subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.PIPE, text=True)

    assert float(done.stdout) < MOST_BYTES


@given(told=some.lists(some.dictionaries(TEXTS, TEXTS, max_size=4), max_size=6))
@settings(max_examples=60, deadline=None)
def test_no_summary_is_changed_by_packing(told: list[dict[str, str]]) -> None:
    """Whatever writers say, and in whatever order: keys that come and go, values that hold the separator."""
    summaries = Summaries()

    packed = [unpacked(*summaries.packed(each)) for each in told]

    assert [dict(each) for each in packed] == told
    assert all(len(mine) == len(theirs) for mine, theirs in zip(packed, told, strict=True))
    assert all(key in mine for mine, theirs in zip(packed, told, strict=True) for key in theirs)
    assert not any("neither" in mine or mine.get("neither") for mine in packed)


def test_a_bot_that_serves_does_not_hold_what_it_seldom_needs() -> None:
    """Schema changes happen at an upgrade, and agents ask where there are any: 33 MB until then."""
    code = "import bot.cli.serve, bot.cli.web, sys; print(*{'alembic', 'mcp', 'bot'} & set(sys.modules))"

    done = subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.PIPE, text=True)

    assert done.stdout.split() == ["bot"]
