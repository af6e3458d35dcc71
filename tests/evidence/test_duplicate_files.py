"""A data file that is named twice is found, whether two commits or one named it."""

from bot.domain.evidence import Answer, Verdict
from bot.domain.findings import DuplicateFilesFinding
from tests.evidence.conftest import Asks
from tests.tables import OrdersTable


def finding_of(answer: Answer) -> DuplicateFilesFinding:
    """The finding that the answer carries."""
    assert isinstance(answer.finding, DuplicateFilesFinding)
    return answer.finding


def test_a_commit_that_brings_the_very_files_again_is_named(orders: OrdersTable, asks: Asks) -> None:
    """A commit whose answer was lost and that is made once more leaves every row twice."""
    before = orders.commits("a", 1, range(10))
    first = orders.commits_files("a", 2, {"one.parquet": range(10, 30), "two.parquet": range(30, 35)})
    again = orders.names_again("a", 2, ["one.parquet", "two.parquet"])

    answer = asks("duplicate_files", orders.ask(before))

    found = finding_of(answer)
    assert answer.verdict is Verdict.CONFIRMED
    assert (found.files_checked, found.count, found.extra_rows, found.again) == (2, 2, 25, (again,))
    assert [(file.path.rsplit("/", 1)[-1], file.rows, file.snapshots) for file in found.files] == [
        ("one.parquet", 20, (first, again)),
        ("two.parquet", 5, (first, again)),
    ]
    assert len(orders.live()) == 10 + 2 * 25


def test_the_first_copy_may_lie_below_the_window(orders: OrdersTable, asks: Asks) -> None:
    """Only the repetition need be in the window."""
    first = orders.commits_files("a", 1, {"one.parquet": range(10)})
    before = orders.commits("a", 2, range(10, 20))
    again = orders.names_again("a", 3, ["one.parquet"])

    answer = asks("duplicate_files", orders.ask(before))

    assert finding_of(answer).files[0].snapshots == (first, again)
    assert "1 data file is live more than once, 10 rows too many" in answer.headline


def test_a_path_twice_within_one_commit_counts(orders: OrdersTable, asks: Asks) -> None:
    """One commit can name a file twice, too."""
    before = orders.commits("a", 1, range(10))
    twice = orders.commits_files("a", 2, {"one.parquet": range(10, 20)}, times=2)

    answer = asks("duplicate_files", orders.ask(before))

    assert answer.verdict is Verdict.CONFIRMED
    assert finding_of(answer).files[0].snapshots == (twice, twice)
    assert finding_of(answer).again == (twice,)


def test_a_repetition_that_was_rolled_back_is_no_longer_live(orders: OrdersTable, asks: Asks) -> None:
    """What main does not hold does no harm."""
    before = orders.commits("a", 1, range(10))
    first = orders.commits_files("a", 2, {"one.parquet": range(10, 20)})
    orders.names_again("a", 2, ["one.parquet"])
    orders.rolls_back_to(first)

    answer = asks("duplicate_files", orders.ask(before))

    assert answer.verdict is Verdict.RULED_OUT
    assert finding_of(answer).files_checked == 1


def test_equal_rows_in_other_files_are_not_equal_files(orders: OrdersTable, asks: Asks) -> None:
    """A replay writes new files: that is for `duplicate_rows` to say."""
    before = orders.commits("a", 1, range(10))
    orders.commits("a", 2, range(10, 20))
    orders.commits("b", 2, range(10, 20))

    answer = asks("duplicate_files", orders.ask(before))

    assert answer.verdict is Verdict.RULED_OUT
    assert answer.headline == "Each of 2 data files that the window added is live once."


def test_an_empty_window_has_nothing_to_repeat(orders: OrdersTable, asks: Asks) -> None:
    """Without commits nothing is read and nothing is found."""
    head = orders.commits("a", 1, range(10))

    answer = asks("duplicate_files", orders.ask(head))

    assert answer.verdict is Verdict.RULED_OUT
    assert answer.headline.startswith("No commit in the window")


def test_a_window_whose_end_has_expired_is_inconclusive(orders: OrdersTable, asks: Asks) -> None:
    """Nothing is concluded from what cannot be read."""
    before = orders.commits("a", 1, range(10))
    ask = orders.ask(before)
    gone = ask.model_copy(update={"window": ask.window.model_copy(update={"until": 4711})})

    answer = asks("duplicate_files", gone)

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert "4711" in answer.could_not_look[0].source
