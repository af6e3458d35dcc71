"""Table, contract, earlier table and files are compared column by column."""

import pytest

from bot.domain.contract import ContractColumn
from bot.domain.evidence import Answer, Verdict
from bot.domain.findings import SchemaDriftFinding
from tests.evidence.conftest import Asks
from tests.tables import CONTRACT, OrdersTable, rows
from tests.upserts import upserts


def drift_of(answer: Answer) -> SchemaDriftFinding:
    """The finding that the answer carries."""
    assert isinstance(answer.finding, SchemaDriftFinding)
    return answer.finding


def told(answer: Answer) -> set[tuple[str, tuple[str, str], str, str]]:
    """Every difference as (column, between, expected, found)."""
    return {(d.column, d.between, d.expected, d.found) for d in drift_of(answer).differences}


def test_a_table_that_stayed_as_promised_has_no_drift(orders: OrdersTable, asks: Asks) -> None:
    """Types compare without regard to spaces; a column beyond the contract breaks no promise."""
    before = orders.commits("a", 1, range(10))
    orders.commits("a", 2, range(10, 20))
    promised = (
        ContractColumn(name="order_id", type="LONG", required=True),
        ContractColumn(name="customer"),
        ContractColumn(name="event_time", type="timestamptz"),
    )

    answer = asks("schema_drift", orders.ask(before, contract=CONTRACT.model_copy(update={"columns": promised})))

    assert answer.verdict is Verdict.RULED_OUT
    assert drift_of(answer).added_at is None


def test_the_contract_may_promise_what_is_not_there(orders: OrdersTable, asks: Asks) -> None:
    """A missing column, another type, and nulls where none may be."""
    before = orders.commits("a", 1, range(10))
    orders.appends(rows([1, None], orders=[1, 2]), {"flink.job-id": "a" * 32, "engine-name": "flink"})
    promised = (
        ContractColumn(name="amount", type="decimal(12, 2)"),
        ContractColumn(name="customer", type="long"),
        ContractColumn(name="source_position", type="long", required=True),
    )

    answer = asks("schema_drift", orders.ask(before, contract=CONTRACT.model_copy(update={"columns": promised})))

    assert answer.verdict is Verdict.CONFIRMED
    assert told(answer) == {
        ("amount", ("contract", "table"), "decimal(12, 2)", "no such column"),
        ("customer", ("contract", "table"), "long", "string"),
        ("source_position", ("contract", "files"), "never null", "null in 1 of 2 rows"),
    }


def test_a_column_that_the_running_job_does_not_write_is_told(orders: OrdersTable, asks: Asks) -> None:
    """The table got a column and the job goes on with the schema that it started with (F23)."""
    before = orders.commits("a", 1, range(10))
    orders.commits("a", 2, range(10, 20))
    orders.adds_column("city")
    first = orders.commits("a", 3, range(20, 30))
    orders.commits("a", 4, range(30, 40))

    answer = asks("schema_drift", orders.ask(before))

    found = drift_of(answer)
    assert answer.verdict is Verdict.CONFIRMED
    assert (found.all_null, found.added_at) == (("city",), first)
    assert told(answer) == {
        ("city", ("table", "files"), "string", "null or missing in every file"),
        ("city", ("earlier-table", "table"), "no such column", "string"),
    }


def test_a_file_that_lacks_the_column_does_not_fill_it(orders: OrdersTable, asks: Asks) -> None:
    """Null counts are missing there altogether."""
    before = orders.commits("a", 1, range(10))
    orders.adds_column("city")
    orders.commits_files("a", 2, {"00000-0-11111111-2222-3333-4444-555555555555-00001.parquet": range(10, 20)})

    answer = asks("schema_drift", orders.ask(before))

    assert drift_of(answer).all_null == ("city",)


def test_a_column_that_the_job_fills_is_only_new(orders: OrdersTable, asks: Asks) -> None:
    """The change is told, and that is all; what another engine leaves null is not the job's."""
    before = orders.commits("a", 1, range(10))
    orders.adds_column("city")
    filled = rows(range(10, 20)).append_column("city", [["Oslo"] * 10])
    orders.appends(filled, {"flink.job-id": "a" * 32, "engine-name": "flink"})
    orders.appends(rows(range(20, 30)))

    answer = asks("schema_drift", orders.ask(before))

    assert drift_of(answer).all_null == ()
    assert told(answer) == {("city", ("earlier-table", "table"), "no such column", "string")}


def test_columns_are_known_by_their_id(orders: OrdersTable, asks: Asks) -> None:
    """A renamed column is one change, not a loss and a gain."""
    before = orders.commits("a", 1, range(10))
    orders.renames_column("customer", "client")

    answer = asks("schema_drift", orders.ask(before))

    assert told(answer) == {("client", ("earlier-table", "table"), "string named customer", "string named client")}


def test_a_changed_partitioning_is_told(orders: OrdersTable, asks: Asks) -> None:
    """Against what was written below the window, and against what the job still writes."""
    before = orders.commits("a", 1, range(10))
    orders.commits("a", 2, range(10, 20))
    orders.partitions_by_day("event_time")

    stays = asks("schema_drift", orders.ask(before))
    orders.commits("a", 3, range(20, 30))
    follows = asks("schema_drift", orders.ask(before))

    old = ("(partitioning)", ("earlier-table", "table"), "unpartitioned", "day(event_time)")
    assert told(stays) == {old, ("(partitioning)", ("table", "files"), "day(event_time)", "unpartitioned")}
    assert told(follows) == {old}


def test_a_window_whose_beginning_is_gone_is_not_ruled_out(orders: OrdersTable, asks: Asks) -> None:
    """What the table was there is not known."""
    orders.commits("a", 1, range(10))
    ask = orders.ask(None)
    cut = ask.model_copy(update={"window": ask.window.model_copy(update={"since": 12345})})

    answer = asks("schema_drift", cut)

    assert answer.verdict is Verdict.INCONCLUSIVE


def test_a_file_without_counts_does_not_exclude_anything(orders: OrdersTable, asks: Asks) -> None:
    """Whether the job fills the new column cannot be seen, so it is neither told as empty nor as filled."""
    before = orders.commits("a", 1, range(10))
    orders.adds_column("city")
    start = upserts(orders, "a", 2, [20], keys=[20])
    upserts(orders, "a", 3, [30], keys=[30])

    changed = asks("schema_drift", orders.ask(before))
    later = asks("schema_drift", orders.ask(start))

    assert (drift_of(changed).all_null, drift_of(changed).untold) == ((), ("city",))
    assert later.verdict is Verdict.INCONCLUSIVE
    assert "kept no counts of column city" in later.headline


@pytest.mark.parametrize("by_the_table", [False, True])
def test_nulls_that_nobody_counted_keep_no_promise(orders: OrdersTable, asks: Asks, by_the_table: bool) -> None:
    """The contract says never null, and the files do not tell; a table that requires the column holds none."""
    orders.sets({"write.metadata.metrics.column.order_id": "none"})
    before = orders.commits("a", 1, range(10))
    orders.commits("a", 2, range(10, 20))
    promised = (ContractColumn(name="order_id", required=True), ContractColumn(name="customer", required=True))
    ask = orders.ask(before, contract=CONTRACT.model_copy(update={"columns": promised}))
    if by_the_table:
        table = ask.observation.table
        columns = tuple(c.model_copy(update={"is_required": c.name == "order_id"}) for c in table.columns)
        schemas = dict.fromkeys(table.schemas, columns)
        table = table.model_copy(update={"columns": columns, "schemas": schemas})
        ask = ask.model_copy(update={"observation": ask.observation.model_copy(update={"table": table})})

    answer = asks("schema_drift", ask)

    assert answer.verdict is (Verdict.RULED_OUT if by_the_table else Verdict.INCONCLUSIVE)
    assert drift_of(answer).untold == ()
    if not by_the_table:
        assert "a count of its nulls is lacking in 1 of 1 file" in answer.headline
        assert "write.metadata.metrics.column.order_id" in answer.could_not_look[0].remedy
