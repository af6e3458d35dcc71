"""Main was begun anew under its job, and all that is older has expired: numbers alone tell it from a young table."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from bot.diagnosis import no_snapshot_advanced, recovered_by_itself
from bot.domain.diagnosis import CannotTell, Case, Matches
from bot.domain.findings import GapsFinding
from bot.domain.ids import OperatorId, short
from bot.domain.table import Ref
from tests.cases import Tale
from tests.found import hole

OTHER_SINK = OperatorId("ee" * 16)
FROM_30 = GapsFinding(lowest=30, highest=49, positions=20, missing=0, gaps=())


def replaced(tale: Tale) -> Tale:
    """Main has no commit any more; what it had is listed until it expires."""
    tale.head = None
    return tale


def three_commits() -> Tale:
    """By a run that began without state."""
    return Tale().flink_runs("a").commits("a", 1, 2, 3)


def goes_on() -> Tale:
    """The job commits its next checkpoint as the first of a new main, and expiry takes all before."""
    return replaced(three_commits()).commits("a", 4, 5).expires("a", 1, 2, 3)


def fills(tale: Tale) -> Tale:
    """Another job fills the new table."""
    return replaced(tale).commits("z", 7).by_sink(OTHER_SINK)


def is_filled_by_another() -> Tale:
    """Its commit lies below those of this one."""
    return fills(three_commits()).commits("a", 4).expires("a", 1, 2, 3)


def is_restored_onto_it() -> Tale:
    """Another run brings the state of the one before."""
    tale = replaced(three_commits()).becomes("a", "FINISHED").flink_runs("b", restored=3)
    return tale.commits("b", 4, 5).expires("a", 1, 2, 3).forgets("a")


def has_not_committed_since() -> Tale:
    """What it committed is gone, and main has another job's commit alone."""
    return fills(three_commits()).expires("a", 1, 2, 3)


def is_restored_onto_a_filled_one() -> Tale:
    """The state came from before, although the run itself began after the replacement."""
    tale = fills(three_commits().becomes("a", "FINISHED")).flink_runs("b", restored=3)
    return tale.commits("b", 4).expires("a", 1, 2, 3)


REPLACED = [goes_on, is_restored_onto_a_filled_one, is_filled_by_another, is_restored_onto_it, has_not_committed_since]


def says_so(case: Case) -> bool:
    """Whether `healthy` cannot tell for that reason."""
    found = recovered_by_itself.examine(case)
    return isinstance(found, CannotTell) and any("replaced under its job" in each for each in found.missing)


@pytest.mark.parametrize("tell", REPLACED)
def test_a_table_that_was_replaced_is_not_healthy_once_what_it_had_has_expired(tell: Callable[[], Tale]) -> None:
    """No older commit is listed, no file is left, and no position is missing among those that live."""
    tale = tell()

    found = recovered_by_itself.examine(tale.looked_at(gaps=FROM_30))

    assert isinstance(found, CannotTell)
    root = short(tale.table.chain[-1].snapshot_id)
    assert any(f"before {root}, with which it begins anew, without a parent" in each for each in found.missing)
    assert any("by the sequence numbers, 3 older snapshots are listed no more" in each for each in found.missing)
    assert any(each.endswith(f"with a window that begins after {root}") for each in found.missing)


def test_what_pyiceberg_has_taken_out_lies_below_what_is_called_complete() -> None:
    """The answer says from where on, and that older files were not tried."""
    tale = taken_out_by_pyiceberg()

    found = recovered_by_itself.examine(tale.looked_at(gaps=FROM_30))

    assert isinstance(found, Matches)
    assert f"complete from {short(tale.at('a', 4))}" in found.headline
    assert any("Files of older commits were not tried" in each for each in found.reasons)


def test_checkpoints_of_what_pyiceberg_has_taken_out_are_no_commits_without_a_trace() -> None:
    """Flink lists them still, and nobody has to look for their files."""
    tale = taken_out_by_pyiceberg().completes("a", 1, 2, 3)
    tale.now += timedelta(minutes=1)

    assert isinstance(recovered_by_itself.examine(tale.looked_at(gaps=FROM_30, orphans=None)), Matches)


def test_a_compaction_whose_parent_pyiceberg_has_taken_out_rewrote_what_main_had() -> None:
    """It counts what it replaced, and totals that fit."""
    tale = three_commits().commits(None, rows=30, operation="replace")
    tale.counts(deleted_records=30, total_records=30).commits("a", 4).expires("a", 1, 2, 3)
    tale.snapshots[0] = tale.snapshots[0].model_copy(update={"parent_id": None})

    assert isinstance(recovered_by_itself.examine(tale.looked_at(gaps=FROM_30)), Matches)


def test_what_is_listed_still_is_not_counted() -> None:
    """One commit from before the upgrade to format v2, which has number 0, and one from since are kept by tags."""
    tale = Tale().flink_runs("a").commits(None).commits(None).commits("a", 1)
    kept = [each.snapshot_id for each in tale.snapshots[:2]]
    tale.refs = [Ref(name=f"month-{each}", kind="tag", snapshot_id=each) for each in kept]
    tale = replaced(tale).commits("a", 2).expires("a", 1)
    tale.snapshots = [each.model_copy(update={"sequence_number": each.sequence_number - 1}) for each in tale.snapshots]

    found = recovered_by_itself.examine(tale.looked_at(gaps=FROM_30))

    assert isinstance(found, CannotTell)
    assert any("by the sequence numbers, 1 older snapshot is listed no more" in each for each in found.missing)


def test_a_job_that_stands_still_over_it_does_not_leave_the_table_right() -> None:
    """Whoever recovers the job alone would never miss the rows."""
    found = no_snapshot_advanced.examine(goes_on().becomes("a", "FAILED").looked_at(gaps=FROM_30))

    assert isinstance(found, CannotTell)
    assert any("replaced under its job" in each for each in found.missing)


def test_of_what_came_since_it_can_be_said() -> None:
    """The answer names the window to ask with."""
    tale = goes_on().commits("a", 6)

    found = recovered_by_itself.examine(tale.looked_at(since=tale.at("a", 4), gaps=FROM_30))

    assert isinstance(found, Matches)
    assert f"complete from {short(tale.at('a', 4))}" in found.headline


def young() -> Tale:
    """Its first checkpoints had no rows."""
    return Tale().flink_runs("a").commits("a", 4, 5)


def taken_out_by_iceberg() -> Tale:
    """The oldest listed commit names a parent that is gone."""
    return three_commits().commits("a", 4, 5).expires("a", 1, 2, 3)


def taken_out_by_pyiceberg() -> Tale:
    """It takes the parent's id away too; rows that the commit did not bring were there before it."""
    tale = three_commits().commits("a", 4).counts(total_records=40).commits("a", 5).expires("a", 1, 2, 3)
    tale.snapshots[0] = tale.snapshots[0].model_copy(update={"parent_id": None})
    return tale


def rolled_back_to_the_first() -> Tale:
    """And table and job went back together; what was lost has expired."""
    tale = three_commits().rolls_back_to("a", 1).becomes("a", "FINISHED")
    return tale.flink_runs("b", restored=1).commits("b", 2, 3).expires("a", 2, 3)


def without_numbers() -> Tale:
    """Format v1 has none, also where the table was upgraded since."""
    tale = young().commits("a", 6)
    tale.numbers_snapshots = False
    tale.snapshots = [each.model_copy(update={"sequence_number": 0}) for each in tale.snapshots]
    return tale


def upgraded() -> Tale:
    """Commits from before the upgrade to v2 keep number 0, and stay listed."""
    tale = Tale().flink_runs("a").commits("a", 4, 5).commits("a", 6)
    tale.snapshots = [each.model_copy(update={"sequence_number": n}) for n, each in enumerate(tale.snapshots)]
    return tale


def staged_first() -> Tale:
    """Write-audit-publish before main had anything, and that is listed still."""
    return Tale().flink_runs("a").stages(None, 0).commits("a", 2, 3)


def begun_on_purpose() -> Tale:
    """A new table under the old name, for a job that begins at its source's beginning."""
    tale = replaced(three_commits()).becomes("a", "FINISHED").flink_runs("b")
    return tale.commits("b", 1, 2).expires("a", 1, 2, 3).forgets("a")


def begun_on_a_filled_one() -> Tale:
    """The job was started without state after the replacement, and its first checkpoints had no rows."""
    tale = fills(three_commits().becomes("a", "FINISHED")).expires("a", 1, 2, 3)
    return tale.flink_runs("b").commits("b", 3, 4)


@pytest.mark.parametrize(
    "tell",
    [
        young,
        taken_out_by_iceberg,
        taken_out_by_pyiceberg,
        rolled_back_to_the_first,
        without_numbers,
        upgraded,
        staged_first,
        begun_on_purpose,
        begun_on_a_filled_one,
    ],
)
def test_what_only_looks_like_it_is_left_alone(tell: Callable[[], Tale]) -> None:
    """Histories in which the job has lost nothing to a replacement."""
    found = recovered_by_itself.examine(tell().looked_at(gaps=FROM_30))

    assert isinstance(found, Matches), found


@pytest.mark.parametrize("tell", REPLACED)
def test_where_the_sources_first_position_is_there_nothing_lies_below(tell: Callable[[], Tale]) -> None:
    """The rows were put back, or read again."""
    assert not says_so(tell().looked_at(gaps=hole(0)))


def test_a_branch_that_was_there_before_main_leaves_it_open() -> None:
    """Expiry has left its newest: those below it may have been main's once, or the branch's own."""
    tale = Tale().flink_runs("a").commits(None).commits(None)
    tale.refs = [Ref(name="audit", kind="branch", snapshot_id=tale.snapshots[-1].snapshot_id)]
    tale = replaced(tale).commits("a", 4, 5)
    tale.snapshots = tale.snapshots[1:]

    assert says_so(tale.looked_at(gaps=FROM_30))


@pytest.mark.parametrize("log_is_cut", [False, True])
def test_a_tag_below_what_pyiceberg_has_taken_out_is_no_replaced_line(log_is_cut: bool) -> None:
    """It keeps the tagged commit, and in the log too, until Iceberg's own expiry cuts that: main lies on what is gone,
    and was never begun anew."""
    tale = three_commits().trusts("a", 1).commits("a", 4).counts(total_records=40).commits("a", 5).expires("a", 2, 3)
    tale.snapshots[1] = tale.snapshots[1].model_copy(update={"parent_id": None})
    tale.moves = tale.moves[1:] if log_is_cut else tale.moves

    found = recovered_by_itself.examine(tale.looked_at(gaps=FROM_30))

    assert isinstance(found, Matches), found
