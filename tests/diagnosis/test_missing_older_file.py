"""A live file of an older commit is removed from storage: once that was looked for, the table is never healthy."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import bot.diagnosis
from bot.diagnosis import cleanup_deleted_files as f9
from bot.diagnosis import recovered_by_itself
from bot.diagnosis._examine import diagnose
from bot.diagnosis._scan import scan
from bot.domain.diagnosis import HEALTHY, CannotTell, Case, Matches, Remedy
from bot.domain.evidence import Verdict
from bot.domain.findings import MissingFilesFinding, UnreadableFile
from bot.domain.ids import EvidenceId, SnapshotId, short
from tests.cases import Tale
from tests.diagnosis.changed_cases import NAMES, case_named
from tests.diagnosis.little_evidence import case_of
from tests.diagnosis.made_up_histories import BAD, CHANGES, GOOD, Story, stories
from tests.diagnosis.test_cleanup_deleted_files import missing
from tests.diagnosis.test_recovered_by_itself import pinned
from tests.found import unreadable

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

    assert not isinstance(recovered_by_itself.examine(changed), Matches)
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

    assert isinstance(found, Matches)
    assert (Remedy.REPAIR_UNREADABLE_FILES, tale.at("a", 1)) == (found.remedy, found.last_good)
    assert found.headline == "2 files that the table names, with 20 rows, are not on storage."
    assert found.reasons[-1].startswith("A repair takes out the data files among them, whatever commit they are of")


def test_readers_are_sent_below_all_that_anybody_found_missing() -> None:
    """What cannot be read in the window, and older files that are not on storage."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3, 4, 5)
    both = tale.looked_at(unreadable=unreadable(missing(tale, 5)), missing_files=lost(tale.at("a", 2), tale.at("a", 5)))

    found = f9.examine(both)

    assert isinstance(found, Matches)
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

    assert isinstance(few, Matches)
    assert isinstance(too_many, Matches)
    assert few.last_good is too_many.last_good is None
    assert "A repair takes out" in few.reasons[-1]
    assert ("storage's own versions" in too_many.reasons[-1]) is (place == "expired")


def test_a_missing_delete_file_is_told_to_bring_rows_back() -> None:
    """Its reference must not be dropped."""
    tale = Tale().flink_runs("a").commits("a", 1, 2)

    found = f9.examine(tale.looked_at(missing_files=lost(tale.at("a", 1), what="deletes")))

    assert isinstance(found, Matches)
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

    found = recovered_by_itself.examine(case)

    assert isinstance(found, Matches)
    said = " ".join(found.reasons)
    assert ("Those of older commits are there, too: 100 files" in said) is (asked == "asked")
    assert ("Files of older commits were not tried." in said) is (asked != "asked")


def test_a_table_whose_first_commits_have_expired_has_older_files() -> None:
    """A window that begins with the first listed commit does not reach the files of those before it."""
    case = Tale().flink_runs("a").commits("a", 1, 2).looked_at()
    table = case.observation.table
    first = table.chain[-1].model_copy(update={"parent_id": SnapshotId(7)})
    snapshots = tuple(first if each.snapshot_id == first.snapshot_id else each for each in table.snapshots)
    cut = type(table).model_validate(
        {name: getattr(table, name) for name in type(table).model_fields} | {"snapshots": snapshots}
    )
    observation = case.observation.model_copy(update={"table": cut})

    found = recovered_by_itself.examine(case.model_copy(update={"observation": observation}))

    assert isinstance(found, Matches)
    assert "Files of older commits were not tried." in " ".join(found.reasons)
