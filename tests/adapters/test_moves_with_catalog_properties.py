"""Files of a table whose storage only the catalog knows are moved aside and back with what the catalog says."""

import pytest

from bot.adapters.storage import TableStorage
from bot.adapters.table_files import FolderOfTable
from bot.domain.errors import CommitRefused, CouldNotLook
from bot.domain.file_changes import MovedFiles
from tests.adapters.serving import unused_address
from tests.adapters.vended_s3 import BUCKET, VendedS3, s3
from tests.tables import ORDERS

__all__ = ["s3"]
AT, ASIDE = f"s3://{BUCKET}/orders/data/orphan.parquet", f"s3://{BUCKET}/orders/quarantine/orphan.parquet"
NOTE = f"s3://{BUCKET}/orders/quarantine/list.json"


@pytest.fixture
def files(s3: VendedS3) -> FolderOfTable:
    """The port, once the table was loaded; its one orphan file is there."""
    s3.puts(AT, b"PAR1")
    storage = TableStorage({})
    storage.learn(ORDERS, s3.properties)
    return FolderOfTable(storage)


def test_an_orphan_is_moved_aside_and_back(files: FolderOfTable) -> None:
    """As the docs promise of catalog properties and vended credentials; each move may be repeated."""
    aside = [files.move(ORDERS, [(AT, ASIDE)], NOTE) for _ in range(2)]
    there = set(files.written_at(ORDERS, [AT, ASIDE]))
    back = files.move(ORDERS, [(ASIDE, AT)], NOTE)

    assert (aside, there, back) == ([MovedFiles(arrived=1)] * 2, {ASIDE}, MovedFiles(arrived=1))
    assert set(files.written_at(ORDERS, [AT, ASIDE, NOTE])) == {AT, NOTE}


@pytest.mark.parametrize(
    ("lies_there", "expected"),
    [(b"PAR1", (MovedFiles(arrived=1), {ASIDE})), (b"PAR2", (None, {AT, ASIDE}))],
    ids=["our own copy", "another file"],
)
def test_what_lies_at_the_new_place_is_never_overwritten(
    s3: VendedS3, files: FolderOfTable, lies_there: bytes, expected: tuple[MovedFiles | None, set[str]]
) -> None:
    """S3 copies, then removes: its copy from before a crash is finished; any other object stays as it is."""
    s3.puts(ASIDE, lies_there)

    try:
        told = files.move(ORDERS, [(AT, ASIDE)], NOTE)
    except CommitRefused:
        told = None

    assert (told, set(files.written_at(ORDERS, [AT, ASIDE]))) == expected
    assert s3.content(ASIDE) == lies_there


def test_without_what_the_catalog_says_it_cannot_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """Could not look is never nothing found."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", unused_address())

    with pytest.raises(CouldNotLook):
        FolderOfTable().written_at(ORDERS, [AT])
