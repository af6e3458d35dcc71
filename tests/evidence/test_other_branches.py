"""Commits that stand only on another branch are counted, and never taken for main's."""

import pytest

from bot.domain.evidence import Verdict
from bot.domain.ids import short, short_job
from tests.evidence.conftest import Asks
from tests.evidence.test_ledger import ledger_of, run_of
from tests.tables import OrdersTable, job, of_flink, rows


def test_commits_of_another_branch_are_counted_beside_the_chain(orders: OrdersTable, asks: Asks) -> None:
    """A job with `toBranch`, or rows that wait for an audit: no row of the ledger, no fault of main's chain."""
    orders.commits("a", 1, range(10))
    good = orders.commits("a", 2, range(10, 20))
    orders.branches_off("audit", good)
    for checkpoint in (3, 4):
        orders.appends(rows(range(20, 30)), of_flink("b", checkpoint), branch="audit")
    audited = orders.state().ref("audit")
    assert audited is not None

    answer = asks("ledger", orders.ask(None, jobs=[run_of("a")]))

    assert answer.verdict is Verdict.RULED_OUT
    assert answer.headline.endswith(
        "Not of main, and not told here: 2 commits on branch audit "
        f"(Flink run {short_job(job('b'))}, rows +20, at {short(audited)})."
    )
    [told] = ledger_of(answer).branches
    assert (told.branch, told.snapshot_id, told.commits, told.added_rows) == ("audit", audited, 2, 20)
    assert [row.checkpoint_id for row in ledger_of(answer).rows] == [1, 2]
    assert next(m.value for m in answer.measures if m.name == "on other branches") == 2


def test_a_branch_that_holds_what_main_had_is_nothing_else(orders: OrdersTable, asks: Asks) -> None:
    """A branch on a commit that was rolled back: the ledger tells that commit itself."""
    good = orders.commits("a", 1, range(10))
    lost = orders.commits("a", 2, range(10, 20))
    orders.branches_off("kept", lost)
    orders.rolls_back_to(good)

    answer = asks("ledger", orders.ask(None, jobs=[run_of("a")]))

    assert "branch" not in answer.headline
    assert "on other branches" not in {measure.name for measure in answer.measures}


def test_commits_that_two_branches_share_are_counted_once_and_every_writer_is_named(
    orders: OrdersTable, asks: Asks
) -> None:
    """An audit of an audit, by another engine."""
    good = orders.commits("a", 1, range(10))
    orders.branches_off("audit", good)
    orders.appends(rows(range(20, 30)), of_flink("b", 2), branch="audit")
    orders.branches_off("second", orders.state().ref("audit") or 0)
    orders.appends(rows(range(30, 35)), {"engine-name": "spark"}, branch="second")

    answer = asks("ledger", orders.ask(None, jobs=[run_of("a")]))

    assert next(m.value for m in answer.measures if m.name == "on other branches") == 2
    told = [(each.branch, each.commits, each.added_rows, each.engines) for each in ledger_of(answer).branches]
    assert told == [("audit", 1, 10, ()), ("second", 2, 15, ("spark",))]
    assert f"on branch second (Flink run {short_job(job('b'))} and spark, rows +15, at" in answer.headline


@pytest.mark.parametrize("task", ["duplicate_rows", "duplicate_files", "duplicate_commits", "extra_copies"])
def test_rows_that_stand_on_another_branch_as_well_are_no_duplicates(
    orders: OrdersTable, asks: Asks, task: str
) -> None:
    """The audit branch has the same rows, files and checkpoints by the same run: main has each once."""
    before = orders.commits("a", 1, range(10))
    orders.branches_off("audit", before)
    orders.appends(rows(range(10, 20)), of_flink("a", 2), branch="audit")
    orders.commits("a", 2, range(10, 20))

    answer = asks(task, orders.ask(before, jobs=[run_of("a")]))

    assert answer.verdict is Verdict.RULED_OUT


def test_positions_that_only_another_branch_has_are_missing(orders: OrdersTable, asks: Asks) -> None:
    """Nobody reads them on main."""
    before = orders.commits("a", 1, range(10))
    orders.branches_off("audit", before)
    orders.appends(rows(range(10, 20)), of_flink("a", 2), branch="audit")
    orders.commits("a", 3, range(20, 30))

    answer = asks("missing_positions", orders.ask(before, jobs=[run_of("a")]))

    assert answer.verdict is Verdict.CONFIRMED
    assert next(m.value for m in answer.measures if m.name.startswith("missing")) == 10
