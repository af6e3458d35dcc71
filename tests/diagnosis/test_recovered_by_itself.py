"""`healthy` says no more than was looked at, and only while that still holds."""

from typing import Any

import pytest

import bot.diagnosis
from bot.diagnosis import recovered_by_itself
from bot.diagnosis._examine import diagnose
from bot.diagnosis._scan import scan
from bot.domain.contract import TableContract
from bot.domain.diagnosis import CannotTell, Case, Excluded, Matches
from bot.domain.findings import LeakStanding, RepeatedCommit, ReplayedRowsFinding, UnreadableFile
from bot.domain.ids import CheckpointId, SnapshotId, short
from bot.domain.ledger import BesideMain
from tests.cases import Tale, job_id
from tests.found import hole, leaks, orphans, repeats, ruled_out, unreadable

TASKS = recovered_by_itself.MODE.needs
MODES = scan(bot.diagnosis)


def healthy() -> Tale:
    return Tale().flink_runs("a").commits("a", 1, 2, 3)


def pinned(case: Case, head: SnapshotId, since: SnapshotId | None = None) -> Case:
    """All evidence was collected when the table stood at this head."""
    evidence = tuple(ruled_out(case, task, head, since) for task in TASKS)
    return case.model_copy(update={"evidence": evidence})


def repeated(how: str, tale: Tale) -> RepeatedCommit:
    return RepeatedCommit.model_validate(
        {
            "first": tale.at("a", 1),
            "again": tale.at("a", 3),
            "how": how,
            "job_id": job_id("a"),
            "checkpoint_id": CheckpointId(3),
            "rows": 10,
        }
    )


def test_newer_commits_of_the_job_are_named_and_not_vouched_for() -> None:
    """The trusted snapshot is the newest that evidence covers, although the job goes on."""
    tale = healthy()
    case = pinned(tale.looked_at(), tale.at("a", 2))

    found = recovered_by_itself.examine(case)

    assert isinstance(found, Matches)
    assert tale.at("a", 2) == found.last_good
    assert found.reasons[-1].startswith("Commits by the job came after the evidence (1)")


@pytest.mark.parametrize("happens", ["foreign", "rolled back"])
def test_evidence_of_a_table_that_has_changed_since_is_asked_for_again(happens: str) -> None:
    """Another writer's commit, or a rollback below what was looked at, was not part of the answer."""
    tale = healthy()
    looked_at = tale.at("a", 3)
    if happens == "foreign":
        tale.commits(None, operation="replace")
    else:
        tale.rolls_back_to("a", 2).becomes("a", "FINISHED").flink_runs("b", restored=2)

    found = recovered_by_itself.examine(pinned(tale.looked_at(), looked_at))

    assert isinstance(found, CannotTell)
    assert all("once more" in each for each in found.missing)


def test_evidence_for_a_shorter_window_is_asked_for_again() -> None:
    """What lay below it was not looked at."""
    tale = healthy()

    found = recovered_by_itself.examine(pinned(tale.looked_at(), tale.at("a", 3), since=tale.at("a", 1)))

    assert isinstance(found, CannotTell)
    assert "duplicate_rows, once more (It was asked for a shorter window.)" in found.missing


def test_without_a_column_of_positions_nobody_is_told_that_all_is_there() -> None:
    """The contract must name one; the answer says so."""
    case = healthy().looked_at(gaps=None).model_copy(update={"contract": TableContract(key=("id",))})

    found = recovered_by_itself.examine(case)

    assert isinstance(found, CannotTell)
    assert any(each.startswith("contract.position:") for each in found.missing)


@pytest.mark.parametrize(
    "found",
    [
        {"unreadable": unreadable(UnreadableFile(path="f", what="data", snapshot_id=None, rows=3, problem="gone"))},
        {"gaps": hole(0).model_copy(update={"to_come": 3})},
        {"duplicate_commits": "same-files"},
        {"duplicate_commits": "same-checkpoint"},
        {"leaked": LeakStanding.DROPPED},
        {"leaked": LeakStanding.LOST_STATE},
        {"leaked": LeakStanding.PENDING},
    ],
    ids=str,
)
def test_whatever_is_wrong_with_rows_or_files_excludes_it(found: dict[str, Any]) -> None:
    """An unreadable file, rows to come, a repeated commit, a manifest that was dropped, lost or is overdue."""
    tale = healthy().completes("a", 4).leaves_manifest("a", 4).completes("a", 5, 6, 7, 8, 9)
    told = {
        field: repeats(repeated(value, tale))
        if field == "duplicate_commits"
        else leaks(*tale.manifests, standing=value)
        if field == "leaked"
        else value
        for field, value in found.items()
    }

    answer = recovered_by_itself.examine(tale.looked_at(**({"leaked": leaks()} | told)))

    assert isinstance(answer, Excluded)


@pytest.mark.parametrize(("found", "expected"), [(orphans(), Matches), (orphans(2), CannotTell), (None, CannotTell)])
def test_silence_is_quiet_only_when_no_file_is_left_over(found: Any, expected: type) -> None:
    """A commit that went from the metadata without a trace leaves its files behind; a quiet source leaves none."""
    tale = healthy().completes("a", *range(4, 12))

    answer = recovered_by_itself.examine(tale.looked_at(orphans=found))

    assert isinstance(answer, expected)


def test_the_newest_checkpoint_may_be_on_its_way() -> None:
    """A checkpoint of the last seconds needs no explanation."""
    found = recovered_by_itself.examine(healthy().completes("a", 4, 5).looked_at(orphans=None))

    assert isinstance(found, Matches)


@pytest.mark.parametrize(("replayed", "expected"), [(None, CannotTell), (5, CannotTell), (0, Matches)])
def test_a_source_range_that_came_twice_is_explained_first(replayed: int | None, expected: type) -> None:
    """No key lives twice, but the copies may have other keys."""
    tale = healthy()
    again = None
    if replayed is not None:
        again = ReplayedRowsFinding(rows_checked=30, replayed=replayed, changed=0, first=None, last=None, pairs=())

    case = tale.looked_at(duplicate_commits=repeats(repeated("same-source-range", tale)), replayed=again)
    found = recovered_by_itself.examine(case)

    assert isinstance(found, expected)


def test_a_rolled_back_commit_that_was_put_back_is_no_fault() -> None:
    """The chain jumps, and evidence found every row: nothing to do."""
    tale = Tale().flink_runs("a").commits("a", *range(1, 6)).rolls_back_to("a", 3).commits("a", 6)

    diagnosis = diagnose(tale.looked_at(), MODES)

    assert ("healthy",) == diagnosis.codes


@pytest.mark.parametrize("expired", [0, 2])
def test_how_far_back_the_table_is_known_to_be_complete_is_said(expired: int) -> None:
    """Nobody reads what lies below the oldest listed commit: its commits have expired."""
    tale = Tale().flink_runs("a").commits("a", *range(1, 6)).completes("a", 5)
    tale.snapshots, tale.moves = tale.snapshots[expired:], tale.moves[expired:]

    found = recovered_by_itself.examine(tale.looked_at())

    assert isinstance(found, Matches)
    assert ("the table is complete from …003003 up to …005005" in found.headline) == bool(expired)
    assert ("the table is complete up to …005005" in found.headline) == (not expired)


def test_a_catalog_that_points_nowhere_is_never_healthy() -> None:
    """What is read then is an older state of the table (F10)."""
    case = healthy().looked_at()
    lost = case.observation.table.model_copy(update={"lost_metadata": "s3://lake/metadata/00010.metadata.json"})

    found = recovered_by_itself.examine(
        case.model_copy(update={"observation": case.observation.model_copy(update={"table": lost})})
    )

    assert isinstance(found, Excluded)


def test_it_says_from_where_on_the_table_is_complete() -> None:
    """Files of older commits are not tried: one of them that is gone must not be covered by the sentence."""
    tale = healthy()

    whole = recovered_by_itself.examine(tale.looked_at())
    part = recovered_by_itself.examine(tale.looked_at(since=tale.at("a", 1)))

    assert isinstance(whole, Matches)
    assert isinstance(part, Matches)
    assert "complete up to" in whole.headline
    assert f"complete from {short(tale.at('a', 1))} up to" in part.headline
    assert "Files of older commits were not tried." in " ".join(part.reasons)
    assert "older commits" not in " ".join(whole.reasons)


def test_rows_of_other_branches_are_not_vouched_for() -> None:
    """The table is complete as main has it: who reads an audit branch is not told that its rows are right."""
    tale = healthy()
    case = tale.looked_at()
    assert case.ledger is not None
    audit = BesideMain(
        branch="audit", snapshot_id=SnapshotId(77), commits=2, added_rows=30, removed_rows=0, job_ids=(),
        engines=("spark",), last_at=case.observation.table.read_at,
    )  # fmt: skip
    ledger = case.ledger.model_copy(update={"branches": (audit,)})

    alone, beside = (recovered_by_itself.examine(each) for each in (case, case.model_copy(update={"ledger": ledger})))

    assert isinstance(alone, Matches)
    assert isinstance(beside, Matches)
    assert set(beside.reasons) - set(alone.reasons) == {
        "This is said of main: rows of 2 commits on branch audit were not looked at."
    }
