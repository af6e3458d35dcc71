"""Who made a commit, who read above the trusted snapshot, and columns that have defaults."""

import json
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from bot.domain.contract import TableContract
from bot.domain.evidence import Answer, Ask, Verdict
from bot.domain.findings import ReadsFinding
from bot.domain.flink import JobRun
from bot.domain.gone_commits import Sinks
from bot.domain.ids import JobId, OperatorId, SnapshotId
from bot.domain.ledger import Sink
from bot.domain.reads import ReadRun
from bot.domain.table import Snapshot
from spark_tasks._columns_of_before import renamed
from tests.evidence.conftest import Asks
from tests.evidence.flink_words import LONG_AGO, V1, V2, run
from tests.tables import OPERATOR, ORDERS, OrdersTable, job, of_flink, unseen

DYNAMIC = "sink-1 Pre Commit"
OTHER_OPERATOR = OperatorId("0f" * 16)


def commit(summary: dict[str, str], operation: str = "append") -> Snapshot:
    """A commit with that summary."""
    return Snapshot(
        snapshot_id=SnapshotId(1), parent_id=None, sequence_number=1, committed_at=LONG_AGO, operation=operation,
        manifest_list="", schema_id=0, summary=summary,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("flink", "sink"),
    [
        ([run("a", sink=V1)], Sink.FLINK_V1),
        ([run("a", sink=V2)], Sink.FLINK_V2),
        ([run("a", sink=DYNAMIC)], Sink.FLINK_DYNAMIC),
        ([run("a", sink=None)], Sink.FLINK_UNKNOWN),
        ([], Sink.FLINK_UNKNOWN),
        ([run("b", sink=V1)], Sink.FLINK_V1),
        ([run("b", sink=V1, operator=OTHER_OPERATOR)], Sink.FLINK_UNKNOWN),
        ([run("a", sink=V2, operator=OTHER_OPERATOR)], Sink.FLINK_V2),
    ],
    ids=["V1", "V2", "dynamic", "no graph", "no run", "same operator, later run", "other run's sink", "its own graph"],
)
def test_a_flink_commit_is_told_by_its_operator_or_its_runs_graph(flink: list[JobRun], sink: Sink) -> None:
    """An operator keeps its id from run to run; without run and operator nothing is guessed."""
    assert Sinks(flink).of(commit(of_flink("a", 3))) is sink


def test_a_graph_with_two_kinds_of_sink_tells_only_by_the_operator() -> None:
    """The run writes elsewhere through another kind: its graph alone does not decide."""
    both = run("a", sink=V1)
    vertices = (*both.vertices, both.vertices[0].model_copy(update={"vertex_id": OTHER_OPERATOR, "name": V2}))
    sinks = Sinks([both.model_copy(update={"vertices": vertices})])

    assert sinks.of_run(JobId(job("a")), OPERATOR) is Sink.FLINK_V1
    assert sinks.of_run(JobId(job("a"))) is Sink.FLINK_UNKNOWN


@pytest.mark.parametrize(
    ("summary", "operation", "sink"),
    [
        ({"flink.batch-index": "0", "flink.checkpoint-id": "4"}, "append", Sink.FLINK_CDC),
        ({"kafka.connect.commit-id": "x"}, "append", Sink.KAFKA_CONNECT),
        ({"engine-name": "spark"}, "append", Sink.SPARK),
        ({"spark.app.id": "local-17"}, "delete", Sink.SPARK),
        ({"engine-name": "spark"}, "replace", Sink.COMPACTION),
        (of_flink("a", 3), "replace", Sink.COMPACTION),
        ({"engine-name": "flink"}, "append", Sink.FLINK_UNKNOWN),
        ({"engine-name": "trino"}, "append", Sink.OTHER),
        ({}, "append", Sink.OTHER),
    ],
)
def test_other_writers_are_told_by_their_summary(summary: dict[str, str], operation: str, sink: Sink) -> None:
    """A `replace` is a compaction whoever made it."""
    assert Sinks([run("a", sink=V1)]).of(commit(summary, operation)) is sink


def reads_of(answer: Answer) -> ReadsFinding:
    """The finding that the answer carries."""
    assert isinstance(answer.finding, ReadsFinding)
    return answer.finding


def read(orders: OrdersTable, snapshot: int | None, consumer: str = "revenue_daily", after_s: float = 60) -> ReadRun:
    """A run that read `snapshot` so many seconds after the newest commit."""
    newest: datetime = orders.state().snapshots[-1].committed_at
    told = None if snapshot is None else SnapshotId(snapshot)
    return ReadRun(
        consumer=consumer, run_id=f"{consumer}-{snapshot}", at=newest + timedelta(seconds=after_s), snapshot_id=told
    )


def trusting(ask: Ask, snapshot: SnapshotId | None) -> Ask:
    """The same, with the snapshot that consumers are told to pin to."""
    return ask.model_copy(update={"trusted": snapshot})


def test_reads_above_and_of_rolled_back_states_are_told(orders: OrdersTable, asks: Asks) -> None:
    """Also a read of a snapshot that was rolled back since; reads at or below the trusted one are not."""
    old = orders.commits("a", 1, range(10))
    trusted = orders.commits("a", 2, range(10, 20))
    lost = orders.commits("a", 3, range(20, 30))
    orders.rolls_back_to(trusted)
    above = orders.commits("b", 3, range(20, 30))
    runs = [
        read(orders, above, "fraud_features", 90),
        read(orders, lost),
        read(orders, trusted, "quiet"),
        read(orders, old, "pinned"),
    ]

    answer = asks("reads_above_waterline", trusting(orders.ask(old, reads=runs), trusted))

    found = reads_of(answer)
    assert answer.verdict is Verdict.CONFIRMED
    assert [(run.consumer, run.snapshot_id) for run in found.above] == [
        ("revenue_daily", lost),
        ("fraud_features", above),
    ]
    assert (found.trusted, found.runs_checked, found.not_told) == (trusted, 4, ())
    assert "1 run of them a state that was rolled back" in answer.headline


def test_reads_below_the_waterline_are_fine(orders: OrdersTable, asks: Asks) -> None:
    """Nobody read above, and every run's snapshot is known."""
    trusted = orders.commits("a", 1, range(10))
    orders.commits("a", 2, range(10, 20))

    answer = asks("reads_above_waterline", trusting(orders.ask(trusted, reads=[read(orders, trusted)]), trusted))

    assert answer.verdict is Verdict.RULED_OUT
    assert reads_of(answer).runs_checked == 1


def test_a_run_whose_snapshot_is_not_told_may_have_read_anything(orders: OrdersTable, asks: Asks) -> None:
    """Unless it came before the trusted snapshot was committed. An expired snapshot tells no more than none."""
    trusted = orders.commits("a", 1, range(10))
    early = read(orders, None, "early", after_s=-60)
    expired_early = read(orders, 4711, "expired", after_s=-60)
    orders.commits("a", 2, range(10, 20))
    runs = [early, expired_early]

    fine = asks("reads_above_waterline", trusting(orders.ask(trusted, reads=runs), trusted))
    unclear = asks(
        "reads_above_waterline",
        trusting(orders.ask(trusted, reads=[*runs, read(orders, None), read(orders, 4711)]), trusted),
    )

    assert fine.verdict is Verdict.RULED_OUT
    assert unclear.verdict is Verdict.INCONCLUSIVE
    assert [run.snapshot_id for run in reads_of(unclear).not_told] == [None, 4711]


def test_without_an_incident_the_tag_is_the_waterline(orders: OrdersTable, asks: Asks) -> None:
    """The table itself says what is trusted; with neither, nothing is judged."""
    trusted = orders.commits("a", 1, range(10))
    above = orders.commits("a", 2, range(10, 20))
    ask = orders.ask(trusted, reads=[read(orders, above)])

    untagged = asks("reads_above_waterline", ask)
    orders.tags("waterline", trusted)
    tagged = asks("reads_above_waterline", orders.ask(trusted, reads=[read(orders, above)]))

    assert untagged.verdict is Verdict.INCONCLUSIVE
    assert (tagged.verdict, reads_of(tagged).trusted) == (Verdict.CONFIRMED, trusted)


def test_a_lineage_source_that_is_down_rules_nothing_out(orders: OrdersTable, asks: Asks) -> None:
    """Could not look is not nothing found."""
    trusted = orders.commits("a", 1, range(10))

    answer = asks("reads_above_waterline", trusting(orders.ask(trusted, reads=unseen("Marquez")), trusted))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert answer.could_not_look[0].source == "Marquez"


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
