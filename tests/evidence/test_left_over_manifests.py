"""A manifest accuses nobody where its files are in the table, or where it could not be looked at."""

from bot.domain.evidence import Verdict
from bot.domain.findings import LeakStanding
from tests.evidence.conftest import Asks
from tests.evidence.leaked_files import ask_about, finding_of, only, told
from tests.evidence.test_ledger import run_of
from tests.tables import OrdersTable, unseen


def test_files_that_are_in_the_table_were_left_over(orders: OrdersTable, asks: Asks) -> None:
    """Only the deletion of the manifest failed; also after a compaction has replaced the files."""
    before = orders.commits("a", 1, range(10))
    orders.commits_files("a", 2, {"two.parquet": range(10, 20)})
    orders.leaves_manifest("a", 2, {"two.parquet": range(10, 20)})
    orders.deletes("order_id >= 10")

    answer = asks("leaked_manifests", ask_about(orders, before, run_of("a")))

    assert answer.verdict is Verdict.RULED_OUT
    assert told(answer) == [(2, LeakStanding.LEFT_OVER, 1, 10)]


def test_files_that_somebody_appended_by_hand_are_left_over(orders: OrdersTable, asks: Asks) -> None:
    """Once dropped files were added to the table, the manifest is no trouble any more, whoever added them."""
    before = orders.commits("a", 5, range(10))
    orders.leaves_manifest("a", 3, {"three.parquet": range(10, 20)})
    orders.names_again("c", 1, ["three.parquet"])

    answer = asks("leaked_manifests", ask_about(orders, before, run_of("a")))

    assert told(answer) == [(3, LeakStanding.LEFT_OVER, 1, 10)]


def test_leaked_files_that_are_gone_are_counted(orders: OrdersTable, asks: Asks) -> None:
    """What a clean-up has deleted cannot be appended any more."""
    before = orders.commits("a", 5, range(10))
    orders.leaves_manifest("a", 3, {"three.parquet": range(10, 20), "also.parquet": range(20, 25)})
    (orders.data_folder / "three.parquet").unlink()

    answer = asks("leaked_manifests", ask_about(orders, before, run_of("a")))

    assert only(answer).missing_files == 1
    assert "1 of their files is gone from storage" in answer.headline


def test_a_manifest_that_cannot_be_read_is_said_and_not_counted(orders: OrdersTable, asks: Asks) -> None:
    """Its standing is told by its name; its rows are not known."""
    before = orders.commits("a", 5, range(10))
    path = orders.leaves_manifest("a", 3, {"three.parquet": range(10, 20)})
    path.write_bytes(b"no avro")

    answer = asks("leaked_manifests", ask_about(orders, before, run_of("a")))

    assert told(answer) == [(3, LeakStanding.DROPPED, None, None)]
    assert answer.headline == (
        "An unknown number of rows (1 manifest cannot be read) of checkpoint 3 of run aaaaaa were taken along by no "
        "commit, and no commit will."
    )
    assert "rows" not in {measure.unit for measure in answer.measures}


def test_a_manifest_that_vanishes_meanwhile_was_committed(orders: OrdersTable, asks: Asks) -> None:
    """A healthy job deletes its manifest between our two looks."""
    before = orders.commits("a", 1, range(10))
    path = orders.leaves_manifest("a", 2, {"two.parquet": range(10, 20)})
    ask = ask_about(orders, before, run_of("a"))
    path.unlink()

    answer = asks("leaked_manifests", ask)

    assert answer.verdict is Verdict.RULED_OUT
    assert finding_of(answer).manifests == ()


def test_without_flink_a_pending_manifest_is_not_judged(orders: OrdersTable, asks: Asks) -> None:
    """Whether it will be committed depends on whether its run is alive."""
    before = orders.commits("a", 1, range(10))
    orders.leaves_manifest("a", 2, {"two.parquet": range(10, 20)})

    answer = asks(
        "leaked_manifests", orders.ask(before, jobs=unseen("Flink"), flink_manifests=orders.flink_manifests())
    )

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert "Flink was not seen" in answer.headline


def test_a_folder_that_could_not_be_listed_is_inconclusive(orders: OrdersTable, asks: Asks) -> None:
    """Nothing is concluded from what was not seen."""
    before = orders.commits("a", 1, range(10))

    answer = asks("leaked_manifests", orders.ask(before, flink_manifests=unseen("the metadata folder")))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert answer.finding is None
