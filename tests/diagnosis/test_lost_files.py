"""F9: files of the table that are gone from storage, older ones too, and files that came back."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import bot.diagnosis
from bot.diagnosis import cleanup_deleted_files as f9
from bot.diagnosis import commits_withheld, healthy
from bot.diagnosis._support.examine import diagnose, scan
from bot.history.case import Case
from bot.incident.diagnosis import HEALTHY, CannotTell, Excluded, Matches, Remedy
from bot.observation.evidence import Verdict
from bot.observation.findings import GapsFinding, LeakStanding, MissingFilesFinding, UnreadableFile
from bot.observation.ids import EvidenceId, SnapshotId, short
from bot.observation.looked import NotSeen
from bot.observation.table import Window
from tests.cases import Tale
from tests.diagnosis.answers import Asks, LastGood, Rows, answer_table, check
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
    told = {
        "verdict": Verdict.INCONCLUSIVE if finding is None else Verdict.CONFIRMED,
        "finding": finding,
        "metadata_location": table.metadata_location,
    }
    at = table.read_at - timedelta(minutes=minutes_ago)
    answer = evidence(task, Window(since=None, until=table.head), at, **told)
    return case.model_copy(update={"evidence": (*case.evidence, answer)})


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


def failed_for(**told: str) -> Case:
    """Row evidence that came to a file of the table which it could not read: the window's files are all there."""
    tale = Tale().flink_runs("a").commits("a", 1, 2)
    unseen = NotSeen.model_validate({"source": "evidence", "reason": "It failed.", "remedy": "Ask again.", **told})
    window = Window(since=None, until=tale.table.head)
    unanswered = {"verdict": Verdict.INCONCLUSIVE, "could_not_look": (unseen,)}
    return tale.looked_at(evidence=(evidence("missing_positions", window, tale.table.read_at, **unanswered),))


def repaired() -> Case:
    """A repair was published since the look: its commit is by another writer, and may have dropped the reference."""
    tale = tale_of()
    case = gone(tale, 1)
    later = tale.commits(None, operation="delete").looked_at(missing_files=case.missing_files)
    return later.model_copy(update={"evidence": case.evidence})


def behind_lists() -> Case:
    """Metadata comes first among what is named, and leaves no place for the lost file of 3."""
    tale = tale_of()
    lists = unreadable(*[missing(tale, 2, "manifest-list")] * 20)
    told = {"count": 21, "commits": (tale.at("a", 3),), "lists": (tale.at("a", 2),)}
    return tale.looked_at(unreadable=lists.model_copy(update=told))


def missing_too(*, unread: int | None = None, checked: int = 100, what: str = "data") -> Case:
    """Files of 2 and 3 are not on storage; one of another commit cannot be read."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3, 4, 5)
    found = lost(tale.at("a", 2), tale.at("a", 3), checked=checked, what=what)
    return tale.looked_at(unreadable=unreadable(*([missing(tale, unread)] if unread else [])), missing_files=found)


COULD_NOT = looked(tale_of().looked_at(), "missing_files", 1)
SECOND = tale_of().at("a", 2)


@answer_table(
    {
        "all are gone, and a listing shows no file at all": (
            f9, emptied(0, 0), Remedy.REPAIR_UNREADABLE_FILES, "shows no file at all",
        ),
        "all are gone, and a listing shows others": (
            f9, emptied(4, 4), Remedy.REPAIR_UNREADABLE_FILES, "shows 4 other files",
        ),
        "a listing shows some again": (f9, emptied(9, 4), CannotTell, "the storage itself"),
        "it was listed before": (f9, emptied(0, 0, later=False), CannotTell, "the storage itself"),
        "files are kept elsewhere": (
            f9, emptied(0, 0, table_data="s3://other/data"), CannotTell, "the storage itself",
        ),
        "storage has nothing at all, as in an outage": (f9, missing_too(checked=2), CannotTell),
        "nobody looked": (f9, tale_of().case(), CannotTell),
        "Flink, which alone tells of a failing restart, is down": (
            f9, tale_of().flink_is_down().looked_at(), CannotTell,
        ),
        "behind many lost manifest lists": (f9, behind_lists(), LastGood("a1"), Rows("a3")),
        "a scan misses a file from below the window": (
            f9, failed_for(lost_file="s3://lake/old.parquet"), Remedy.REPAIR_UNREADABLE_FILES, "s3://lake/old.parquet",
        ),
        "a scan failed otherwise": (f9, failed_for(), Excluded),
        "a file is there and cannot be decoded": (
            f9, failed_for(damaged_file="s3://lake/bad.parquet"), Matches, "s3://lake/bad.parquet",
            "1 file that the table names is on storage and cannot be decoded",
        ),
        "readers are sent below all that anybody found missing": (
            f9, missing_too(unread=5), LastGood("a1"), f"Files of {short(SECOND)}",
        ),
        "a lost delete file brings rows back": (
            f9, missing_too(what="deletes"), Matches, "would bring deleted rows back",
        ),
        "an old look is asked for again": (f9, gone(tale_of(), 11), Asks(*ASKED), "then 1 file was missing"),
        "nor does health rest on it": (healthy, gone(tale_of(), 11), Asks(*ASKED), "then 1 file was missing"),
        "a repair was published since": (f9, repaired(), CannotTell, Asks(*ASKED)),
        "a later look found every file of these commits": (
            f9, looked(gone(tale_of(), 5), "unreadable_files", 1, lost()), Asks(*ASKED),
            "unreadable_files has found every file of these commits since",
        ),
        "a second look could not look": (f9, COULD_NOT, Asks(), "missing_files (it ran and could not answer"),
        "nor is the table healthy then": (healthy, COULD_NOT, Asks(), "missing_files (it ran and could not answer"),
    }
)  # fmt: skip
def test_what_is_known_of_the_files(mode: Any, case: Case, expected: list[Any]) -> None:
    """A lost file is told by whoever met it; nobody says that none is lost before all were looked for."""
    check(mode, case, expected)
