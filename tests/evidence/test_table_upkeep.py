"""What a table's settings and files cost: restore points without a partner, early expiry, slow reads."""

from datetime import timedelta
from pathlib import Path

from bot.domain.evidence import Verdict
from tests.evidence.conftest import Asks
from tests.evidence.kept_tables import DAY, at, brief, finding_of, savepoint
from tests.evidence.test_ledger import run_of
from tests.tables import CONTRACT, OrdersTable

__all__ = ["brief"]


def test_restore_points_that_outlive_the_snapshots_are_told(orders: OrdersTable, asks: Asks) -> None:
    """A savepoint of last week has no table state to go with after five days."""
    before = orders.commits("a", 1, range(10))
    orders.commits("a", 2, range(10, 20))
    points = [savepoint(1, 6 * DAY), savepoint(2, DAY)]

    answer = asks("table_health", orders.ask(before, jobs=[run_of("a")], checkpoints=points))

    assert answer.verdict is Verdict.CONFIRMED
    assert "1 restore point is older than the table keeps snapshots (5 d), the oldest savepoint-1" in answer.headline


def test_retention_below_the_contract_is_told(brief: OrdersTable, asks: Asks) -> None:
    """The contract promises a week, the table keeps an hour."""
    before = brief.commits("a", 1, range(10))
    brief.commits("a", 2, range(10, 20))
    contract = CONTRACT.model_copy(update={"keep_snapshots": 7 * DAY})

    answer = asks("table_health", brief.ask(before, jobs=[run_of("a")], contract=contract))

    assert answer.headline == "The table lets snapshots expire after 1 h; the contract promises 7 d."


def test_metadata_files_that_vanish_within_a_day_are_told(tmp_path: Path, asks: Asks) -> None:
    """Pinned evidence is as old as the metadata file that it names."""
    kept = {"write.metadata.delete-after-commit.enabled": "true", "write.metadata.previous-versions-max": "10"}
    table = OrdersTable(tmp_path, kept)
    before = table.commits("a", 1, range(10))
    table.commits("a", 2, range(10, 20))

    answer = asks("table_health", table.ask(before, jobs=[run_of("a")]))
    table.close()

    [remark] = answer.remarks
    assert answer.verdict is not Verdict.CONFIRMED
    assert remark.startswith("Only 10 older metadata files are kept, at the present pace")


def test_many_small_files_are_told_and_are_no_trouble(orders: OrdersTable, asks: Asks) -> None:
    """Twenty files far below the target are worth a compaction, and nothing that an incident is about."""
    before = orders.commits("a", 1, range(10))
    orders.commits_files("a", 2, {f"{n}.parquet": range(n, n + 1) for n in range(20)})

    answer = asks("table_health", orders.ask(before, jobs=[run_of("a")]))

    assert (answer.verdict, finding_of(answer).problems) == (Verdict.RULED_OUT, ())
    assert finding_of(answer).small_files == 20
    [remark] = answer.remarks
    assert remark.startswith("20 of 20 data files of the window are smaller than a quarter of the target of 512 MB.")


def test_many_deletes_are_told_from_the_heads_summary(orders: OrdersTable, asks: Asks) -> None:
    """An upsert job leaves equality deletes that every read merges."""
    before = orders.commits("a", 1, range(10))
    orders.commits("a", 2, range(10, 20))
    ask = orders.ask(before, jobs=[run_of("a")])
    *older, head = ask.observation.table.snapshots
    counts = {"total-delete-files": "4", "total-equality-deletes": "30", "total-position-deletes": "5"}
    upserted = head.model_copy(update={"summary": {**head.summary, **counts}})

    answer = asks("table_health", at(ask, timedelta(0), snapshots=(*older, upserted)))

    assert (finding_of(answer).equality_deletes, finding_of(answer).position_deletes) == (30, 5)
    assert answer.verdict is Verdict.RULED_OUT
    assert answer.remarks == (
        "4 delete files stand against 2 data files (30 equality and 5 position deletes): every read merges them.",
    )
