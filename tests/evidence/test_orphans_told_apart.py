"""Orphan files of one name are told apart, and those that were put aside are not accused again."""

from pathlib import Path

from bot.domain.evidence import Verdict
from tests.evidence.conftest import Asks
from tests.evidence.test_orphan_files import ask_about, finding_of, left
from tests.tables import OrdersTable


def test_files_of_one_name_are_shown_with_their_folders(orders: OrdersTable, asks: Asks) -> None:
    """Only as far as it takes."""
    before = orders.commits("a", 1, range(10))
    for name in ("day=1/x.parquet", "day=2/x.parquet", "day=2/y.parquet"):
        left(orders, name)

    answer = asks("orphan_files", ask_about(orders, before))

    assert {row[0] for row in answer.rows} == {"day=1/x.parquet", "day=2/x.parquet", "y.parquet"}


def test_what_was_put_aside_is_no_orphan_where_data_lies_beside_it(orders: OrdersTable, asks: Asks) -> None:
    """Writers may be told to put data right into the table's folder: then the listing has the folder of those, too."""
    before = orders.commits("a", 1, range(10))
    left(orders, "x.parquet")
    aside = orders.data_folder.parent / "waterline-quarantine/wl-1-0001/data/y.parquet"
    aside.parent.mkdir(parents=True)
    aside.write_bytes(b"x")
    ask = ask_about(orders, before)
    table = ask.observation.table
    table = table.model_copy(update={"properties": {**table.properties, "write.data.path": table.location}})
    ask = ask.model_copy(update={"observation": ask.observation.model_copy(update={"table": table})})

    answer = asks("orphan_files", ask)

    assert answer.verdict is Verdict.CONFIRMED
    assert [Path(path).name for path in finding_of(answer).paths] == ["x.parquet"]
