"""F9: files of the table that are gone from storage, older ones too, and files that came back."""

from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import bot.diagnosis
from bot.diagnosis import cleanup_deleted_files as f9
from bot.diagnosis import commits_withheld, healthy
from bot.diagnosis._support.examine import diagnose, scan
from bot.history.case import Case
from bot.incident.diagnosis import HEALTHY, CannotTell, Excluded, Matches, Remedy
from bot.observation.evidence import Evidence, Verdict
from bot.observation.findings import GapsFinding, LeakStanding, MissingFilesFinding, UnreadableFile
from bot.observation.ids import EvidenceId, SnapshotId, short
from bot.observation.looked import NotSeen
from bot.observation.table import Window
from tests.cases import Tale
from tests.diagnosis.changed_cases import NAMES, case_named
from tests.diagnosis.little_evidence import case_of
from tests.diagnosis.made_up_histories import BAD, CHANGES, GOOD, Story, stories
from tests.diagnosis.test_health import pinned
from tests.found import evidence, hole, leaks, orphans, unreadable


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

    assert (tale.at("a", 1), commits) == (found.last_good, found.rows)
    assert unlisted.last_good is None


def test_lost_files_behind_many_lost_manifest_lists_are_not_excluded() -> None:
    """Metadata comes first among what is named, and may leave no place for the files."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3)
    lists = unreadable(*[missing(tale, 2, "manifest-list")] * 20)
    told = {"count": 21, "commits": (tale.at("a", 3),), "lists": (tale.at("a", 2),)}

    found = f9.examine(tale.looked_at(unreadable=lists.model_copy(update=told)))

    assert (tale.at("a", 1), (tale.at("a", 3),)) == (found.last_good, found.rows)


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

    assert isinstance(f9.examine(tale.looked_at(leaked=hollow, gaps=hole(lost))), expected)


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
    assert tale.head is not None
    unseen = NotSeen(source="evidence", reason="It failed.", remedy="Ask again.", lost_file=path)
    told = {"verdict": Verdict.INCONCLUSIVE, "could_not_look": (unseen,)}
    return evidence("missing_positions", Window(since=None, until=tale.head), tale.table.read_at, **told)


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

    assert found.headline.startswith("1 file that the table names is on storage and cannot be decoded")
    assert "s3://lake/bad.parquet" in found.reasons[0]


MODES = scan(bot.diagnosis)


def lost(*commits: SnapshotId, what: str = "data", checked: int = 100) -> MissingFilesFinding:
    """One file of ten rows of each of these commits, oldest first, is gone; none: all are there."""
    files = [
        {"path": f"s3://lake/data/{each}.parquet", "what": what, "snapshot_id": each, "rows": 10, "problem": "Gone."}
        for each in commits
    ]
    return MissingFilesFinding(
        files_checked=checked,
        content_checked=checked,
        content_gone=len(files),
        count=len(files),
        rows=10 * len(files),
        commits=commits,
        files=tuple(UnreadableFile.model_validate(file) for file in files),
    )


def without_file_of(case: Case, commit: SnapshotId) -> Case:
    """The case with what a listing of the whole table tells then."""
    return case.model_copy(update={"missing_files": lost(commit)})


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(stories(GOOD | BAD, CHANGES), st.integers(min_value=0))
def test_no_history_is_healthy_with_a_missing_file(story: Story, place: int) -> None:
    """Whichever commit's file it is, and however well all else stands; and it is named."""
    case = case_of(*story)
    commits = [each.snapshot_id for each in case.observation.table.chain]

    changed = without_file_of(case, commits[place % len(commits)])

    assert not isinstance(healthy.examine(changed), Matches)
    assert isinstance(f9.examine(changed), Matches)


@pytest.mark.full
def test_no_real_case_stays_healthy_with_a_missing_older_file() -> None:
    """The real table was right; then a clean-up takes the file of its oldest commit."""
    well = [name for name in NAMES if HEALTHY in diagnose(case_named(name), MODES).codes]

    assert len(well) > len(NAMES) // 4
    for name in well:
        case = case_named(name)
        oldest = case.observation.table.chain[-1].snapshot_id
        found = diagnose(without_file_of(case, oldest), MODES)
        whole = diagnose(case.model_copy(update={"missing_files": lost()}), MODES)
        assert HEALTHY in whole.codes, name
        assert HEALTHY not in found.codes, name
        assert "F9" in found.codes, name


def test_readers_are_sent_below_the_oldest_missing_file() -> None:
    """And a repair takes out all of them."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3, 4)

    found = f9.examine(tale.looked_at(missing_files=lost(tale.at("a", 2), tale.at("a", 4))))

    assert (Remedy.REPAIR_UNREADABLE_FILES, tale.at("a", 1)) == (found.remedy, found.last_good)
    assert found.headline == "2 files that the table names, with 20 rows, are not on storage."
    assert found.reasons[-1].startswith("A repair takes out the data files among them, whatever commit they are of")


def test_readers_are_sent_below_all_that_anybody_found_missing() -> None:
    """What cannot be read in the window, and older files that are not on storage."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3, 4, 5)
    both = tale.looked_at(unreadable=unreadable(missing(tale, 5)), missing_files=lost(tale.at("a", 2), tale.at("a", 5)))

    found = f9.examine(both)

    assert tale.at("a", 1) == found.last_good
    assert f"Files of {short(tale.at('a', 2))} are not on storage either." in found.reasons


@pytest.mark.parametrize("place", ["first", "expired"])
def test_below_the_first_listed_commit_nothing_is_trusted(place: str) -> None:
    """A file whose commit is no longer listed may be named by every snapshot."""
    tale = Tale().flink_runs("a").commits("a", 1, 2)
    commits = (tale.at("a", 1),) if place == "first" else (SnapshotId(7), tale.at("a", 2))

    two = lost(*commits)
    many = two.model_copy(update={"count": 21})
    few, too_many = (f9.examine(tale.looked_at(missing_files=found)) for found in (two, many))

    assert few.last_good is too_many.last_good is None
    assert "A repair takes out" in few.reasons[-1]
    assert ("storage's own versions" in too_many.reasons[-1]) is (place == "expired")


def test_a_missing_delete_file_is_told_to_bring_rows_back() -> None:
    """Its reference must not be dropped."""
    tale = Tale().flink_runs("a").commits("a", 1, 2)

    found = f9.examine(tale.looked_at(missing_files=lost(tale.at("a", 1), what="deletes")))

    assert any("would bring deleted rows back" in each for each in found.reasons)


def test_a_storage_that_has_nothing_at_all_is_not_called_a_deletion() -> None:
    """Rights and outages look like that."""
    tale = Tale().flink_runs("a").commits("a", 1, 2)

    found = f9.examine(tale.looked_at(missing_files=lost(tale.at("a", 1), tale.at("a", 2), checked=2)))

    assert isinstance(found, CannotTell)


@pytest.mark.parametrize("asked", ["not asked", "asked", "could not tell"])
def test_a_healthy_table_says_whether_older_files_were_looked_for(asked: str) -> None:
    """What was not looked for is not covered by the sentence."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3)
    case = pinned(tale.looked_at(since=tale.at("a", 1)), tale.at("a", 3))
    if asked != "not asked":
        verdict = Verdict.RULED_OUT if asked == "asked" else Verdict.INCONCLUSIVE
        told = {"id": EvidenceId("9"), "task": "missing_files", "verdict": verdict}
        evidence = (*case.evidence, case.evidence[0].model_copy(update=told))
        case = case.model_copy(update={"missing_files": lost(), "evidence": evidence})

    found = healthy.examine(case)

    said = " ".join(found.reasons)
    assert ("Those of older commits are there, too: 100 files" in said) is (asked == "asked")
    assert ("Files of older commits were not tried." in said) is (asked != "asked")


ASKED = ("missing_files",)


def looked(case: Case, task: str, minutes_ago: float, finding: object = None) -> Case:
    """The case with that task's answer of its head, so long ago."""
    table = case.observation.table
    evidence = Evidence.model_validate(
        {
            "id": EvidenceId(task), "task": task, "task_version": 1, "question": "Is it?", "headline": "It is.",
            "verdict": Verdict.INCONCLUSIVE if finding is None else Verdict.CONFIRMED, "finding": finding,
            "metadata_location": table.metadata_location, "head": table.head, "took_ms": 1, "bytes_read": 0,
            "window": Window(since=None, until=table.head), "at": table.read_at - timedelta(minutes=minutes_ago),
        }
    )  # fmt: skip
    return case.model_copy(update={"evidence": (*case.evidence, evidence)})


def gone(tale: Tale, minutes_ago: float) -> Case:
    """A file of the first commit was missing then."""
    found = lost(tale.at("a", 1))
    return looked(tale.looked_at(missing_files=found), "missing_files", minutes_ago, found)


def tale_of() -> Tale:
    """A job that is well."""
    return Tale().flink_runs("a").commits("a", 1, 2, 3)


def test_a_fresh_look_accuses() -> None:
    """Also while the job goes on committing on top of it: that brings no file back."""
    tale = tale_of()
    case = gone(tale, 1)
    newer = tale.commits("a", 4).looked_at(missing_files=case.missing_files)

    for each in (case, newer.model_copy(update={"evidence": case.evidence})):
        assert isinstance(f9.examine(each), Matches)
        assert not isinstance(healthy.examine(each), Matches)


def test_an_old_look_is_asked_for_again() -> None:
    """Somebody may have restored the file: nothing in the table would show it."""
    for mode in (f9, healthy):
        found = mode.examine(gone(tale_of(), 11))

        assert found.asks == ASKED
        assert "then 1 file was missing" in found.missing[0]


def test_a_repair_that_was_published_has_it_asked_again() -> None:
    """Its commit is by another writer than the job, and may have dropped the reference."""
    tale = tale_of()
    case = gone(tale, 1)
    repaired = tale.commits(None, operation="delete").looked_at(missing_files=case.missing_files)

    found = f9.examine(repaired.model_copy(update={"evidence": case.evidence}))

    assert isinstance(found, CannotTell)
    assert found.asks == ASKED


def test_a_later_look_at_these_very_commits_is_believed() -> None:
    """The window's files were all there afterwards: the older answer is asked again, not repeated."""
    found = f9.examine(looked(gone(tale_of(), 5), "unreadable_files", 1, lost()))

    assert found.asks == ASKED
    assert "unreadable_files has found every file of these commits since" in found.missing[0]


@pytest.mark.parametrize("mode", [f9, healthy])
def test_a_second_look_that_could_not_look_is_no_release(mode: object) -> None:
    """And it is not asked again by itself, for it would be refused again."""
    found = mode.examine(looked(tale_of().looked_at(), "missing_files", 1))  # type: ignore[attr-defined]

    assert found.asks == ()
    assert found.missing[0].startswith("missing_files (it ran and could not answer")
