"""F16 and F17: repeated keys in upsert tables, by one commit or by writers that do not reach each other."""

from typing import Any

import pytest

from bot.diagnosis import upsert_duplicates_across_writers as across
from bot.diagnosis import upsert_duplicates_in_one_commit as within
from bot.domain.diagnosis import CannotTell, Case, Excluded, Matches, Remedy
from bot.domain.findings import DuplicatePair
from bot.domain.table import Snapshot
from tests.cases import Tale
from tests.found import twice


def case(*, keys: int = 8, upsert: bool = True, deletes: int = 0, **counts: int) -> Case:
    """Commits 1 to 3 of an upsert table; commit 2 wrote both copies of each repeated key."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3)
    tale.properties["write.upsert.enabled"] = str(upsert).lower()
    more = {"added-equality-deletes": str(deletes)}
    tale.snapshots = [s.model_copy(update={"summary": s.summary | more}) for s in tale.snapshots]
    pair = DuplicatePair(first=tale.at("a", 2), second=tale.at("a", 2), keys=keys)
    found = twice(keys).model_copy(update={"pairs": (pair,), **counts})
    return tale.looked_at().model_copy(update={"duplicates": found})


def second_commit(of: Case) -> Snapshot:
    return of.observation.table.snapshots[1]


def test_keys_twice_in_one_commit_are_told_with_that_commit() -> None:
    """What lies below it is to be trusted; one copy of each key is to stay."""
    told = case(within_commit=8)

    found = within.examine(told)

    assert isinstance(found, Matches)
    assert ((second_commit(told).snapshot_id,), second_commit(told).parent_id) == (found.rows, found.last_good)
    assert found.remedy is Remedy.DEDUPLICATE_ROWS


def test_equality_deletes_show_an_upsert_table_too() -> None:
    """A job may upsert although the table's property does not say so."""
    told = case(within_commit=8, upsert=False, deletes=5)

    found = within.examine(told)

    assert isinstance(found, Matches)
    assert "15 equality deletes" in found.reasons[0]


@pytest.mark.parametrize("mode", [within, across])
def test_a_table_that_only_appends_has_neither(mode: Any) -> None:
    """Nothing was to remove the older copy."""
    found = mode.examine(case(within_commit=8, across_partitions=8, upsert=False))

    assert isinstance(found, Excluded)
    assert "only appends" in found.reason


@pytest.mark.parametrize("counts", [{"across_partitions": 8}, {"across_subtasks": 8}])
def test_copies_by_different_writers_are_told(counts: dict[str, int]) -> None:
    """Other partitions, other subtasks: deletes of one do not reach the other."""
    found = across.examine(case(**counts))

    assert isinstance(found, Matches)
    assert found.remedy is Remedy.DEDUPLICATE_ROWS


def test_copies_of_one_commit_by_different_subtasks_have_one_cause() -> None:
    """The distribution is to be mended (F17), not the sink (F16)."""
    told = case(within_commit=8, across_subtasks=8)

    found = within.examine(told), across.examine(told)

    assert [Excluded, Matches] == [type(one) for one in found]


def test_copies_of_several_commits_in_one_place_are_neither() -> None:
    """That is a replay: look at F1, F2 and F3."""
    told = case()

    found = within.examine(told), across.examine(told)

    assert [Excluded, Excluded] == [type(one) for one in found]


@pytest.mark.parametrize("mode", [within, across])
def test_copies_that_a_compaction_hides_leave_it_open(mode: Any) -> None:
    """Of one commit or of several, by one subtask or by several: the compaction's file does not tell."""
    found = mode.examine(case(hidden=8))

    assert isinstance(found, CannotTell)
    assert found.missing == ("who wrote the copies of 8 keys (a compaction has rewritten them and hides it)",)


@pytest.mark.parametrize(("mode", "counts"), [(within, {"within_commit": 3}), (across, {"across_partitions": 3})])
def test_no_state_is_trusted_while_some_writer_is_hidden(mode: Any, counts: dict[str, int]) -> None:
    """The copies that are hidden may be older than those that are told."""
    found = mode.examine(case(hidden=5, **counts))

    assert isinstance(found, Matches)
    assert found.last_good is None


@pytest.mark.parametrize("mode", [within, across])
def test_uncounted_rows_leave_it_open(mode: Any) -> None:
    """Nothing is excluded before the rows were counted."""
    found = mode.examine(case().model_copy(update={"duplicates": None}))

    assert isinstance(found, CannotTell)
    assert ("duplicate_rows",) == found.missing
