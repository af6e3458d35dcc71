"""F10: the metadata file or a manifest list is gone. (A real table's lost file: tests/adapters.)"""

from bot.diagnosis import metadata_file_lost as mode
from bot.diagnosis import recovered_by_itself
from bot.domain.diagnosis import CannotTell, Excluded, Matches, Remedy
from bot.domain.findings import UnreadableFile
from tests.cases import Tale
from tests.found import unreadable


def gone(snapshot: int | None, what: str = "manifest-list") -> UnreadableFile:
    """That snapshot's file is not on storage."""
    return UnreadableFile.model_validate(
        {
            "path": "s3://lake/sales/orders/metadata/snap-1.avro",
            "what": what,
            "snapshot_id": snapshot,
            "rows": 0,
            "problem": "It is not on storage.",
        }
    )


def test_a_lost_metadata_file_is_known_before_any_evidence() -> None:
    """What was committed above the file that was read is unknown, and the sentence says so."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3)
    tale.lost_metadata = "s3://lake/sales/orders/metadata/00010.metadata.json"

    found = mode.examine(tale.case())

    assert isinstance(found, Matches)
    assert (Remedy.RESTORE_METADATA, tale.head) == (found.remedy, found.last_good)
    assert any("unknown here, not absent" in reason for reason in found.reasons)


def test_a_table_with_lost_metadata_is_never_healthy() -> None:
    """However clean the older state is."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3)
    tale.lost_metadata = "s3://lake/sales/orders/metadata/00010.metadata.json"

    found = recovered_by_itself.examine(tale.looked_at())

    assert isinstance(found, Excluded)
    assert "F10" in found.reason


def test_a_head_without_its_manifest_list_falls_back_to_the_newest_that_has_one() -> None:
    """Going there is a rollback, and the job must follow."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3)

    found = mode.examine(tale.looked_at(unreadable=unreadable(gone(tale.at("a", 3)))))

    assert isinstance(found, Matches)
    assert (Remedy.RESTORE_METADATA, tale.at("a", 2)) == (found.remedy, found.last_good)
    assert any("job must be restored" in reason for reason in found.reasons)


def test_an_older_snapshot_without_its_manifest_list_leaves_the_head_readable() -> None:
    """Only time travel fails, so the pointer stays where it is."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3)

    found = mode.examine(tale.looked_at(unreadable=unreadable(gone(tale.at("a", 2)))))

    assert isinstance(found, Matches)
    assert (Remedy.REPAIR_UNREADABLE_FILES, tale.head) == (found.remedy, found.last_good)


def test_missing_data_files_are_a_neighbours() -> None:
    """They are F9; the metadata that names them is there."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3)

    found = mode.examine(tale.looked_at(unreadable=unreadable(gone(tale.at("a", 2), "data"))))

    assert isinstance(found, Excluded)


def test_manifest_lists_are_not_excluded_before_they_were_looked_for() -> None:
    """The catalog's file was read, but that says nothing of what it names."""
    found = mode.examine(Tale().flink_runs("a").commits("a", 1).case())

    assert isinstance(found, CannotTell)
    assert ("unreadable_files",) == found.missing
