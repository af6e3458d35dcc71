"""Changed and gone keys are counted between two states, however the writer changes rows."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from bot.domain.contract import TableContract
from bot.domain.evidence import Answer, Verdict
from bot.domain.findings import CorrectedRowsFinding
from tests.evidence.conftest import Asks
from tests.merges import MergedTable
from tests.tables import OrdersTable, rows
from tests.upserts import upserts


def corrected_of(answer: Answer) -> CorrectedRowsFinding:
    """The finding that the answer carries."""
    assert isinstance(answer.finding, CorrectedRowsFinding)
    return answer.finding


@pytest.mark.parametrize(("mode", "version"), [("copy-on-write", 2), ("merge-on-read", 2), ("merge-on-read", 3)])
def test_a_merge_changes_what_it_updates_and_not_what_it_copies(
    session: SparkSession, asks: Asks, tmp_path: Path, mode: str, version: int
) -> None:
    """By copied files, by position deletes and by deletion vectors alike; a new key is no correction."""
    table = MergedTable(session, tmp_path, mode=mode, version=version)
    before = table.inserts(0, 100)
    table.inserts(100, 150)
    table.merges(90, 160, "nobody")
    table.deletes("order_id IN (3, 5)")

    answer = asks("corrected_rows", table.ask(before))

    found = corrected_of(answer)
    assert answer.verdict is Verdict.CONFIRMED
    assert (found.keys, found.gone, found.columns) == (10, 2, {"customer": 10})
    assert answer.rows[0] == ("90", "changed", "customer")
    assert answer.rows[-1] == ("5", "gone", "")


def test_a_merge_that_changes_nothing_is_no_correction(session: SparkSession, asks: Asks, tmp_path: Path) -> None:
    """Rows were written again with the values that they had."""
    table = MergedTable(session, tmp_path, mode="merge-on-read")
    table.inserts(0, 100)
    before = table.merges(10, 20, "nobody")
    table.merges(10, 20, "nobody")

    answer = asks("corrected_rows", table.ask(before))

    assert answer.verdict is Verdict.RULED_OUT
    assert "same values" in answer.headline


def test_new_rows_among_copied_ones_keep_lateness_undecided(session: SparkSession, asks: Asks, tmp_path: Path) -> None:
    """A merge by copying mixes old rows with new: which are new is not known, so nothing is ruled out."""
    table = MergedTable(session, tmp_path, mode="copy-on-write")
    before = table.inserts(0, 100)
    table.merges(90, 120, "nobody")

    late = asks("late_rows", table.ask(before))
    replayed = asks("replayed_rows", table.ask(before))

    assert (late.verdict, replayed.verdict) == (Verdict.INCONCLUSIVE, Verdict.INCONCLUSIVE)
    assert "in the place of 1 file" in late.headline


def test_an_upsert_changes_what_its_equality_deletes_replace(orders: OrdersTable, asks: Asks) -> None:
    """A row that is replaced is changed, one that is only deleted is gone, a new one is neither."""
    before = orders.commits("a", 1, range(100))
    upserts(orders, "a", 2, [200, 201, 202], keys=[7, 8, 300], deletes=[9])

    answer = asks("corrected_rows", orders.ask(before))

    found = corrected_of(answer)
    assert (found.keys, found.gone) == (2, 1)
    assert found.columns == {"event_time": 2, "source_position": 2}


def test_equality_deletes_by_another_column_tell_no_key(orders: OrdersTable, asks: Asks) -> None:
    """Which keys they touched is not in them, so nothing is ruled out."""
    before = orders.commits("a", 1, range(100))
    upserts(orders, "a", 2, [], keys=[], deletes=[5], by="source_position")

    answer = asks("corrected_rows", orders.ask(before))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert "do not name the key" in answer.headline


def test_an_append_only_window_corrects_nothing(orders: OrdersTable, asks: Asks) -> None:
    """New keys are new, and the same row once more is a duplicate, not a correction."""
    before = orders.commits("a", 1, range(100))
    orders.commits("b", 1, range(90, 110))

    answer = asks("corrected_rows", orders.ask(before))

    assert answer.verdict is Verdict.RULED_OUT


def test_a_further_copy_with_other_values_is_a_correction(orders: OrdersTable, asks: Asks) -> None:
    """Without upsert both rows live; the key does not say what it said before."""
    before = orders.commits("a", 1, range(100))
    orders.commits("a", 2, [500, 501], orders=[7, 8])

    answer = asks("corrected_rows", orders.ask(before))

    assert corrected_of(answer).keys == 2
    assert corrected_of(answer).columns == {"event_time": 2, "source_position": 2}


def test_null_and_a_value_differ(orders: OrdersTable, asks: Asks) -> None:
    """In both directions."""
    before = orders.appends(rows([1, None], orders=[1, 2]))
    orders.overwrites(rows([None, 2], orders=[1, 2]), "order_id <= 2")

    answer = asks("corrected_rows", orders.ask(before))

    assert corrected_of(answer).columns == {"event_time": 2, "source_position": 2}


def test_a_correction_that_was_rolled_back_is_none(orders: OrdersTable, asks: Asks) -> None:
    """States are compared, not what happened in between."""
    before = orders.commits("a", 1, range(100))
    orders.deletes("order_id < 10")
    orders.rolls_back_to(before)
    orders.commits("a", 2, range(100, 110))

    answer = asks("corrected_rows", orders.ask(before))

    assert answer.verdict is Verdict.RULED_OUT


def test_columns_that_were_added_since_are_not_compared(orders: OrdersTable, asks: Asks) -> None:
    """The older state does not have them."""
    before = orders.commits("a", 1, range(100))
    orders.adds_column("city")
    orders.deletes("order_id = 9")

    answer = asks("corrected_rows", orders.ask(before))

    assert (corrected_of(answer).keys, corrected_of(answer).gone) == (0, 1)


def test_without_a_key_nothing_is_said(orders: OrdersTable, asks: Asks) -> None:
    """What to name in the contract is said instead; so is a window whose beginning is gone."""
    before = orders.commits("a", 1, range(10))
    orders.deletes("order_id = 9")
    ask = orders.ask(before)
    cut = ask.model_copy(update={"window": ask.window.model_copy(update={"since": 12345})})

    unnamed = asks("corrected_rows", orders.ask(before, contract=TableContract()))
    expired = asks("corrected_rows", cut)

    assert (unnamed.verdict, expired.verdict) == (Verdict.INCONCLUSIVE, Verdict.INCONCLUSIVE)
    assert unnamed.could_not_look[0].source == "contract.key"


def test_redacted_keys_are_hidden(orders: OrdersTable, asks: Asks) -> None:
    """Keys are compared and not shown."""
    before = orders.commits("a", 1, range(10))
    orders.deletes("order_id = 9")
    contract = TableContract(key=("customer",), redacted=("customer",))

    answer = asks("corrected_rows", orders.ask(before, contract=contract))

    assert corrected_of(answer).gone == 1
    assert "customer-" not in answer.model_dump_json()
