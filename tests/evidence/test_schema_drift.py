"""Columns are compared; how a table is kept."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bot.observation.contract import ContractColumn
from bot.observation.evidence import Answer, Verdict
from bot.observation.flink import CheckpointKind, FlinkManifest, StoredCheckpoint
from bot.observation.ids import CheckpointId
from bot.observation.looked import NotSeen, Seen
from bot.observation.table import Column
from bot.observation.written import WriterSource, WrittenSchema, writer_sources
from tests.cases import NOON, OPERATOR, Tale, job_id
from tests.evidence.conftest import Asks
from tests.evidence.histories import write
from tests.evidence.kept_tables import DAY, HOUR_MS, at, brief, completed, ended, savepoint
from tests.evidence.restore_points import stored
from tests.evidence.test_ledger import run_of
from tests.tables import CONTRACT, OrdersTable, job, of_table, rows, unseen
from tests.upserts import upserts

__all__ = ["brief"]


def told(answer: Answer) -> set[tuple[str, tuple[str, str], str, str]]:
    """Every difference as (column, between, expected, found)."""
    return {(d.column, d.between, d.expected, d.found) for d in answer.finding.differences}


def test_a_table_that_stayed_as_promised_has_no_drift(orders: OrdersTable, asks: Asks) -> None:
    """Types compare without regard to spaces; a column beyond the contract breaks no promise."""
    before, _ = write(orders, "a1[0:10] | a2[10:20]")
    promised = (
        ContractColumn(name="order_id", type="LONG", required=True),
        ContractColumn(name="customer"),
        ContractColumn(name="event_time", type="timestamptz"),
    )

    answer = asks("schema_drift", orders.ask(before, contract=CONTRACT.model_copy(update={"columns": promised})))

    assert answer.verdict is Verdict.RULED_OUT
    assert answer.finding.added_at is None


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
    before, _ = write(orders, "a1[0:10] | a2[10:20]")
    orders.adds_column("city")
    first = orders.commits("a", 3, range(20, 30))
    orders.commits("a", 4, range(30, 40))

    answer = asks("schema_drift", orders.ask(before))

    found = answer.finding
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

    assert answer.finding.all_null == ("city",)


def test_a_column_that_the_job_fills_is_only_new(orders: OrdersTable, asks: Asks) -> None:
    """The change is told, and that is all; what another engine leaves null is not the job's."""
    before = orders.commits("a", 1, range(10))
    orders.adds_column("city")
    filled = rows(range(10, 20)).append_column("city", [["Oslo"] * 10])
    orders.appends(filled, {"flink.job-id": "a" * 32, "engine-name": "flink"})
    orders.appends(rows(range(20, 30)))

    answer = asks("schema_drift", orders.ask(before))

    assert answer.finding.all_null == ()
    assert told(answer) == {("city", ("earlier-table", "table"), "no such column", "string")}


def test_columns_are_known_by_their_id(orders: OrdersTable, judges: Asks) -> None:
    """A renamed column is one change, not a loss and a gain."""
    before = orders.commits("a", 1, range(10))
    orders.renames_column("customer", "client")

    answer = judges("schema_drift", orders.ask(before))

    assert told(answer) == {("client", ("earlier-table", "table"), "string named customer", "string named client")}


def test_a_changed_partitioning_is_told(orders: OrdersTable, asks: Asks) -> None:
    """Against what was written below the window, and against what the job still writes."""
    before, _ = write(orders, "a1[0:10] | a2[10:20]")
    orders.partitions_by_day("event_time")

    stays = asks("schema_drift", orders.ask(before))
    orders.commits("a", 3, range(20, 30))
    follows = asks("schema_drift", orders.ask(before))

    old = ("(partitioning)", ("earlier-table", "table"), "unpartitioned", "day(event_time)")
    assert told(stays) == {old, ("(partitioning)", ("table", "files"), "day(event_time)", "unpartitioned")}
    assert told(follows) == {old}


def test_a_window_whose_beginning_is_gone_is_not_ruled_out(orders: OrdersTable, judges: Asks) -> None:
    """What the table was there is not known."""
    orders.commits("a", 1, range(10))
    ask = orders.ask(None)
    cut = ask.model_copy(update={"window": ask.window.model_copy(update={"since": 12345})})

    answer = judges("schema_drift", cut)

    assert answer.verdict is Verdict.INCONCLUSIVE


def test_a_file_without_counts_does_not_exclude_anything(orders: OrdersTable, asks: Asks) -> None:
    """Whether the job fills the new column cannot be seen, so it is neither told as empty nor as filled."""
    before = orders.commits("a", 1, range(10))
    orders.adds_column("city")
    start = upserts(orders, "a", 2, [20], keys=[20])
    upserts(orders, "a", 3, [30], keys=[30])

    changed = asks("schema_drift", orders.ask(before))
    later = asks("schema_drift", orders.ask(start))

    assert (changed.finding.all_null, changed.finding.untold) == ((), ("city",))
    assert later.verdict is Verdict.INCONCLUSIVE
    assert "kept no counts of column city" in later.headline


@pytest.mark.parametrize("by_the_table", [False, True])
def test_nulls_that_nobody_counted_keep_no_promise(orders: OrdersTable, asks: Asks, by_the_table: bool) -> None:
    """The contract says never null, and the files do not tell; a table that requires the column holds none."""
    orders.sets({"write.metadata.metrics.column.order_id": "none"})
    before, _ = write(orders, "a1[0:10] | a2[10:20]")
    promised = (ContractColumn(name="order_id", required=True), ContractColumn(name="customer", required=True))
    ask = orders.ask(before, contract=CONTRACT.model_copy(update={"columns": promised}))
    if by_the_table:
        table = ask.observation.table
        columns = tuple(c.model_copy(update={"is_required": c.name == "order_id"}) for c in table.columns)
        ask = of_table(ask, columns=columns, schemas=dict.fromkeys(table.schemas, columns))

    answer = asks("schema_drift", ask)

    assert answer.verdict is (Verdict.RULED_OUT if by_the_table else Verdict.INCONCLUSIVE)
    assert answer.finding.untold == ()
    if not by_the_table:
        assert "A count of its nulls is lacking in 1 of 1 file" in answer.headline
        assert "write.metadata.metrics.column.order_id" in answer.could_not_look[0].remedy


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
    return {(d.column, d.expected, d.found) for d in answer.finding.differences if d.between == ("state", "table")}


def test_a_state_that_agrees_is_said_with_its_source(orders: OrdersTable, judges: Asks, before: int) -> None:
    """Who reads it knows what told it."""
    answer = judges("schema_drift", orders.ask(before, written=[of_state(orders)]))

    assert answer.verdict is Verdict.RULED_OUT
    assert "The job's files at checkpoint 2 say the same" in answer.headline
    assert any(source.endswith("file:/manifest.avro") for source in answer.sources)


def test_columns_that_only_one_of_them_has(orders: OrdersTable, judges: Asks, before: int) -> None:
    """Added since: null in what the job writes. Dropped since: it goes on writing it."""
    old = orders.state().columns
    orders.adds_column("city")
    state = of_state(orders, *old, Column(field_id=99, name="gone", type="int"))

    answer = judges("schema_drift", orders.ask(before, written=[state]))

    assert answer.verdict is Verdict.CONFIRMED
    assert apart(answer) == {("city", "no such column", "string"), ("gone", "int", "no such column")}
    assert (answer.finding.not_in_state, answer.finding.state_run) == (("city",), job("a"))
    assert answer.finding.not_in_table == ("gone",)
    assert answer.headline.startswith(
        "Column city: as the job's files at checkpoint 2 say, the job goes on without it and leaves it null; "
    )


def test_another_type_need_or_id_is_told(orders: OrdersTable, judges: Asks, before: int) -> None:
    """A column that was dropped and added again under its name is another one."""
    first, second, third, *rest = orders.state().columns
    state = of_state(
        orders,
        first.model_copy(update={"type": "int"}),
        second.model_copy(update={"is_required": True}),
        third.model_copy(update={"field_id": 77}),
        *rest,
    )

    answer = judges("schema_drift", orders.ask(before, written=[state]))

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


def test_a_state_that_nobody_could_read_rules_nothing_out(orders: OrdersTable, judges: Asks, before: int) -> None:
    """What was seen agrees; what was not is said."""
    answer = judges("schema_drift", orders.ask(before, written=unseen("the job's state")))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert answer.headline.startswith("No drift as far as can be seen.")
    assert "the job's state did not answer" in answer.headline


FOLDER = "s3://lake/sales/orders/metadata"


def name(run: str, checkpoint: int, number: int = 1) -> str:
    return f"{job_id(run)}-{OPERATOR}-00000-0-{checkpoint}-{number:05}.avro"


def point(
    run: str, checkpoint: int, *pending: str, problem: str | None = None, folder: str = FOLDER
) -> StoredCheckpoint:
    """A retained checkpoint, its committer's state read."""
    return stored(
        job_id(run), checkpoint, CheckpointKind.CHECKPOINT, owes=(), problem=problem,
        path=f"s3://chk/{run}/chk-{checkpoint}", written_at=NOON + timedelta(seconds=checkpoint),
        pending_manifests=pending, manifest_folders=dict.fromkeys(pending, (folder,)),
    )  # fmt: skip


def looked(tale: Tale, *points: StoredCheckpoint, guest: str | None = None) -> tuple[WriterSource, ...] | NotSeen:
    """Where to look in this world."""
    on_storage = Seen[StoredCheckpoint](source="s3://chk", values=points)
    listed: Seen[FlinkManifest] | NotSeen = tale.flink_manifests
    other_jobs = {job_id(guest)} if guest is not None else set()
    return writer_sources(tale.table, on_storage, listed, lambda run: run in other_jobs)


def sources_told(sources: tuple[WriterSource, ...] | NotSeen) -> list[tuple[int, tuple[str, ...], bool]]:
    """(checkpoint, paths of manifests, whether it is a commit) of each."""
    assert not isinstance(sources, NotSeen)
    return [(each.checkpoint_id, each.pending, each.commit is not None) for each in sources]


def test_the_newest_manifest_that_the_newest_point_names_is_asked_first() -> None:
    """Then the commit of its run at or before it: a later commit may be written under another schema."""
    tale = Tale().commits("a", 1, 2, 3).leaves_manifest("a", 2)
    there = (point("a", 1), point("a", 2, name("a", 1), name("a", 2)), point("a", 4, problem="It is cut off."))

    sources = looked(tale, *there)

    assert sources_told(sources) == [(2, (f"{FOLDER}/{name('a', 2)}",), False), (2, (), True)]


def test_a_manifest_that_was_listed_as_gone_is_not_asked_for() -> None:
    """It was committed; but another folder than the listed one is looked into."""
    tale = Tale().commits("a", 1, 2)
    gone, elsewhere = point("a", 2, name("a", 2)), point("a", 2, name("a", 2), folder="s3://lake/temporary")

    assert sources_told(looked(tale, gone)) == [(2, (), True)]
    assert sources_told(looked(tale, elsewhere)) == [
        (2, (f"s3://lake/temporary/{name('a', 2)}",), False),
        (2, (), True),
    ]


def test_without_a_restore_point_it_is_what_the_job_wrote_last() -> None:
    """And nothing at all where no job has written."""
    assert sources_told(looked(Tale().commits("a", 1, 2).commits(None))) == [(2, (), True)]
    assert sources_told(looked(Tale().commits(None))) == []


def test_nothing_of_a_guest_is_asked() -> None:
    """Another job's newer savepoint in the same folder, or its newer commit, says nothing of this job's columns."""
    tale = Tale().commits("a", 1, 2).commits("b", 8)

    assert sources_told(looked(tale, point("a", 2), point("b", 8), guest="b")) == [(2, (), True)]
    assert sources_told(looked(tale, point("b", 8), guest="b")) == [(2, (), True)]


def test_a_point_whose_run_left_nothing_is_not_known() -> None:
    """Another run's files say nothing of it."""
    unknown = looked(Tale().commits("a", 1, 2), point("b", 1, name("b", 1)))

    assert isinstance(unknown, NotSeen)
    assert "no commit of its run at or before checkpoint 1" in unknown.reason


def test_a_table_whose_head_is_the_jobs_last_commit_is_well_kept(orders: OrdersTable, asks: Asks) -> None:
    """The head never expires, so a restore finds it."""
    before = orders.commits("a", 1, range(10))
    head = orders.commits("a", 2, range(10, 20))

    answer = asks("table_health", orders.ask(before, jobs=[run_of("a")]))

    found = answer.finding
    assert answer.verdict is Verdict.RULED_OUT
    assert [(last.snapshot_id, last.checkpoint_id, last.is_protected) for last in found.last_commits] == [
        (head, 2, True)
    ]
    assert found.snapshots == 2
    assert "kept by a branch or tag" in answer.headline


def test_the_last_commit_below_another_writers_head_may_expire(brief: OrdersTable, judges: Asks) -> None:
    """A compaction or Spark commit takes the head, and expiry takes the snapshot that the job will look for."""
    before, [_, last, _] = write(brief, "a1[0:10] | a2[10:20] +[20:30]")

    soon = judges("table_health", brief.ask(before, jobs=[run_of("a")]))
    now = judges("table_health", at(brief.ask(before, jobs=[run_of("a")]), 2 * DAY))

    assert soon.verdict is Verdict.CONFIRMED
    assert soon.finding.last_commits[0].snapshot_id == last
    assert 3500 < (soon.finding.last_commits[0].expires_within_s or 0) <= 3600
    assert now.finding.last_commits[0].expires_within_s == 0
    assert "is the last commit of run aaaaaa and may expire now" in now.headline


def test_every_problem_is_said(brief: OrdersTable, judges: Asks) -> None:
    """Rows and measures do not tell the second one, so the headline does."""
    before, _ = write(brief, "a1[0:10] | a2[10:20] +[20:30]")

    answer = judges("table_health", brief.ask(before, jobs=[run_of("a")], checkpoints=[savepoint(9, DAY)]))

    expiring, outlived = answer.finding.problems
    assert answer.headline == f"{expiring} {outlived}"
    assert "1 restore point is older than the table keeps snapshots" in outlived


def test_a_snapshot_among_those_kept_at_the_least_does_not_expire_yet(tmp_path: Path, judges: Asks) -> None:
    """Age alone does not expire the newest snapshots; the pace of commits does."""
    keeps = {"history.expire.max-snapshot-age-ms": HOUR_MS, "history.expire.min-snapshots-to-keep": "50"}
    table = OrdersTable(tmp_path, keeps)
    before = table.commits("a", 1, range(10))
    table.commits("a", 2, range(10, 20))
    table.appends(rows(range(20, 30)))

    answer = judges("table_health", at(table.ask(before, jobs=[run_of("a")]), 2 * DAY))
    table.close()

    assert answer.verdict is Verdict.RULED_OUT
    assert (answer.finding.last_commits[0].expires_within_s or 0) > 90 * DAY.total_seconds()


def test_the_last_commit_of_a_run_that_handed_over_is_not_needed(brief: OrdersTable, judges: Asks) -> None:
    """Nobody restores the run that was replaced."""
    before, _ = write(brief, "a1[0:10] | a2[10:20] b3[20:30]")

    answer = judges("table_health", at(brief.ask(before, jobs=[run_of("b"), ended("a")]), 2 * DAY))

    assert answer.verdict is Verdict.RULED_OUT
    assert [last.is_protected for last in answer.finding.last_commits] == [True, False]


def test_a_run_whose_commits_have_all_expired_is_named(orders: OrdersTable, judges: Asks) -> None:
    """The job has committed before the oldest snapshot that is listed, and none of its commits is listed."""
    orders.commits("a", 1, range(10))
    orders.appends(rows(range(10, 20)))
    ask = orders.ask(None, jobs=[completed("a", datetime(2026, 1, 1, tzinfo=UTC))])
    only = ask.observation.table.snapshots[-1]

    answer = judges("table_health", at(ask, timedelta(0), snapshots=(only,)))

    assert answer.verdict is Verdict.CONFIRMED
    assert [(last.job_id, last.snapshot_id) for last in answer.finding.last_commits] == [(job("a"), None)]
    assert answer.headline.startswith("No listed snapshot is by run aaaaaa")


def test_a_new_run_that_has_not_committed_yet_is_not_accused(orders: OrdersTable, judges: Asks) -> None:
    """A run that began after the oldest listed snapshot has lost nothing."""
    orders.commits("a", 1, range(10))
    orders.appends(rows(range(10, 20)))
    ask = orders.ask(None, jobs=[completed("c", datetime.now(UTC))])
    only = ask.observation.table.snapshots[-1]

    answer = judges("table_health", at(ask, timedelta(0), snapshots=(only,)))

    assert answer.verdict is Verdict.RULED_OUT
    assert answer.finding.last_commits == ()


def test_without_flink_a_well_kept_table_is_inconclusive(orders: OrdersTable, judges: Asks) -> None:
    """Which runs are alive, and what they need, is not known."""
    before, _ = write(orders, "a1[0:10] | a2[10:20]")

    answer = judges("table_health", orders.ask(before, jobs=unseen("Flink")))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert "Flink was not seen" in answer.headline


def test_restore_points_that_outlive_the_snapshots_are_told(orders: OrdersTable, judges: Asks) -> None:
    """A savepoint of last week has no table state to go with after five days."""
    before, _ = write(orders, "a1[0:10] | a2[10:20]")
    points = [savepoint(1, 6 * DAY), savepoint(2, DAY)]

    answer = judges("table_health", orders.ask(before, jobs=[run_of("a")], checkpoints=points))

    assert answer.verdict is Verdict.CONFIRMED
    assert "1 restore point is older than the table keeps snapshots (5 d), the oldest savepoint-1" in answer.headline


def test_retention_below_the_contract_is_told(brief: OrdersTable, judges: Asks) -> None:
    """The contract promises a week, the table keeps an hour."""
    before, _ = write(brief, "a1[0:10] | a2[10:20]")
    contract = CONTRACT.model_copy(update={"keep_snapshots": 7 * DAY})

    answer = judges("table_health", brief.ask(before, jobs=[run_of("a")], contract=contract))

    assert answer.headline == "The table lets snapshots expire after 1 h; the contract promises 7 d."
