"""Main was rolled back, and what it lost has expired with its files: nobody can call the table right."""

from collections.abc import Callable

import pytest

from bot.diagnosis import _lost_and_expired, no_snapshot_advanced, recovered_by_itself, rolled_back_while_running
from bot.domain.diagnosis import CannotTell, Case, Excluded, Matches
from bot.domain.ids import OperatorId
from bot.domain.table import HeadMove
from spark_tasks import _tails
from tests.cases import OPERATOR, Tale
from tests.diagnosis.test_format_v1 import in_format_v1

GUEST, SECOND = OperatorId("ee" * 16), OperatorId("dd" * 16)


def set_back(*lost: int) -> Tale:
    """Run a committed up to checkpoint 5, main was set back, and these have expired; the log goes with them."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3, 4, 5)
    if lost:
        tale.rolls_back_to("a", min(lost) - 1).expires("a", *lost)
        tale.moves = [HeadMove(at=tale.now, snapshot_id=tale.head)] if tale.head else []
    return tale


@pytest.mark.parametrize("completed", [(), (3, 4, 5)], ids=["forgotten", "listed"])
def test_the_job_is_not_healthy_while_it_has_not_committed_since(completed: tuple[int, ...]) -> None:
    """No orphan is left, and no checkpoint need be listed by Flink any more."""
    tale = set_back(3, 4, 5).completes("a", *completed)

    found = recovered_by_itself.examine(tale.looked_at())

    assert isinstance(found, CannotTell)
    assert any("3 snapshots newer than …002002" in each for each in found.missing)
    assert any(each.endswith("Ask again when the job has committed rows") for each in found.missing)


def test_a_table_that_stands_still_is_not_called_right() -> None:
    """The job died before its next commit."""
    found = no_snapshot_advanced.examine(set_back(3, 4, 5).becomes("a", "FAILED").looked_at())

    assert isinstance(found, CannotTell)
    assert any("rolled back and expired" in each for each in found.missing)
    assert any("No run is alive to commit: look who has moved main" in each for each in found.missing)


@pytest.mark.parametrize("alive", [True, False], ids=["alive", "down"])
def test_format_v1_has_no_numbers_and_its_log_tells(alive: bool) -> None:
    """Main came to its newest commit later than that was made."""
    tale = in_format_v1(set_back(3, 4, 5).becomes("a", "RUNNING" if alive else "FAILED"))

    found = (recovered_by_itself if alive else no_snapshot_advanced).examine(tale.looked_at())

    assert isinstance(found, CannotTell)
    (told,) = [each for each in found.missing if "rolled back and expired" in each]
    assert f"as it came back to …{str(tale.head)[-6:]} (12:01:10 UTC), which its log shows" in told


def test_in_format_v1_the_next_commit_settles_it_too() -> None:
    """Main has only gone forward since."""
    tale = in_format_v1(set_back(3, 4, 5).commits("a", 6))

    assert isinstance(recovered_by_itself.examine(tale.looked_at()), Matches)


def test_evidence_vouches_for_what_lies_below_a_later_commit() -> None:
    """Positions of lost rows would be missing there."""
    tale = set_back(3, 4, 5).commits("a", 6)

    assert isinstance(recovered_by_itself.examine(tale.looked_at()), Matches)


def test_expiry_of_the_oldest_leaves_a_table_healthy() -> None:
    """They were below all that is listed."""
    tale = set_back().expires("a", 1, 2, 3)

    assert isinstance(recovered_by_itself.examine(tale.looked_at()), Matches)


WITHOUT_LATER_ROWS: dict[str, Callable[[Tale], Tale]] = {
    "an empty commit": lambda tale: tale.commits("a", 13).counts(added_records=0),
    "a compaction": lambda tale: tale.commits(None, rows=20, operation="replace").counts(deleted_records=20),
    "a guest's append": lambda tale: tale.commits("z", 500).by_sink(GUEST),
}


@pytest.mark.parametrize("on_top", WITHOUT_LATER_ROWS.values(), ids=WITHOUT_LATER_ROWS)
def test_what_brings_no_row_of_the_job_settles_nothing(on_top: Callable[[Tale], Tale]) -> None:
    """No later position is there below which lost ones would be missing."""
    tale = on_top(set_back(3, 4, 5))

    found = recovered_by_itself.examine(tale.looked_at())

    assert isinstance(found, CannotTell)
    assert any("3 snapshots newer than …002002" in each for each in found.missing)
    assert isinstance(recovered_by_itself.examine(tale.commits("a", 14).looked_at()), Matches)


@pytest.mark.parametrize("on_top", WITHOUT_LATER_ROWS.values(), ids=WITHOUT_LATER_ROWS)
def test_nor_does_it_where_the_job_has_died(on_top: Callable[[Tale], Tale]) -> None:
    """Nobody is told that the table is right."""
    found = no_snapshot_advanced.examine(on_top(set_back(3, 4, 5)).becomes("a", "FAILED").looked_at())

    assert isinstance(found, CannotTell)
    assert any("rolled back and expired" in each for each in found.missing)


@pytest.mark.parametrize("on_top", WITHOUT_LATER_ROWS.values(), ids=WITHOUT_LATER_ROWS)
def test_a_table_that_lost_nothing_stays_healthy_below_it(on_top: Callable[[Tale], Tale]) -> None:
    """Also where ordinary expiry has left one commit with rows of the job."""
    tale = on_top(set_back())
    whole = recovered_by_itself.examine(tale.looked_at())

    short = recovered_by_itself.examine(tale.expires("a", 1, 2, 3, 4).looked_at())

    assert isinstance(whole, Matches)
    assert isinstance(short, Matches)


@pytest.mark.parametrize("lost", [(), (3, 4, 5)], ids=["nothing", "three commits"])
@pytest.mark.parametrize("on_top", WITHOUT_LATER_ROWS.values(), ids=WITHOUT_LATER_ROWS)
def test_nobody_can_tell_while_main_lists_no_commit_with_rows_of_the_job(
    on_top: Callable[[Tale], Tale], lost: tuple[int, ...]
) -> None:
    """What is left was made after all that may have been lost, so no sequence number is missing above it."""
    tale = on_top(set_back(*lost)).expires("a", *({1, 2, 3, 4, 5} - set(lost)))
    root = tale.head
    tale.counts(total_records=40)

    for examine in (recovered_by_itself.examine, rolled_back_while_running.examine):
        found = examine(tale.looked_at())
        assert isinstance(found, CannotTell)
        assert any(f"whether main lost commits before …{str(root)[-6:]}" in each for each in found.missing)
    after = tale.commits("a", 14).looked_at()
    assert isinstance(recovered_by_itself.examine(after), Matches)
    assert isinstance(rolled_back_while_running.examine(after), Excluded)


def test_a_run_without_state_holds_nothing_of_what_main_may_have_lost_before() -> None:
    """A new job over a table that another engine had filled, and where it has written nothing yet."""
    tale = Tale().commits(None, rows=10).counts(total_records=40).flink_runs("a")

    found = rolled_back_while_running.examine(tale.looked_at())

    assert isinstance(found, Excluded)


@pytest.mark.parametrize("rows", [1, 5], ids=["one commit", "several"])
def test_nor_does_a_guest_under_the_same_uid(rows: int) -> None:
    """Flink lists the run that wrote the table, and not this one."""
    tale = set_back(3, 4, 5).commits("z", *range(6, 6 + rows))

    found = recovered_by_itself.examine(tale.looked_at())

    assert isinstance(found, CannotTell)
    assert any("3 snapshots newer than …002002" in each for each in found.missing)
    assert isinstance(recovered_by_itself.examine(tale.commits("a", 14).looked_at()), Matches)


def redeployed(tale: Tale, restored: int) -> Tale:
    """Run b goes on where a had stopped, which Flink lists no more, and is quiet."""
    return tale.becomes("a", "FINISHED").flink_runs("b", restored=restored).forgets("a")


@pytest.mark.parametrize("sink", [GUEST, OPERATOR], ids=["by its own sink", "under the same uid"])
def test_nor_does_a_guest_while_the_listed_run_has_committed_nothing(sink: OperatorId) -> None:
    """No listed run tells by which sink the job commits."""
    tale = redeployed(set_back(3, 4, 5), 2).commits("z", 3).by_sink(sink)

    found = recovered_by_itself.examine(tale.looked_at())

    assert isinstance(found, CannotTell)
    assert any("3 snapshots newer than …002002" in each for each in found.missing)


def test_rows_of_a_run_that_flink_has_forgotten_settle_it() -> None:
    """It committed before the job's first listed run began."""
    tale = redeployed(set_back(3, 4, 5).commits("a", 6), 6)

    quiet = recovered_by_itself.examine(tale.looked_at())
    going_on = recovered_by_itself.examine(tale.commits("b", 7).looked_at())

    assert isinstance(quiet, Matches)
    assert isinstance(going_on, Matches)


def test_the_rows_of_one_sink_settle_nothing_of_another() -> None:
    """Each reads its own part of the source."""
    tale = Tale().flink_runs("a").commits("a", 1).by_sink(SECOND).commits("a", 1, 2, 3)
    tale.rolls_back_to("a", 2).expires("a", 3)
    tale.moves = [HeadMove(at=tale.now, snapshot_id=tale.at("a", 2))]

    first = recovered_by_itself.examine(tale.commits("a", 4).by_sink(SECOND).looked_at())

    assert isinstance(first, CannotTell)
    assert any("1 snapshot newer than …003003" in each for each in first.missing)
    assert isinstance(recovered_by_itself.examine(tale.commits("a", 5).looked_at()), Matches)


def test_of_a_source_in_partitions_several_commits_settle_it() -> None:
    """One that was lost as a whole is silent, and `missing_positions` asks why after so many."""
    few, several = range(6, 10), range(6, 11)

    found = recovered_by_itself.examine(_in_partitions(set_back(3, 4, 5).commits("a", *few)))

    assert _tails.SEVERAL == _lost_and_expired.SEVERAL
    assert isinstance(found, CannotTell)
    assert any(each.endswith("has committed rows 5 times more") for each in found.missing)
    assert isinstance(recovered_by_itself.examine(_in_partitions(set_back(3, 4, 5).commits("a", *several))), Matches)


def _in_partitions(tale: Tale) -> Case:
    case = tale.looked_at()
    return case.model_copy(update={"contract": case.contract.model_copy(update={"position_partition": "part"})})
