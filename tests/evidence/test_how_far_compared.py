"""A task that compares the window with what lies below it says how far down it looked."""

import pytest

from bot.domain.evidence import Answer, Verdict
from spark_tasks import _live, duplicate_commits
from tests.evidence.conftest import Asks
from tests.tables import OrdersTable


def measured(answer: Answer, name: str) -> float:
    """One number of the answer."""
    return next(measure.value for measure in answer.measures if measure.name == name)


@pytest.mark.parametrize("below", [1, 20], ids=["not all", "all"])
def test_files_are_said_to_be_live_once_in_what_was_compared(
    orders: OrdersTable, asks: Asks, monkeypatch: pytest.MonkeyPatch, below: int
) -> None:
    """A copy in an older manifest is not seen: the sentence must not cover it."""
    monkeypatch.setattr(_live, "MANIFESTS_BELOW", below)
    orders.commits("a", 1, range(10))
    before = orders.commits("a", 2, range(10, 20))
    orders.commits("a", 3, range(20, 30))

    answer = asks("duplicate_files", orders.ask(before))

    assert answer.verdict is Verdict.RULED_OUT
    assert measured(answer, "manifests compared") == (2 if below == 1 else 3)
    assert answer.headline == "Each of 1 data file that the window added is live once" + (
        " in the 2 manifests compared; older ones were not." if below == 1 else "."
    )


@pytest.mark.parametrize(
    ("below", "said"),
    [
        (1, ", nor the one before the window; of older ones only those with the same checkpoint were compared."),
        (20, ", nor any of the 2 before the window."),
    ],
    ids=["not all", "all"],
)
def test_commits_are_said_to_repeat_none_of_those_compared(
    orders: OrdersTable, asks: Asks, monkeypatch: pytest.MonkeyPatch, below: int, said: str
) -> None:
    """Further down only a checkpoint that comes again leads to a comparison."""
    monkeypatch.setattr(duplicate_commits, "COMMITS_BELOW", below)
    orders.commits("a", 1, range(10))
    before = orders.commits("a", 2, range(10, 20))
    orders.commits("a", 3, range(20, 30))

    answer = asks("duplicate_commits", orders.ask(before))

    assert answer.verdict is Verdict.RULED_OUT
    assert measured(answer, "commits compared") == 1 + min(below, 2)
    assert answer.headline == f"None of 1 commit repeats another one{said}"
