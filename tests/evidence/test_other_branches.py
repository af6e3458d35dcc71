"""Commits that stand only on another branch are counted, and never taken for main's."""

from bot.domain.evidence import Verdict
from tests.evidence.conftest import Asks
from tests.evidence.test_ledger import ledger_of, run_of
from tests.tables import OrdersTable, of_flink, rows


def test_commits_of_another_branch_are_counted_beside_the_chain(orders: OrdersTable, asks: Asks) -> None:
    """A job with `toBranch`, or rows that wait for an audit: no row of the ledger, no fault of main's chain."""
    orders.commits("a", 1, range(10))
    good = orders.commits("a", 2, range(10, 20))
    orders.branches_off("audit", good)
    for checkpoint in (3, 4):
        orders.appends(rows(range(20, 30)), of_flink("b", checkpoint), branch="audit")

    answer = asks("ledger", orders.ask(None, jobs=[run_of("a")]))

    assert answer.verdict is Verdict.RULED_OUT
    assert answer.headline.endswith("Not of main, and not told here: 2 commits on branch audit.")
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
