"""A source in partitions: what was lost in one of them shows only below a later row of it, and that may come late."""

from bot.diagnosis import restarted_from_empty
from bot.diagnosis._last_good import rows_up_to
from bot.domain.diagnosis import Case, Matches, Remedy
from bot.domain.findings import GapsFinding
from bot.domain.last_good import LastGoodRows
from tests.cases import Tale

WHOLE = GapsFinding(lowest=0, highest=19, positions=40, missing=0, gaps=())


def _in_partitions(case: Case) -> Case:
    contract = case.contract.model_copy(update={"position_partition": "source_partition"})
    return case.model_copy(update={"contract": contract})


def _remedy(commits: int) -> Remedy:
    """Of a start without state that has committed so often since."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).becomes("a", "CANCELED").flink_runs("b")
    tale.commits("b", *range(1, commits + 1))
    found = restarted_from_empty.examine(_in_partitions(tale.looked_at(gaps=WHOLE)))
    assert isinstance(found, Matches)
    return found.remedy


def test_rows_after_a_start_without_state_are_right_only_once_each_partition_had_time_to_come() -> None:
    """Five commits, after which `missing_positions` itself asks why one is silent."""
    assert _remedy(4) is Remedy.REWIND_TABLE_AND_JOB
    assert _remedy(5) is Remedy.TELL_CONSUMERS


def test_rows_are_not_clean_while_a_partition_has_positions_to_come() -> None:
    """Rows of another one came above the rollback that took them."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).rolls_back_to("a", 1).commits("a", 4)
    to_come = WHOLE.model_copy(update={"to_come": 10})

    assert rows_up_to(_in_partitions(tale.looked_at(gaps=to_come)), tale.at("a", 4)) is LastGoodRows.NOT_LOOKED_AT
    assert rows_up_to(tale.looked_at(gaps=to_come), tale.at("a", 4)) is LastGoodRows.CLEAN


def test_nor_where_what_main_lost_may_have_expired_since() -> None:
    """The sequence numbers tell that something was there."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).rolls_back_to("a", 1).commits("a", 4).expires("a", 2, 3)

    assert rows_up_to(_in_partitions(tale.looked_at(gaps=WHOLE)), tale.at("a", 4)) is LastGoodRows.NOT_LOOKED_AT
