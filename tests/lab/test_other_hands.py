"""What other hands do to a table, on a real table without a cluster."""

import contextlib
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

from bot.lab.external_writers import ExternalWriter
from bot.lab.home import Home, LabState, local
from bot.lab.orders import numbers, start_statements, with_sink_options
from bot.lab.proof import open_catalog, prove

JOB, OPERATOR = "a" * 32, "b" * 32


@pytest.fixture
def hands(tmp_path: Path) -> ExternalWriter:
    """Hands on a table with two commits of one Flink job: checkpoint 1 with positions 1 to 10, then 2 to 20."""
    storage = Home(tmp_path).small_storage("lake")
    with contextlib.closing(open_catalog(storage)) as catalog:
        catalog.create_namespace("sales")
        schema = Schema(NestedField(1, "source_position", LongType(), required=False))
        table = catalog.create_table("sales.orders", schema=schema)
        for checkpoint, positions in ((1, range(1, 11)), (2, range(11, 21))):
            table.append(
                pa.table({"source_position": pa.array(positions, pa.int64())}),
                snapshot_properties={
                    "flink.job-id": JOB,
                    "flink.operator-id": OPERATOR,
                    "flink.max-committed-checkpoint-id": str(checkpoint),
                },
            )
    state = LabState.model_construct(**storage.model_dump(), table="sales.orders")
    return ExternalWriter(Home(tmp_path), state)


def test_a_commit_that_comes_again_brings_the_same_files_under_the_same_checkpoint(hands: ExternalWriter) -> None:
    """A repeated commit is told from a replay by its file paths: they are the same."""
    with hands.table() as table:
        head = int(table.metadata.current_snapshot_id or 0)

    again = hands.commit_again(head)

    with hands.table() as table:
        proof = prove(table)
        paths = [file.file.file_path for file in table.scan().plan_files()]
    assert (proof.chain[-1].snapshot_id, proof.chain[-1].parent_id) == (again, head)
    assert [(link.job_id, link.checkpoint_id) for link in proof.chain] == [(JOB, 1), (JOB, 2), (JOB, 2)]
    assert proof.duplicates == 10
    assert (len(paths), len(set(paths))) == (3, 2)


def test_a_removed_data_file_makes_the_table_unreadable(hands: ExternalWriter) -> None:
    """The file is gone from storage, and the metadata still names it."""
    with hands.table() as table:
        head = int(table.metadata.current_snapshot_id or 0)

    gone = hands.remove_data_file(head)

    assert not Path(gone).exists()
    with hands.table() as table, pytest.raises(FileNotFoundError):
        prove(table)


def test_a_removed_metadata_file_is_the_one_the_catalog_points_at(hands: ExternalWriter) -> None:
    """Nobody can open the table afterwards."""
    with hands.table() as table:
        current = local(table.metadata_location)

    gone = hands.remove_metadata_file()

    assert gone == str(current)
    with pytest.raises(FileNotFoundError), hands.table():
        pass


def test_flink_manifests_are_found_by_run_and_checkpoint(hands: ExternalWriter, tmp_path: Path) -> None:
    """Neither another run's manifest, nor the same run's of checkpoint 13, is taken for the one of checkpoint 3."""
    metadata = tmp_path / "warehouse" / "sales" / "orders" / "metadata"
    mine = metadata / f"{JOB}-{OPERATOR}-00000-0-3-00003.avro"
    others = [f"{JOB}-{OPERATOR}-00000-0-13-00013.avro", f"{'c' * 32}-{OPERATOR}-00000-0-3-00003.avro"]
    for file in (mine, *(metadata / name for name in others)):
        file.touch()

    found = hands.flink_manifests(JOB, 3)

    assert found == [mine]


def test_options_of_the_sink_change_nothing_else_in_the_statement(tmp_path: Path) -> None:
    """The hint stands behind the table's name, where Flink reads it."""
    insert = start_statements(Home(tmp_path).small_storage("lake"), numbers(datetime(2026, 11, 21, tzinfo=UTC)))[-1]
    hint = " /*+ OPTIONS('uid-suffix'='second', 'write-parallelism'='2') */"

    hinted = with_sink_options(insert, {"uid-suffix": "second", "write-parallelism": "2"})

    assert hinted.startswith(f"INSERT INTO `lake`.`sales`.`orders`{hint}\nSELECT")
    assert hinted.replace(hint, "") == insert
