"""Positions without a record are no missing rows: where the contract says so, or commits below the window show it."""

import pytest

from bot.domain.evidence import Verdict
from tests.evidence.conftest import Asks
from tests.evidence.test_missing_positions import gaps_of
from tests.tables import CONTRACT, OrdersTable

NOT_DENSE = CONTRACT.model_copy(update={"position_is_dense": False})


def marked(first: int, last: int) -> list[int]:
    """Positions of a transactional topic: each tenth is a marker, the last one too."""
    return [each for each in range(first, last + 1) if each % 10 != 9]


def test_holes_between_rows_of_one_commit_are_no_loss(orders: OrdersTable, asks: Asks) -> None:
    """They end within each commit here, and the next commit goes on right behind."""
    before = orders.commits("a", 1, marked(0, 94))
    orders.commits("a", 2, marked(95, 204))
    orders.commits("b", 3, marked(205, 298))

    answer = asks("missing_positions", orders.ask(before, contract=NOT_DENSE))

    assert answer.verdict is Verdict.RULED_OUT
    assert gaps_of(answer).missing == 0


def test_a_marker_between_two_commits_is_left_to_what_the_job_began_from(orders: OrdersTable, asks: Asks) -> None:
    """It is no wider than those within commits; a copy that came again does not change it."""
    before = orders.commits("a", 1, marked(0, 99))
    orders.commits("b", 2, marked(100, 199))
    orders.commits("b", 3, marked(150, 250))

    answer = asks("missing_positions", orders.ask(before, contract=NOT_DENSE))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert (gaps_of(answer).missing, gaps_of(answer).is_untold) == (1, True)
    assert "at most 1 in a row" in answer.headline


@pytest.mark.parametrize("again", [[], marked(700, 720)], ids=["by ranges", "by rows"])
def test_a_true_hole_is_found_among_others(orders: OrdersTable, asks: Asks, again: list[int]) -> None:
    """Of 500 positions, many times as wide as a marker."""
    before = orders.commits("a", 1, marked(0, 99))
    orders.commits("b", 2, marked(100, 199))
    orders.commits("c", 3, [*marked(700, 799), *again])

    answer = asks("missing_positions", orders.ask(before, contract=NOT_DENSE))

    assert answer.verdict is Verdict.CONFIRMED
    assert [(gap.first, gap.last) for gap in gaps_of(answer).gaps] == [(199, 699)]


def test_rows_that_main_lost_are_missing_however_few(orders: OrdersTable, asks: Asks) -> None:
    """What a rolled-back commit had brought had a record."""
    before = orders.commits("a", 1, marked(0, 99))
    orders.commits("a", 2, [100, 102])
    orders.rolls_back_to(before)
    orders.commits("a", 3, marked(103, 199))

    answer = asks("missing_positions", orders.ask(before, contract=NOT_DENSE))

    assert answer.verdict is Verdict.CONFIRMED
    assert [(gap.first, gap.last) for gap in gaps_of(answer).gaps] == [(99, 102)]


def test_holes_like_those_before_the_incident_accuse_nobody(orders: OrdersTable, asks: Asks) -> None:
    """Also where the contract promises each position; a wider one still does."""
    before = orders.commits("a", 1, marked(0, 99))
    orders.commits("b", 2, marked(100, 199))
    alike = asks("missing_positions", orders.ask(before))
    orders.commits("c", 3, marked(400, 450))

    wider = asks("missing_positions", orders.ask(before))

    assert alike.verdict is Verdict.INCONCLUSIVE
    assert "position_is_dense" in alike.could_not_look[0].remedy
    assert gaps_of(alike).is_untold
    assert wider.verdict is Verdict.CONFIRMED
    assert gaps_of(wider).missing == 201
