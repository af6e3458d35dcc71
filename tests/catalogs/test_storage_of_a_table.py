"""A table's own files are opened with what its catalog says: its properties, or the credentials that it vends."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.fs as arrow
import pytest

from bot.adapters.checkpoint_files import CheckpointFiles
from bot.adapters.iceberg import PyIcebergCatalog
from bot.adapters.table_files import FolderOfTable
from bot.observation.errors import CouldNotLook
from tests.adapters.conftest import StandingClock
from tests.adapters.flink_wire import Wire, flink_wire
from tests.adapters.serving import unused_address
from tests.catalogs.conftest import glue_properties
from tests.catalogs.orders import Orders, own_manifests

NAME = f"{'a' * 32}-{'b' * 32}-00000-0-7-00001.avro"
S3_ONLY = "s3."


@pytest.fixture(autouse=True)
def nowhere_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment leads to an S3 that is not there: only the catalog's word leads to the right one."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", unused_address())
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


@pytest.fixture
def in_s3(aws: str, tmp_path: Path) -> Iterator[Orders]:
    """`sales.orders` of a SQL catalog whose properties say where its S3 is, with a Flink manifest in its folder."""
    of_storage = {key: value for key, value in glue_properties(aws).items() if key.startswith(S3_ONLY)}
    place = {"type": "sql", "uri": f"sqlite:///{tmp_path / 'catalog.db'}", "warehouse": f"s3://lake/{tmp_path.name}"}
    made = Orders("sql", "sales", {**place, **of_storage})
    location = made.table.location().removeprefix("s3://")
    files = arrow.S3FileSystem(
        access_key="any", secret_key="any", region="us-east-1", endpoint_override=aws, allow_bucket_creation=False
    )
    with files.open_output_stream(f"{location}/metadata/{NAME}") as stream:
        stream.write(b"a temporary manifest")
    yield made
    made.close()


@pytest.fixture
def vending(in_s3: Orders, aws: str) -> Iterator[Wire]:
    """A REST catalog that says with the table how its storage is reached."""
    location = in_s3.table.metadata_location
    metadata = json.loads(in_s3.table.io.new_input(location).open().read())
    credentials = {key: value for key, value in in_s3.properties.items() if key.startswith(S3_ONLY)}
    vended = {"storage-credentials": [{"prefix": "s3://lake", "config": credentials}], "config": {}}
    with flink_wire() as wire:
        wire.says("GET /v1/config", {"defaults": {}, "overrides": {}})
        told: dict[str, Any] = {"metadata-location": location, "metadata": metadata, **vended}
        wire.says("GET /v1/namespaces/sales/tables/orders", told)
        yield wire


def test_a_catalogs_properties_open_its_tables_files(in_s3: Orders) -> None:
    """What is in the configuration file under `catalog` counts for manifests and folders, too."""
    table = in_s3.ours.load(in_s3.name)

    listed = FolderOfTable(in_s3.ours.storage).flink_manifests(table)
    manifests = own_manifests(table.snapshots[-1], in_s3.ours.storage.of(table.name))

    assert [7] == [each.checkpoint_id for each in listed]
    assert 1 == len(manifests)


def test_vended_credentials_open_its_tables_files(in_s3: Orders, vending: Wire) -> None:
    """Nothing of ours knows the storage; the catalog says it with the table."""
    ours = PyIcebergCatalog("lake", {"type": "rest", "uri": vending.url}, StandingClock())
    table = ours.load(in_s3.name)

    listed = FolderOfTable(ours.storage).flink_manifests(table)
    manifests = own_manifests(table.snapshots[-1], ours.storage.of(table.name))

    ours.close()
    assert [7] == [each.checkpoint_id for each in listed]
    assert 1 == len(manifests)


def test_without_the_catalogs_word_the_environment_decides(in_s3: Orders) -> None:
    """Then it is said that nothing could be listed, never that nothing is there."""
    table = in_s3.ours.load(in_s3.name)

    with pytest.raises(CouldNotLook, match="could not be listed"):
        FolderOfTable().flink_manifests(table)


def test_a_table_that_was_not_loaded_yet_is_opened_by_the_catalogs_properties(in_s3: Orders) -> None:
    """They hold for all of its tables."""
    files, path = in_s3.ours.storage.of(in_s3.name)(in_s3.table.metadata_location)

    assert files.get_file_info(path).is_file


def test_a_catalogs_properties_open_the_folders_of_flinks_state_too(in_s3: Orders, tmp_path: Path) -> None:
    """One setting for both, unless the job says otherwise; `s3a` is Hadoop's name of `s3`."""
    folder = f"s3a://lake/{tmp_path.name}"

    assert CheckpointFiles(f"{folder}/sales", None, properties=in_s3.properties).stored("orders", []) == ()
    with pytest.raises(CouldNotLook):
        CheckpointFiles(f"{folder}/sales", None).stored("orders", [])
