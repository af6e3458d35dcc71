"""Manifests that a committer's state lists count for the table that they belong to, in whichever folder they lie."""

from pathlib import Path

import pytest
from pyiceberg.table.metadata import TableMetadataUtil

from bot.adapters.checkpoint_files import CheckpointFiles
from bot.adapters.checkpoint_parsing import told_by
from bot.adapters.iceberg.reading import table_state
from bot.domain.findings import Pairing, PairVerdict
from bot.domain.looked import NotSeen
from bot.domain.pairing import folder_of_manifests, owed_to, pairing
from bot.domain.table import TableState
from tests.adapters.test_checkpoint_parsing import COMMITTER_V1_120, V1_120, recorded
from tests.evidence.restore_points import FIXTURES, NOON
from tests.tables import ORDERS

STOPPED = "v1_stop_savepoint__metadata"
OWN = b"/lake/warehouse/tbl/v1d/metadata/"
NAME = f"{V1_120}-{COMMITTER_V1_120}-00000-0-8-00008.avro"


def moved(to: str) -> bytes:
    """A real stop-savepoint whose one pending manifest lies in another folder, of the same length as the real one."""
    assert len(to) == len(OWN)
    content = recorded(STOPPED)
    assert content.count(OWN) == 1
    return content.replace(OWN, to.encode())


ELSEWHERE = "/lake/warehouse/flink-manifest/a/"
ANOTHER_TABLES = "/lake/warehouse/tbl/v9d/metadata/"
AT_A_ROOT = "/lake/warehouse/flink-manifest-a/"


def without_its_commit(**properties: str) -> TableState:
    """The table that the run wrote, before its last commit: what savepoint 8 holds has not reached it."""
    metadata = TableMetadataUtil.parse_raw((FIXTURES / "v1d.metadata.json").read_text(encoding="utf-8"))
    whole = table_state(ORDERS, metadata, f"{OWN.decode()}v7.metadata.json", NOON)
    kept = [s for s in whole.snapshots if s.job_id == V1_120 and (s.checkpoint_id or 0) < 8]
    fields = {"snapshots": tuple(kept), "head": kept[-1].snapshot_id, "head_moves": (), "properties": properties}
    return whole.model_copy(update=fields)


def restored_from(content: bytes, table: TableState, folder: Path) -> Pairing:
    """What a restore from that file would meet, read from storage."""
    (folder / "savepoint-1").mkdir()
    (folder / "savepoint-1" / "_metadata").write_bytes(content)
    unseen = NotSeen(source="Flink", reason="It was not asked.", remedy="Ask it.")
    return pairing(CheckpointFiles(None, str(folder)).read(str(folder / "savepoint-1")), table, unseen)


@pytest.mark.parametrize("folder", [OWN.decode(), ELSEWHERE, AT_A_ROOT, ANOTHER_TABLES])
def test_a_manifest_is_told_with_its_folder(folder: str) -> None:
    """The name tells run and checkpoint; the folder tells whose it is."""
    told = told_by(moved(folder))

    assert (NAME,) == told.pending_manifests
    assert {NAME: (folder.rstrip("/"),)} == told.manifest_folders


@pytest.mark.parametrize("said", [ELSEWHERE, ELSEWHERE.rstrip("/"), f"file://{ELSEWHERE}"])
def test_a_point_that_owes_files_listed_elsewhere_is_not_paired(tmp_path: Path, said: str) -> None:
    """`flink.manifests.location` is set: an empty checkpoint is not what this one is."""
    table = without_its_commit(**{"flink.manifests.location": said})

    found = restored_from(moved(ELSEWHERE), table, tmp_path)

    assert (found.verdict, found.snapshot_id) == (PairVerdict.AHEAD, None)
    assert "commits it first, if its Flink manifests are still on storage" in found.reason


def test_a_folder_that_no_property_names_any_more_owes_too(tmp_path: Path) -> None:
    """The property was changed or taken away since: what cannot be told is owed."""
    found = restored_from(moved(AT_A_ROOT), without_its_commit(), tmp_path)

    assert found.verdict is PairVerdict.AHEAD


def test_another_tables_manifest_is_not_owed_to_this_one(tmp_path: Path) -> None:
    """A job that writes several tables owes this one nothing, if all that it lists lies beside another's metadata."""
    table = without_its_commit()

    found = restored_from(moved(ANOTHER_TABLES), table, tmp_path)

    assert (found.verdict, found.snapshot_id) == (PairVerdict.PAIRED, table.head)


def test_a_folder_where_the_table_has_lain_before_is_its_own(tmp_path: Path) -> None:
    """After `SET LOCATION` the commits that are listed still tell where it was."""
    moved_on = without_its_commit().model_copy(
        update={"location": "s3a://new/v1d", "metadata_location": "s3://new/v1d/metadata/v8.metadata.json"}
    )

    assert (NAME,) == owed_to(moved_on, CheckpointFiles(None, None).read(str(written(recorded(STOPPED), tmp_path))))


def test_of_two_manifests_of_one_name_the_own_one_counts(tmp_path: Path) -> None:
    """A dynamic sink counts in each table by itself, so two tables' manifests may have one name."""
    stored = CheckpointFiles(None, None).read(str(written(recorded(STOPPED), tmp_path)))
    both = stored.model_copy(update={"manifest_folders": {NAME: ("/else/metadata", OWN.decode().rstrip("/"))}})
    others = stored.model_copy(update={"manifest_folders": {NAME: ("/else/metadata", "s3://b/other/metadata")}})
    older = stored.model_copy(update={"manifest_folders": {}})

    owed = [owed_to(without_its_commit(), each) for each in (both, others, older)]

    assert [(NAME,), (), (NAME,)] == owed


@pytest.mark.parametrize(
    ("properties", "folder"),
    [
        ({}, "/lake/warehouse/tbl/v1d/metadata"),
        ({"write.metadata.path": "s3://meta/v1d/"}, "s3://meta/v1d"),
        ({"write.metadata.path": "s3://meta/v1d", "flink.manifests.location": "s3://flink/"}, "s3://flink"),
    ],
)
def test_where_the_sink_writes_them(properties: dict[str, str], folder: str) -> None:
    """`ManifestOutputFileFactory`: the property of its own, else beside the metadata, wherever that is."""
    assert folder == folder_of_manifests(without_its_commit(**properties))


def written(content: bytes, folder: Path) -> Path:
    """A savepoint of this content."""
    (folder / "savepoint-2").mkdir()
    (folder / "savepoint-2" / "_metadata").write_bytes(content)
    return folder / "savepoint-2"
