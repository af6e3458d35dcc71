"""F10: the metadata file or a manifest list is gone. (A real table's lost file: tests/adapters.)"""

from bot.diagnosis import metadata_file_lost as mode
from bot.diagnosis import recovered_by_itself
from bot.domain.diagnosis import CannotTell, Case, Excluded, Matches, Remedy
from bot.domain.findings import COMMITS_TOLD, UnreadableFile
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


def without_lists(tale: Tale, checkpoints: range, *, named: int = 20, **told: object) -> Case:
    """The manifest lists of these commits are gone; so many are named, the oldest first, as their paths are sorted."""
    lost = [gone(tale.at("a", each)) for each in checkpoints]
    lists = tuple(tale.at("a", each) for each in reversed(checkpoints))
    found = unreadable(*lost[:named]).model_copy(update={"count": len(lost), "commits": (), "lists": lists, **told})
    return tale.looked_at(unreadable=found)


def test_a_manifest_list_that_is_not_named_is_gone_all_the_same() -> None:
    """The newest is gone as well, and what is gone back to must have its own."""
    tale = Tale().flink_runs("a").commits("a", *range(1, 31))

    found = mode.examine(without_lists(tale, range(6, 31)))

    assert isinstance(found, Matches)
    assert (Remedy.RESTORE_METADATA, tale.at("a", 5)) == (found.remedy, found.last_good)
    assert found.headline.startswith("The manifest list of the head")


def test_an_older_record_that_does_not_name_all_names_no_snapshot_that_can_be_read() -> None:
    """Nor does it say that the head can be."""
    tale = Tale().flink_runs("a").commits("a", *range(1, 31))

    found = mode.examine(without_lists(tale, range(6, 31), lists=None))

    assert isinstance(found, Matches)
    assert found.last_good is None
    assert "perhaps that of the head" in found.headline
    assert "cannot be told" in found.reasons[-1]


def test_a_list_of_lost_manifest_lists_that_is_cut_tells_nothing_of_older_snapshots() -> None:
    """Above its end it does."""
    tale = Tale().flink_runs("a").commits("a", *range(1, COMMITS_TOLD + 3))
    head = COMMITS_TOLD + 2

    below = mode.examine(without_lists(tale, range(3, head + 1)))
    above = mode.examine(without_lists(tale, range(2, head)))

    assert isinstance(below, Matches)
    assert below.last_good is None
    assert isinstance(above, Matches)
    assert tale.head == above.last_good


def test_below_the_window_nobody_looked_for_manifest_lists() -> None:
    """That none was found to be gone there says nothing."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3)
    lost = unreadable(gone(tale.at("a", 2)), gone(tale.at("a", 3)))

    found = mode.examine(tale.looked_at(since=tale.at("a", 1), unreadable=lost))

    assert isinstance(found, Matches)
    assert found.last_good is None
    assert "none was looked for" in found.reasons[-1]


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
