"""Of a commit that repeats another one in part, or perhaps, it is told how many rows are too many."""

import pytest

from bot.domain.evidence import Answer
from bot.domain.findings import DuplicateCommitsFinding
from tests.evidence.conftest import Asks
from tests.evidence.test_duplicate_commits import repeats
from tests.tables import OrdersTable


def counts(answer: Answer) -> list[tuple[int, int | None]]:
    """Rows, and rows too many, of each."""
    assert isinstance(answer.finding, DuplicateCommitsFinding)
    return [(each.rows, each.too_many) for each in answer.finding.repeated]


def test_of_a_commit_that_brought_rows_of_its_own_only_the_repeated_ones_are_counted(
    orders: OrdersTable, asks: Asks
) -> None:
    """It names files of two commits beside one that is new; a V1 sink merges what it owes into one commit so."""
    before = orders.commits("a", 1, range(10))
    orders.commits_files("a", 2, {"two.parquet": range(10, 30)})
    first = orders.commits_files("a", 3, {"three.parquet": range(30, 35), "more.parquet": range(35, 40)})
    again = orders.commits_files(
        "a",
        4,
        {
            "two.parquet": range(10, 30),
            "three.parquet": range(30, 35),
            "more.parquet": range(35, 40),
            "own.parquet": range(40, 50),
        },
    )

    answer = asks("duplicate_commits", orders.ask(before))

    assert repeats(answer) == [(first, again, "same-files")]
    assert counts(answer) == [(40, 30)]
    assert answer.headline.endswith("again, 30 rows of its 40.")
    assert answer.measures[1].value == 30


@pytest.mark.parametrize(
    ("positions", "counted", "said"),
    [
        (range(10, 20), (10, 10), "again, 10 rows."),
        (range(15, 25), (10, 0), "again, up to 5 rows of its 10: positions 15 to 19."),
        (range(15, 20), (5, 0), "again, up to 5 rows: positions 15 to 19."),
    ],
)
def test_a_checkpoint_in_other_files_came_whole_or_in_doubt(
    orders: OrdersTable, asks: Asks, positions: range, counted: tuple[int, int], said: str
) -> None:
    """As many rows over the same part of the source are surely too many; of others nothing tells which are."""
    before = orders.commits("a", 1, range(10))
    orders.commits("a", 2, range(10, 20))
    orders.commits("a", 2, positions)

    answer = asks("duplicate_commits", orders.ask(before))

    assert counts(answer) == [counted]
    assert answer.headline.endswith(said)
