"""A column that was added with a default (format 3): files that lack it do not hold what its rows read there."""

import json
from pathlib import Path

from bot.domain.contract import TableContract
from bot.domain.evidence import Verdict
from spark_tasks._columns_of_before import renamed
from tests.evidence.conftest import Asks
from tests.tables import ORDERS, OrdersTable


def with_default(orders: OrdersTable, name: str, value: str) -> None:
    """Another engine adds the column: PyIceberg cannot, so the newest metadata file is written anew."""
    orders.adds_column(name)
    orders.becomes_format_3()
    path = Path(orders.catalog.load_table(ORDERS).metadata_location.removeprefix("file://"))
    told = json.loads(path.read_text())
    for field in (each for schema in told["schemas"] for each in schema["fields"]):
        field |= {"initial-default": value, "write-default": value} if field["name"] == name else {}
    path.write_text(json.dumps(told))


def test_records_known_by_such_a_column_are_not_acquitted(orders: OrdersTable, asks: Asks) -> None:
    """Read from the files alone, two rows of one record would seem to be of two."""
    orders.commits("a", 1, range(10))
    orders.commits("a", 2, range(10, 20))
    with_default(orders, "shop", "one")
    contract = TableContract(key=("order_id", "shop"), event_time="event_time")

    answer = asks("replayed_rows", orders.ask(None, contract=contract))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert "Column shop was added with a default" in answer.headline


def test_only_such_columns_are_left_out(orders: OrdersTable) -> None:
    """Others are in the files as they are in the table."""
    orders.commits("a", 1, range(10))
    with_default(orders, "shop", "one")

    table = orders.state()

    assert renamed(table, ["order_id", "customer"]) == ()
    assert [each.source for each in renamed(table, ["customer", "shop"])] == ["column shop of sales.orders"]
