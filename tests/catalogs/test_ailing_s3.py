"""An S3 that denies or throttles: it is said after a few tries, and nothing is taken for absent or done."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyarrow.fs import S3FileSystem

from bot.adapters.checkpoint_files import CheckpointFiles
from bot.adapters.table_files import FolderOfTable
from bot.observation.errors import CouldNotLook, OutcomeUnknown
from tests.catalogs.ailing_s3 import AilingS3, ailing_s3
from tests.catalogs.conftest import glue_properties
from tests.catalogs.orders import Orders, own_manifests
from tests.catalogs.test_every_catalog import rewind

AILMENTS = ("denied", pytest.param("throttled", marks=pytest.mark.slow))
TRIES = 3
"""Of one question: a client of its own would ask ten times, each time later."""
JOB = "c" * 32


@pytest.fixture
def s3(aws: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[AilingS3]:
    """Well at first; the environment leads to it."""
    with ailing_s3(aws) as between:
        told = {"AWS_ENDPOINT_URL": between.address, "AWS_ACCESS_KEY_ID": "any", "AWS_SECRET_ACCESS_KEY": "any"}
        for name, value in {**told, "AWS_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true"}.items():
            monkeypatch.setenv(name, value)
        yield between


@pytest.fixture
def orders(s3: AilingS3, tmp_path: Path) -> Iterator[Orders]:
    """`sales.orders` of a SQL catalog with its files in that S3; the catalog itself stays well."""
    of_storage = {key: value for key, value in glue_properties(s3.address).items() if key.startswith("s3.")}
    place = {"type": "sql", "uri": f"sqlite:///{tmp_path / 'catalog.db'}", "warehouse": f"s3://lake/{tmp_path.name}"}
    made = Orders("sql", "sales", {**place, **of_storage})
    yield made
    s3.well()
    made.close()


@pytest.mark.parametrize("ailment", AILMENTS)
def test_restore_points_could_not_be_looked_for(s3: AilingS3, tmp_path: Path, ailment: str) -> None:
    """Neither none, nor some: the folder and what storage said are named."""
    put(s3, f"{tmp_path.name}/chk/{JOB}/chk-1/_metadata")
    files = CheckpointFiles(f"s3://lake/{tmp_path.name}/chk", None)
    assert len(files.stored("orders-job", [])) == 1
    s3.falls(ailment)

    with pytest.raises(CouldNotLook, match=f"The checkpoint folder of orders-job, s3://lake/{tmp_path.name}/chk"):
        files.stored("orders-job", [])
    with pytest.raises(CouldNotLook, match="could not be read"):
        files.read(f"s3://lake/{tmp_path.name}/chk/{JOB}/chk-1")

    assert len(s3.ill) <= 2 * TRIES


@pytest.mark.parametrize("ailment", AILMENTS)
def test_a_table_could_not_be_read(s3: AilingS3, orders: Orders, ailment: str) -> None:
    """It is neither unknown nor without its metadata file (F10), and no older state is taken for the present one."""
    table = orders.ours.load(orders.name)
    s3.falls(ailment)

    with pytest.raises(CouldNotLook, match=r"Table sales.orders could not be read"):
        orders.ours.load(orders.name)
    with pytest.raises((OSError, ValueError)):
        own_manifests(table.snapshots[-1], orders.ours.storage.of(table.name))
    with pytest.raises(CouldNotLook, match="could not be listed"):
        FolderOfTable(orders.ours.storage).flink_manifests(table)

    assert len(s3.ill) <= 3 * TRIES


@pytest.mark.parametrize("ailment", AILMENTS)
def test_only_older_metadata_can_be_read(s3: AilingS3, orders: Orders, ailment: str) -> None:
    """One file that is denied or throttled is not lost: the state before it is not taken for the present one."""
    newest = orders.table.metadata_location.rpartition("/")[2]
    s3.falls(ailment, lambda _method, path: newest in path)

    with pytest.raises(CouldNotLook, match=r"Table sales.orders could not be read"):
        orders.ours.load(orders.name)


@pytest.mark.parametrize("ailment", AILMENTS)
def test_a_commit_whose_metadata_cannot_be_written_changes_nothing(s3: AilingS3, orders: Orders, ailment: str) -> None:
    """It is said to be unknown, and a look at the table tells: the catalog still points to the old file."""
    before = orders.ours.load(orders.name)
    s3.falls(ailment, lambda method, _path: method in {"PUT", "POST"})

    with pytest.raises(OutcomeUnknown, match=r"not known.*Do not repeat"):
        orders.ours.commit(orders.name, rewind(before, orders.heads[0]))
    s3.well()

    assert len(s3.ill) <= TRIES
    assert orders.ours.load(orders.name) == before


def put(s3: AilingS3, key: str) -> None:
    """One object in the bucket."""
    files = S3FileSystem(access_key="any", secret_key="any", region="us-east-1", endpoint_override=s3.address)
    with files.open_output_stream(f"lake/{key}") as out:
        out.write(b"PAR1")
