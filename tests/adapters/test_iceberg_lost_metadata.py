"""A catalog that points to a metadata file that is gone: what is read instead, and that nothing is committed (F10)."""

import json
import shutil
from pathlib import Path

import pytest

import bot.diagnosis
from bot.adapters.iceberg import PyIcebergCatalog
from bot.diagnosis._examine import diagnose
from bot.diagnosis._scan import scan
from bot.domain.contract import TableContract
from bot.domain.diagnosis import Case, Excluded, Remedy
from bot.domain.errors import CommitRefused, CouldNotLook
from bot.domain.evidence import Observation
from bot.domain.looked import NotSeen
from bot.domain.table import TableState, Window
from bot.ports import TableChange
from tests.adapters.lake import ORDERS, Lake


def current(lake: Lake) -> Path:
    """The metadata file that the catalog points to."""
    return Path(lake.table.metadata_location.removeprefix("file://"))


def head_of(file: Path) -> int:
    """The head that this metadata file tells."""
    head: int = json.loads(file.read_text())["current-snapshot-id"]
    return head


def tag(table_uuid: str, snapshot: int) -> TableChange:
    """The smallest change that there is."""
    return TableChange.model_validate(
        {"expected_uuid": table_uuid, "expected_head": None, "set_tags": {"waterline": snapshot}}
    )


def case_of(table: TableState) -> Case:
    """The table alone, before anybody collected evidence."""
    none = NotSeen(source="nothing", reason="It was not asked.", remedy="Ask it.")
    assert table.head is not None
    return Case(
        observation=Observation(table=table, jobs=none, checkpoints=none, reads=none),
        window=Window(since=None, until=table.head),
        contract=TableContract(key=("order_id",)),
        job_name="orders",
    )


def test_the_newest_older_file_is_read_when_the_current_one_is_gone(lake: Lake, catalog: PyIcebergCatalog) -> None:
    """The state is that of one commit before, and says which file is lost."""
    lost, before = current(lake), lake.heads[-2]
    lost.unlink()

    table = catalog.load(ORDERS)

    assert before == table.head
    assert f"file://{lost}" == table.lost_metadata
    assert Path(table.metadata_location.removeprefix("file://")).exists()


@pytest.mark.parametrize("content", [b"", b"not json", b'{"format-version": 2}', b"\xff\xfe\x00"])
def test_a_garbled_file_is_as_good_as_gone(lake: Lake, catalog: PyIcebergCatalog, content: bytes) -> None:
    """PyIceberg does not say which file it could not understand; the catalog's own pointer does."""
    lost, before = current(lake), lake.heads[-2]
    lost.write_bytes(content)

    table = catalog.load(ORDERS)

    assert (before, f"file://{lost}") == (table.head, table.lost_metadata)


def test_a_garbled_neighbour_is_passed_over(lake: Lake, catalog: PyIcebergCatalog) -> None:
    """The newest file that can be read counts, not the newest name."""
    files = sorted(current(lake).parent.glob("*.metadata.json"))
    files[-1].unlink()
    files[-2].write_bytes(b"")

    table = catalog.load(ORDERS)

    assert head_of(files[-3]) == table.head


def test_a_refused_commits_leftover_is_not_taken_for_the_table(lake: Lake, catalog: PyIcebergCatalog) -> None:
    """Two files of one number: the one that was never committed is newer on storage, and no later file names it."""
    files = sorted(current(lake).parent.glob("*.metadata.json"))
    leftover = files[-2].with_name(f"{files[-2].name[:5]}-ffffffff-ffff-4fff-bfff-ffffffffffff.metadata.json")
    shutil.copyfile(files[0], leftover)
    raced = files[-1].with_name(f"{files[-1].name[:5]}-00000000-0000-4000-8000-000000000000.metadata.json")
    shutil.copyfile(files[-1], raced)
    files[-1].unlink()

    table = catalog.load(ORDERS)

    assert f"file://{files[-2]}" == table.metadata_location


def test_nothing_is_committed_while_the_metadata_file_is_lost(lake: Lake, catalog: PyIcebergCatalog) -> None:
    """A commit on an older state would bury what the lost file named; the refusal says what to do."""
    lost, head = current(lake), lake.heads[-2]
    uuid = str(lake.table.metadata.table_uuid)
    lost.unlink()
    files = set(lost.parent.iterdir())

    with pytest.raises(CommitRefused, match=f"Expected to read file://{lost}.*point the catalog to the newest"):
        catalog.commit(ORDERS, tag(uuid, head))

    assert files == set(lost.parent.iterdir())


def test_the_file_that_is_back_ends_it(lake: Lake, catalog: PyIcebergCatalog, tmp_path: Path) -> None:
    """Restored from the storage's own versions, everything is as before."""
    lost, head = current(lake), lake.heads[-1]
    kept = Path(shutil.copyfile(lost, tmp_path / "version-before"))
    lost.unlink()
    assert catalog.load(ORDERS).lost_metadata is not None
    shutil.copyfile(kept, lost)

    table = catalog.load(ORDERS)

    assert (head, None) == (table.head, table.lost_metadata)
    assert head == catalog.commit(ORDERS, tag(table.uuid, head)).ref("waterline")


def test_a_folder_without_any_readable_file_could_not_be_looked_into(lake: Lake, catalog: PyIcebergCatalog) -> None:
    """Nothing older is left: that is no empty table."""
    for file in current(lake).parent.glob("*.metadata.json"):
        file.unlink()

    with pytest.raises(CouldNotLook, match="could not be read"):
        catalog.load(ORDERS)


def test_a_storage_that_is_away_as_a_whole_could_not_be_looked_into(lake: Lake, catalog: PyIcebergCatalog) -> None:
    """The folder itself cannot be listed: an outage, not a lost file."""
    folder = current(lake).parent
    folder.rename(folder.with_name("elsewhere"))

    with pytest.raises(CouldNotLook, match="could not be read"):
        catalog.load(ORDERS)


def test_what_is_there_and_may_not_be_read_is_not_lost(lake: Lake, catalog: PyIcebergCatalog) -> None:
    """A folder in the file's place is refused like a missing right: nothing says that the metadata is gone."""
    lost = current(lake)
    lost.unlink()
    lost.mkdir()

    with pytest.raises(CouldNotLook):
        catalog.load(ORDERS)


def test_a_lost_file_is_named_and_never_healthy(lake: Lake, catalog: PyIcebergCatalog) -> None:
    """F10 matches first, asks for the pointer to be mended, and `healthy` is excluded."""
    current(lake).unlink()
    table = catalog.load(ORDERS)

    diagnosis = diagnose(case_of(table), scan(bot.diagnosis))

    mode, match = diagnosis.matches[0]
    assert ("F10", Remedy.RESTORE_METADATA, table.head) == (mode.code, match.remedy, match.last_good)
    healthy = next(r.examined for r in diagnosis.results if r.mode.code == "healthy")
    assert isinstance(healthy, Excluded)
    assert "F10" in healthy.reason
