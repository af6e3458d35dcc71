"""Files of a table whose storage only the catalog knows are moved aside and back with what the catalog says."""

from collections.abc import Iterator

import pytest
from moto.server import ThreadedMotoServer
from pyarrow.fs import S3FileSystem

from bot.adapters.iceberg.storage import TableStorage
from bot.adapters.table_files import FolderOfTable
from bot.domain.errors import CouldNotLook
from bot.domain.file_changes import MovedFiles
from tests.adapters.serving import unused_address
from tests.tables import ORDERS

BUCKET = "vended"
AT, ASIDE = f"s3://{BUCKET}/orders/data/orphan.parquet", f"s3://{BUCKET}/orders/quarantine/orphan.parquet"
NOTE = f"s3://{BUCKET}/orders/quarantine/list.json"


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Address of an S3 with one orphan file; the environment says nothing of it."""
    for name in ("AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    address = f"http://{host}:{port}"
    files = S3FileSystem(
        access_key="vended", secret_key="vended", endpoint_override=address, region="us-east-1",
        allow_bucket_creation=True,
    )  # fmt: skip
    files.create_dir(BUCKET)
    with files.open_output_stream(AT.removeprefix("s3://")) as out:
        out.write(b"PAR1")
    yield address
    server.stop()


def vended(address: str) -> dict[str, str]:
    """What the catalog answers when the table is loaded."""
    return {
        "s3.endpoint": address,
        "s3.access-key-id": "vended",
        "s3.secret-access-key": "vended",
        "s3.region": "us-east-1",
    }


def test_an_orphan_is_moved_aside_and_back(s3: str) -> None:
    """As the docs promise of catalog properties and vended credentials; each move may be repeated."""
    storage = TableStorage({})
    storage.learn(ORDERS, vended(s3))
    files = FolderOfTable(storage)

    aside = [files.move(ORDERS, [(AT, ASIDE)], NOTE) for _ in range(2)]
    there = set(files.written_at(ORDERS, [AT, ASIDE]))
    back = files.move(ORDERS, [(ASIDE, AT)], NOTE)

    assert (aside, there, back) == ([MovedFiles(arrived=1)] * 2, {ASIDE}, MovedFiles(arrived=1))
    assert set(files.written_at(ORDERS, [AT, ASIDE, NOTE])) == {AT, NOTE}


def test_without_what_the_catalog_says_it_cannot_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """Could not look is never nothing found."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", unused_address())

    with pytest.raises(CouldNotLook):
        FolderOfTable().written_at(ORDERS, [AT])
