"""What the job would write, restored as its state has it, is held against the table as it is now."""

import pytest

from bot.domain.evidence import Answer, Verdict
from bot.domain.findings import SchemaDriftFinding
from bot.domain.ids import CheckpointId
from bot.domain.table import Column
from bot.domain.written import WrittenSchema
from tests.evidence.conftest import Asks
from tests.tables import OrdersTable, job, unseen


@pytest.fixture
def before(orders: OrdersTable) -> int:
    """Two commits; the window begins after the first."""
    start = orders.commits("a", 1, range(10))
    orders.commits("a", 2, range(10, 20))
    return start


def of_state(orders: OrdersTable, *columns: Column, **told: object) -> WrittenSchema:
    """Checkpoint 2 of the run: the table's columns as they are now, or these."""
    table = orders.state()
    known = WrittenSchema(
        told_by="committed-files",
        path="file:/manifest.avro",
        job_id=job("a"),
        checkpoint_id=CheckpointId(2),
        restore_point="file:/savepoint-2",
        schema_id=0,
        columns=columns or table.columns,
        spec_id=0,
        partitioning=None,
    )
    return known.model_copy(update=told)


def apart(answer: Answer) -> set[tuple[str, str, str]]:
    """(column, what the state has, what the table has) where they differ."""
    assert isinstance(answer.finding, SchemaDriftFinding)
    return {(d.column, d.expected, d.found) for d in answer.finding.differences if d.between == ("state", "table")}


def test_a_state_that_agrees_is_said_with_its_source(orders: OrdersTable, asks: Asks, before: int) -> None:
    """Who reads it knows what told it."""
    answer = asks("schema_drift", orders.ask(before, written=[of_state(orders)]))

    assert answer.verdict is Verdict.RULED_OUT
    assert "the job's files at checkpoint 2 say the same" in answer.headline
    assert any(source.startswith("file:/manifest.avro") for source in answer.sources)


def test_columns_that_only_one_of_them_has(orders: OrdersTable, asks: Asks, before: int) -> None:
    """Added since: null in what the job writes. Dropped since: it goes on writing it."""
    old = orders.state().columns
    orders.adds_column("city")
    state = of_state(orders, *old, Column(field_id=99, name="gone", type="int"))

    answer = asks("schema_drift", orders.ask(before, written=[state]))

    assert isinstance(answer.finding, SchemaDriftFinding)
    assert answer.verdict is Verdict.CONFIRMED
    assert apart(answer) == {("city", "no such column", "string"), ("gone", "int", "no such column")}
    assert (answer.finding.not_in_state, answer.finding.state_run) == (("city",), job("a"))
    assert answer.finding.not_in_table == ("gone",)
    assert answer.headline.startswith(
        "Column city: as the job's files at checkpoint 2 say, the job goes on without it and leaves it null; "
    )


def test_another_type_need_or_id_is_told(orders: OrdersTable, asks: Asks, before: int) -> None:
    """A column that was dropped and added again under its name is another one."""
    first, second, third, *rest = orders.state().columns
    state = of_state(
        orders,
        first.model_copy(update={"type": "int"}),
        second.model_copy(update={"is_required": True}),
        third.model_copy(update={"field_id": 77}),
        *rest,
    )

    answer = asks("schema_drift", orders.ask(before, written=[state]))

    assert apart(answer) == {
        (first.name, "int", "long"),
        (second.name, "int, required", "int, may be null"),
        (third.name, "long with field id 77", f"long with field id {third.field_id}"),
    }


def test_a_partition_spec_is_compared_once(orders: OrdersTable, asks: Asks, before: int) -> None:
    """What the files of the window tell already is not told again. A spec that the table lost is: the committer finds
    no such spec and fails."""
    orders.partitions_by_day("event_time")

    known = asks("schema_drift", orders.ask(before, written=[of_state(orders)]))
    lost = asks("schema_drift", orders.ask(before, written=[of_state(orders, spec_id=9, partitioning=("customer",))]))
    orders.commits("a", 3, range(20, 30))
    pending = asks("schema_drift", orders.ask(before, written=[of_state(orders)]))

    assert apart(known) == set()
    assert apart(lost) == {("(partitioning)", "spec 9 (customer)", "no such spec")}
    assert apart(pending) == {("(partitioning)", "unpartitioned", "day(event_time)")}


def test_a_state_that_nobody_could_read_rules_nothing_out(orders: OrdersTable, asks: Asks, before: int) -> None:
    """What was seen agrees; what was not is said."""
    answer = asks("schema_drift", orders.ask(before, written=unseen("the job's state")))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert answer.headline.startswith("No drift as far as can be seen.")
    assert "the job's state did not answer" in answer.headline
