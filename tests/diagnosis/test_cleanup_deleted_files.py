"""F9: files of the table, or of Flink manifests that are not committed, are gone from storage."""

from datetime import timedelta

import pytest

from bot.diagnosis import cleanup_deleted_files as f9
from bot.diagnosis import commits_withheld
from bot.domain.diagnosis import CannotTell, Case, Excluded, Matches, Remedy
from bot.domain.evidence import Evidence, Verdict
from bot.domain.findings import GapsFinding, LeakStanding, UnreadableFile
from bot.domain.ids import EvidenceId
from bot.domain.looked import NotSeen
from bot.domain.table import Window
from tests.cases import Tale
from tests.diagnosis.test_recovered_by_itself import pinned
from tests.found import hole, leaks, orphans, unreadable


def missing(tale: Tale, checkpoint: int, what: str = "data") -> UnreadableFile:
    """One file of that commit is gone."""
    return UnreadableFile.model_validate(
        {
            "path": f"s3://lake/sales/orders/data/{checkpoint}.parquet",
            "what": what,
            "snapshot_id": tale.at("a", checkpoint),
            "rows": 10,
            "problem": "It is not on storage.",
        }
    )


def test_readers_go_below_the_oldest_missing_file() -> None:
    """A file is named by every snapshot from its commit on."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3, 4)

    found = f9.examine(tale.looked_at(unreadable=unreadable(missing(tale, 4), missing(tale, 3))))

    assert isinstance(found, Matches)
    assert (Remedy.REPAIR_UNREADABLE_FILES, tale.at("a", 2)) == (found.remedy, found.last_good)
    assert {tale.at("a", 3), tale.at("a", 4)} == set(found.rows)


def more_than_are_named(tale: Tale, **told: object) -> Case:
    """Of 25 lost files 20 are named, all of the newest commit; the others are of the one before."""
    named = unreadable(*[missing(tale, 3)] * 20)
    return tale.looked_at(unreadable=named.model_copy(update={"count": 25, **told}))


def test_files_that_are_not_named_are_not_below_the_last_good_snapshot() -> None:
    """The finding tells all commits of lost files, whatever files it names."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3)
    commits = (tale.at("a", 2), tale.at("a", 3))

    found = f9.examine(more_than_are_named(tale, commits=commits, lists=()))
    unlisted = f9.examine(more_than_are_named(tale, commits=commits, lists=(tale.at("a", 1),)))

    assert isinstance(found, Matches)
    assert (tale.at("a", 1), commits) == (found.last_good, found.rows)
    assert isinstance(unlisted, Matches)
    assert unlisted.last_good is None


def test_a_record_that_names_some_files_only_names_no_last_good_snapshot() -> None:
    """Older records do not tell of what commits the others are."""
    found = f9.examine(more_than_are_named(Tale().flink_runs("a").commits("a", 1, 2, 3)))

    assert isinstance(found, Matches)
    assert found.last_good is None
    assert "The record names 20 of 25 files" in found.reasons[-1]


def test_lost_files_behind_many_lost_manifest_lists_are_not_excluded() -> None:
    """Metadata comes first among what is named, and may leave no place for the files."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3)
    lists = unreadable(*[missing(tale, 2, "manifest-list")] * 20)
    told = {"count": 21, "commits": (tale.at("a", 3),), "lists": (tale.at("a", 2),)}

    found = f9.examine(tale.looked_at(unreadable=lists.model_copy(update=told)))

    assert isinstance(found, Matches)
    assert (tale.at("a", 1), (tale.at("a", 3),)) == (found.last_good, found.rows)


def test_a_missing_file_of_the_first_commit_leaves_nothing_to_trust() -> None:
    """There is no snapshot below it."""
    tale = Tale().flink_runs("a").commits("a", 1, 2)

    found = f9.examine(tale.looked_at(unreadable=unreadable(missing(tale, 1))))

    assert isinstance(found, Matches)
    assert found.last_good is None


def test_a_storage_that_gives_nothing_at_all_is_not_called_a_deletion() -> None:
    """Rights and outages look like missing files, all of them at once."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3)

    found = f9.examine(tale.looked_at(unreadable=unreadable(missing(tale, 2), missing(tale, 3), checked=2)))

    assert isinstance(found, CannotTell)
    assert "the storage itself" in found.missing[0]


def emptied(listed: int, orphaned: int, *, later: bool = True, table_data: str | None = None) -> Case:
    """Not one of the two data files that were looked for is there; the data folder was listed, too."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3)
    if table_data is not None:
        tale.properties["write.data.path"] = table_data
    found = orphans(orphaned).model_copy(update={"files_listed": listed})
    case = pinned(
        tale.looked_at(unreadable=unreadable(missing(tale, 2), missing(tale, 3), checked=2), orphans=found),
        tale.at("a", 3),
    )
    first = case.evidence[0]
    order = ("unreadable_files", "orphan_files") if later else ("orphan_files", "unreadable_files")
    looks = tuple(
        first.model_copy(
            update={
                "id": EvidenceId(task),
                "task": task,
                "verdict": Verdict.RULED_OUT,
                "at": first.at + timedelta(seconds=place),
            }
        )
        for place, task in enumerate(order)
    )
    return case.model_copy(update={"evidence": (*(e for e in case.evidence if e.task not in order), *looks)})


@pytest.mark.parametrize(("listed", "said"), [(0, "shows no file at all"), (4, "shows 4 other files")])
def test_files_that_are_all_gone_are_told_once_a_listing_of_their_folder_went_through(listed: int, said: str) -> None:
    """Storage answers then, and has none of what the table names."""
    found = f9.examine(emptied(listed, listed))

    assert isinstance(found, Matches)
    assert Remedy.REPAIR_UNREADABLE_FILES is found.remedy
    assert said in found.reasons[-1]


@pytest.mark.parametrize(
    "case",
    [emptied(9, 4), emptied(0, 0, later=False), emptied(0, 0, table_data="s3://other/data")],
    ids=["some are there again", "listed before", "kept elsewhere"],
)
def test_a_listing_that_tells_nothing_of_these_files_leaves_it_open(case: Case) -> None:
    """What was out may be back, and an earlier listing, or one of another folder, says nothing of now."""
    found = f9.examine(case)

    assert isinstance(found, CannotTell)
    assert "the storage itself" in found.missing[0]


@pytest.mark.parametrize(
    ("standing", "lost", "expected"),
    [
        (LeakStanding.PENDING, 0, Matches),
        (LeakStanding.DROPPED, 10, Matches),
        (LeakStanding.DROPPED, 0, Excluded),
        (LeakStanding.LEFT_OVER, 10, Excluded),
        (LeakStanding.UNTOLD, 10, CannotTell),
        (LeakStanding.UNTOLD, 0, Excluded),
    ],
)
def test_manifests_whose_files_are_gone_count_while_their_rows_matter(
    standing: LeakStanding, lost: int, expected: type
) -> None:
    """A pending one would commit files that nobody can read; a dropped one matters while positions are missing."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).leaves_manifest("a", 3)
    hollow = leaks(*tale.manifests, standing=standing, missing_files=1, positions=(40, 69))

    found = f9.examine(tale.looked_at(leaked=hollow, gaps=hole(lost)))

    assert isinstance(found, expected)


@pytest.mark.parametrize(
    ("positions", "gaps", "expected"),
    [
        ((40, 69), hole(0), Excluded),
        ((100, 129), hole(0), Matches),
        ((40, 69), GapsFinding(lowest=None, highest=None, positions=0, missing=0, gaps=()), Matches),
        (None, hole(0), CannotTell),
    ],
)
def test_no_gap_says_nothing_of_rows_that_lie_beyond_what_was_looked_at(
    positions: tuple[int, int] | None, gaps: GapsFinding, expected: type
) -> None:
    """Above the highest live position nothing is a gap; F3 goes by the same rule."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3, 4, 8).completes("a", 8).leaves_manifest("a", 5, 6, 7)
    dropped = leaks(*tale.manifests, standing=LeakStanding.DROPPED, missing_files=1, positions=positions)
    case = tale.looked_at(leaked=dropped, gaps=gaps)

    assert isinstance(f9.examine(case), expected)
    assert isinstance(commits_withheld.examine(case), expected)


def test_positions_of_all_source_partitions_together_say_nothing_of_rows_of_one() -> None:
    """Another partition was read further: between its positions lie also those that were lost; F3 goes by the same
    rule."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3, 4, 8).completes("a", 8).leaves_manifest("a", 5, 6, 7)
    dropped = leaks(*tale.manifests, standing=LeakStanding.DROPPED, missing_files=1, positions=(40, 69))
    case = tale.looked_at(leaked=dropped, gaps=hole(0))
    parted = case.contract.model_copy(update={"position_partition": "source_partition"})
    several = case.model_copy(update={"contract": parted})

    assert isinstance(f9.examine(several), CannotTell)
    assert isinstance(commits_withheld.examine(several), CannotTell)


def test_files_are_not_excluded_before_they_were_looked_for() -> None:
    """Neither without the evidence nor without Flink, which alone tells of a failing restart."""
    tale = Tale().flink_runs("a").commits("a", 1, 2)

    assert isinstance(f9.examine(tale.case()), CannotTell)
    assert isinstance(f9.examine(tale.flink_is_down().looked_at()), CannotTell)


def failed_for(tale: Tale, path: str | None) -> Evidence:
    """Row evidence that came to a file of the table which is not there."""
    table = tale.table
    assert table.head is not None
    return Evidence(
        verdict=Verdict.INCONCLUSIVE,
        headline="A file that the table names is not on storage.",
        could_not_look=(NotSeen(source="evidence", reason="It failed.", remedy="Ask again.", lost_file=path),),
        id=EvidenceId("1"),
        task="missing_positions",
        task_version=1,
        question="Is any missing?",
        metadata_location=table.metadata_location,
        head=table.head,
        window=Window(since=None, until=table.head),
        at=table.read_at,
        took_ms=1,
        bytes_read=0,
    )


@pytest.mark.parametrize(("path", "expected"), [("s3://lake/old.parquet", Matches), (None, Excluded)])
def test_a_file_from_below_the_window_that_a_scan_misses_is_told(path: str | None, expected: type) -> None:
    """The window's files are all there, and yet readers fail: nobody may say that none is missing."""
    tale = Tale().flink_runs("a").commits("a", 1, 2)

    found = f9.examine(tale.looked_at(evidence=(failed_for(tale, path),)))

    assert isinstance(found, expected)
    if isinstance(found, Matches):
        assert Remedy.REPAIR_UNREADABLE_FILES is found.remedy
        assert "s3://lake/old.parquet" in found.reasons[0]


def test_a_file_that_cannot_be_decoded_is_told_apart_from_a_missing_one() -> None:
    """It is there: only what reads its rows meets the damage."""
    tale = Tale().flink_runs("a").commits("a", 1, 2)
    told = {"source": "evidence", "reason": "It failed.", "remedy": "Ask.", "damaged_file": "s3://lake/bad.parquet"}
    evidence = failed_for(tale, None).model_copy(update={"could_not_look": (NotSeen.model_validate(told),)})

    found = f9.examine(tale.looked_at(evidence=(evidence,)))

    assert isinstance(found, Matches)
    assert found.headline.startswith("1 file that the table names is on storage and cannot be decoded")
    assert "s3://lake/bad.parquet" in found.reasons[0]


def test_a_file_that_came_back_is_forgotten() -> None:
    """The task's newest evidence counts."""
    tale = Tale().flink_runs("a").commits("a", 1, 2)
    once = failed_for(tale, "s3://lake/old.parquet")
    again = once.model_copy(update={"verdict": Verdict.RULED_OUT, "could_not_look": ()})

    found = f9.examine(tale.looked_at(evidence=(once, again)))

    assert isinstance(found, Excluded)
