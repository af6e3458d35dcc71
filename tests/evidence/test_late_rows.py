"""Late rows are counted against what was there before their commit, and only where the contract calls them late."""

from datetime import timedelta

from bot.domain.contract import TableContract
from bot.domain.evidence import Answer, Verdict
from bot.domain.findings import LateRowsFinding
from tests.evidence.conftest import Asks
from tests.tables import CONTRACT, OrdersTable, of_flink, rows

FIVE_MINUTES = CONTRACT.model_copy(update={"late_after": timedelta(minutes=5)})


def late_of(answer: Answer) -> LateRowsFinding:
    """The finding that the answer carries."""
    assert isinstance(answer.finding, LateRowsFinding)
    return answer.finding


def test_rows_far_below_the_newest_event_before_them_are_late(orders: OrdersTable, asks: Asks) -> None:
    """An event is a second a position: of 0 to 699 after 999, those below 699 lie more than five minutes below."""
    before = orders.commits("a", 1, range(900, 1000))
    late = orders.commits("a", 2, range(690, 800))
    orders.commits("a", 3, range(1000, 1100))

    answer = asks("late_rows", orders.ask(before, contract=FIVE_MINUTES))

    found = late_of(answer)
    assert answer.verdict is Verdict.CONFIRMED
    assert (found.rows_checked, found.late, found.worst_s, found.allowed_s) == (210, 9, 309, 300)
    assert [(each.snapshot_id, each.late) for each in found.commits] == [(late, 9)]
    assert "the contract allows 5 min" in answer.headline


def test_rows_within_what_the_contract_allows_are_not_late(orders: OrdersTable, asks: Asks) -> None:
    """Exactly the allowed distance is allowed, and a commit's own newest row makes none of its rows late."""
    before = orders.commits("a", 1, range(900, 1000))
    orders.commits("a", 2, [699, 5000])

    answer = asks("late_rows", orders.ask(before, contract=FIVE_MINUTES))

    assert answer.verdict is Verdict.RULED_OUT
    assert late_of(answer).late == 0


def test_without_an_allowance_any_row_below_the_mark_counts(orders: OrdersTable, asks: Asks) -> None:
    """The contract says nothing of lateness, so none is allowed; the headline says so."""
    before = orders.commits("a", 1, range(100))
    orders.commits("a", 2, [98, 100])

    answer = asks("late_rows", orders.ask(before))

    assert late_of(answer).late == 1
    assert "names no allowance" in answer.headline


def test_the_mark_rises_within_the_window(orders: OrdersTable, asks: Asks) -> None:
    """What an earlier commit of the window brought counts for the later ones, and a rolled-back one's does not."""
    before = orders.commits("a", 1, range(100))
    orders.commits("a", 2, range(5000, 5100))
    orders.rolls_back_to(before)
    orders.commits("a", 3, range(1000, 1100))
    late = orders.commits("a", 4, range(500, 510))

    answer = asks("late_rows", orders.ask(before, contract=FIVE_MINUTES))

    assert [(each.snapshot_id, each.late) for each in late_of(answer).commits] == [(late, 10)]
    assert late_of(answer).worst_s == 1099 - 500


def test_rows_that_were_deleted_since_were_late_all_the_same(orders: OrdersTable, asks: Asks) -> None:
    """A task about what came reads what came, not what is left of it."""
    before = orders.commits("a", 1, range(1000, 1100))
    orders.commits("a", 2, range(10))
    orders.deletes("order_id < 10")

    answer = asks("late_rows", orders.ask(before, contract=FIVE_MINUTES))

    assert late_of(answer).late == 10


def test_files_without_bounds_are_read(orders: OrdersTable, asks: Asks) -> None:
    """A writer that keeps no bounds hides no late row."""
    orders.sets({"write.metadata.metrics.default": "none"})
    before = orders.commits("a", 1, range(1000, 1100))
    orders.commits("a", 2, range(10))

    answer = asks("late_rows", orders.ask(before, contract=FIVE_MINUTES))

    assert late_of(answer).late == 10


def test_rows_that_a_delete_copied_are_not_new(orders: OrdersTable, asks: Asks) -> None:
    """Deleting some rows of a file writes the others again: they are not counted as late. That all were there before
    its writer must say: an `INSERT OVERWRITE` looks the same."""
    orders.commits("a", 1, range(100))
    before = orders.commits("a", 2, range(1000, 1100))
    orders.overwrites(rows(range(1000, 1020)), "order_id < 10")

    answer = asks("late_rows", orders.ask(before, contract=FIVE_MINUTES))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert (late_of(answer).late, late_of(answer).rows_checked) == (0, 20)
    assert "put 90 rows in the place of 1 file" in answer.headline


def test_a_window_whose_beginning_has_expired_is_not_ruled_out(orders: OrdersTable, asks: Asks) -> None:
    """What lay below is not known, so nothing can be said of what was late against it."""
    orders.commits("a", 1, range(100))
    ask = orders.ask(None)
    gone = ask.model_copy(update={"window": ask.window.model_copy(update={"since": 12345})})

    answer = asks("late_rows", gone)

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert "no longer listed" in answer.headline


def test_a_contract_without_event_time_says_what_to_name(orders: OrdersTable, asks: Asks) -> None:
    """Also where the column is there and holds no time."""
    before = orders.commits("a", 1, range(10))

    unnamed = asks("late_rows", orders.ask(before, contract=TableContract(key=("order_id",))))
    no_time = asks("late_rows", orders.ask(before, contract=TableContract(key=("order_id",), event_time="customer")))

    assert (unnamed.verdict, no_time.verdict) == (Verdict.INCONCLUSIVE, Verdict.INCONCLUSIVE)
    assert unnamed.could_not_look[0].source == "contract.event_time"
    assert "holds string, not a time" in no_time.headline


def test_empty_commits_and_compactions_bring_nothing_late(orders: OrdersTable, asks: Asks) -> None:
    """A commit without rows is passed over."""
    before = orders.commits("a", 1, range(10))
    orders.appends(rows([]), of_flink("a", 2))

    answer = asks("late_rows", orders.ask(before, contract=FIVE_MINUTES))

    assert answer.verdict is Verdict.RULED_OUT
    assert late_of(answer).rows_checked == 0
