"""What may hold values of rows is cut out of a saved case, and nothing else is."""

import gzip
import json
import lzma
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import BucketTransform, IdentityTransform, Transform
from pyiceberg.types import LongType, NestedField, StringType

from bot.adapters.case_redaction import (
    CannotBeCut,
    flink_body,
    lineage_events,
    without_hidden,
    without_state,
    without_told_partitions,
)
from bot.adapters.case_rereading import read_again
from bot.adapters.case_sources import RowValues, raw_of, read_case, sources_of
from bot.adapters.checkpoint_parsing import told_by
from bot.adapters.clock import SystemClock
from bot.adapters.flink_pages import Exceptions, JobConfig, cause_lines
from bot.adapters.iceberg import PyIcebergCatalog
from bot.adapters.storage import entries_in
from bot.bootstrap import failure_modes
from bot.diagnosis._examine import diagnose
from bot.domain.contract import HIDDEN, TableContract
from bot.domain.diagnosis import Case
from bot.domain.evidence import Evidence, Verdict
from bot.domain.findings import LedgerFinding
from bot.domain.flink import Failure, FlinkManifest, JobRun, StoredCheckpoint
from bot.domain.hidden_values import outgoing_case
from bot.domain.ids import EvidenceId
from bot.domain.ledger import Ledger
from bot.domain.looked import Seen
from bot.domain.suspicion import propose_window
from bot.domain.table import Column, TableState, TouchedPartitions, Window
from tests import orders_table
from tests.adapters.lake import Lake
from tests.cases import Tale
from tests.tables import CONTRACT, ORDERS
from tests.terminal.real_cases import REAL, with_world

CHECKPOINTS = Path(__file__).parents[1] / "adapters" / "fixtures" / "checkpoint_metadata"
JOB = "http://flink:8081/jobs/" + "a" * 32
ORDER_ID, POSITION = 1, 2


@pytest.fixture
def manifest(tmp_path: Path) -> bytes:
    """A manifest of one file with two columns, their bounds in it."""
    lake = Lake(tmp_path)
    lake.append(7, 9)
    snapshot = lake.table.current_snapshot()
    assert snapshot is not None
    path = snapshot.manifests(lake.table.io)[0].manifest_path
    lake.close()
    return Path(path.removeprefix("file://")).read_bytes()


def table(*partitioning: str) -> TableState:
    """With the columns of the lake's table."""
    columns = (
        Column(field_id=ORDER_ID, name="order_id", type="string", is_required=True),
        Column(field_id=POSITION, name="position", type="long", is_required=False),
    )
    told = Tale().commits("a", 1).table
    return told.model_copy(update={"columns": columns, "schemas": {0: columns}, "partitioning": partitioning})


def bounds(manifest: bytes) -> dict[int, bool]:
    """Field id -> whether its lower bound still tells anything."""
    return {field: any(value) for field, value in entries_in(manifest)[0].data_file.lower_bounds.items()}


@pytest.mark.parametrize(
    ("with_values", "redacted", "expected"),
    [
        (False, (), {ORDER_ID: False, POSITION: True}),
        (True, (), {ORDER_ID: True, POSITION: True}),
        (True, ("ORDER_ID",), {ORDER_ID: False, POSITION: True}),
        (False, ("position",), {ORDER_ID: False, POSITION: False}),
    ],
)
def test_bounds_leave_by_the_columns_policy(
    manifest: bytes, with_values: bool, redacted: tuple[str, ...], expected: dict[int, bool]
) -> None:
    """Unasked only positions and event times leave; a redacted column never does."""
    contract = TableContract(position="position", redacted=redacted)

    cut = RowValues(table(), contract, with_values=with_values).cut(manifest)

    assert expected == bounds(cut)
    assert b"o-7" not in cut
    before, after = entries_in(manifest)[0], entries_in(cut)[0]
    assert (before.status, before.snapshot_id) == (after.status, after.snapshot_id)
    assert before.data_file.file_path == after.data_file.file_path
    assert before.data_file.record_count == after.data_file.record_count


@pytest.mark.parametrize("told", ["customer", "truncate[4](customer)"])
def test_a_table_partitioned_by_what_may_not_leave_gives_no_manifest(told: str) -> None:
    """The paths of its files hold the values."""
    contract = TableContract(event_time="event_time", redacted=("customer",))

    why = [RowValues(table(told), contract, with_values=asked).why_no_manifest for asked in (False, True)]

    assert all(each is not None and told in each for each in why)


@pytest.mark.parametrize("told", ["day(event_time)", "bucket[16](customer)", "void(customer)"])
def test_days_buckets_and_dropped_fields_tell_no_value(told: str) -> None:
    """A bucket is a hash, and the event's time may leave."""
    contract = TableContract(event_time="event_time", redacted=("customer",))

    assert RowValues(table(told), contract, with_values=False).why_no_manifest is None


@pytest.mark.parametrize("name", ["v1_upsert_chk3__metadata", "v2_stop_savepoint__metadata", "every_handle_v6"])
def test_a_checkpoint_keeps_all_but_the_state_of_others(name: str) -> None:
    """Real files: what the bot reads stays, the source's state becomes zeros, and the length is the same."""
    whole = (CHECKPOINTS / name).read_bytes()

    cut = without_state(whole)

    assert len(whole) == len(cut)
    assert cut != whole
    assert told_by(whole).pending_manifests == told_by(cut).pending_manifests
    assert [(p.operator_id, p.bytes) for p in told_by(whole).operators] == [
        (p.operator_id, p.bytes) for p in told_by(cut).operators
    ]


def test_a_checkpoint_that_is_not_understood_is_not_cut() -> None:
    """Nobody knows where its state is, so nothing of it may leave."""
    whole = (CHECKPOINTS / "v1_upsert_chk3__metadata").read_bytes()

    with pytest.raises(CannotBeCut):
        without_state(whole[:3000])


def test_a_stack_trace_keeps_what_the_bot_reads_of_it() -> None:
    """A trace may quote a record anywhere; its first line and causes are in the case as well."""
    trace = "java.lang.A: first\n\tat secret-of-ana\nCaused by: java.lang.B: why\n\tat secret-of-ana"
    entry = {
        "exceptionName": "java.lang.A",
        "stacktrace": trace,
        "timestamp": 5,
        "concurrentExceptions": ["secret-of-ana"],
    }

    cut = flink_body(
        f"{JOB}/exceptions?maxExceptions=20", json.dumps({"exceptionHistory": {"entries": [entry]}}).encode()
    )

    kept = Exceptions.model_validate_json(cut).history.entries[0].stacktrace
    assert b"secret-of-ana" not in cut
    assert "java.lang.A: first" == kept.partition("\n")[0]
    assert cause_lines(trace) == cause_lines(kept)


def test_parameters_and_plan_of_a_job_stay_behind() -> None:
    """Parameters may be secrets, and a plan quotes the job's statements."""
    config = {"jid": "a", "execution-config": {"user-config": {"code.version": "v7", "db.pass": "hunter-2222"}}}
    detail = {"jid": "a", "name": "orders", "vertices": [], "plan": {"nodes": [{"description": "hunter-2222"}]}}

    cut = flink_body(f"{JOB}/config", json.dumps(config).encode()), flink_body(JOB, json.dumps(detail).encode())

    assert b"hunter" not in b"".join(cut)
    told = JobConfig.model_validate_json(cut[0]).execution
    assert told is not None
    assert {"code.version": "v7"} == told.user_config
    assert {"jid": "a", "name": "orders", "vertices": []} == json.loads(cut[1])


def test_pages_without_values_are_kept_as_they_are() -> None:
    """The bytes are the proof."""
    assert b" {} " == flink_body(f"{JOB}/checkpoints", b" {} ")


def test_a_lineage_event_keeps_who_read_which_snapshot() -> None:
    """Filters and statements of a query hold values."""
    scan = {"snapshotId": 7, "filterDescription": "customer = 'ana'"}
    event = {
        "eventTime": "2026-11-22T00:00:00Z",
        "run": {"runId": "r", "facets": {"sql": {"query": "customer = 'ana'"}}},
        "job": {"namespace": "n", "name": "report", "facets": {"sql": {"query": "customer = 'ana'"}}},
        "inputs": [{"namespace": "lake", "name": "sales.orders", "inputFacets": {"icebergScanReport": scan}}],
    }

    cut = lineage_events(json.dumps(event).encode() + b"\nno json\n")

    assert b"ana" not in cut
    told = json.loads(cut)
    assert ("r", "report") == (told["run"]["runId"], told["job"]["name"])
    assert {"snapshotId": 7} == told["inputs"][0]["inputFacets"]["icebergScanReport"]


def test_partitions_of_the_ledger_do_not_leave_unasked() -> None:
    """They are values of rows; which commits there were stays."""
    row = orders_table.ledger().rows[0]
    named = row.model_copy(update={"partitions": (TouchedPartitions(field="customer", values=("ACME",)),)})
    ledger = Ledger(rows=(named,), readers_known=True)
    tale = Tale().commits("a", 1)
    evidence = Evidence(
        verdict=Verdict.RULED_OUT, headline="One chain.", finding=LedgerFinding(ledger=ledger),
        id=EvidenceId("01K"), task="ledger", task_version=2, question="Who?", metadata_location="m", head=None,
        window=Window(since=None, until=row.snapshot_id), at=row.committed_at, took_ms=1, bytes_read=0,
    )  # fmt: skip
    case = tale.looked_at().model_copy(update={"evidence": (evidence,), "ledger": ledger})
    assert "ACME" in case.model_dump_json()

    bare = case.without_samples()

    assert "ACME" not in bare.model_dump_json()
    assert bare.ledger is not None
    assert [each.snapshot_id for each in bare.ledger.rows] == [row.snapshot_id]


def test_where_kafka_goes_on_stays_in_the_file() -> None:
    """Offsets are no values of rows; an answer was read from them."""
    content = lzma.decompress((CHECKPOINTS / "kafka_stop_savepoint.xz").read_bytes())

    cut = without_state(content)

    assert told_by(cut).source_positions == told_by(content).source_positions != ()


SECRET = "ACME"
PATH = f"s3://lake/orders/data/day=2026-11-03/customer={SECRET}/1.parquet"
TRACE = f"java.io.IOException: {PATH}\n\tat a.b(C.java)\nCaused by: java.io.FileNotFoundException: {PATH}\n\tat a.b"


def failed() -> Case:
    """A run that failed over a customer's file, with a checkpoint that did."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).completes("a", 3)
    missing = "java.io.FileNotFoundException"
    thrown = Failure(
        at=tale.now, exception=missing, message=PATH, task=None, attempt=None, causes=(f"{missing}: {PATH}",)
    )
    told = tale.runs["a"]
    declined = told.checkpoints[0].model_copy(update={"status": "FAILED", "failure": f"Task failed: {PATH}"})
    tale.runs["a"] = told.model_copy(
        update={"failures": (thrown,) * 3, "checkpoints": (declined, *told.checkpoints[1:])}
    )
    return tale.looked_at().model_copy(update={"contract": CONTRACT})


def test_the_case_shows_no_value_and_is_diagnosed_the_same() -> None:
    """Of the table's job and of the others that write it; the day and the file's name stay."""
    case = failed()
    case = with_world(case, others=Seen[JobRun](source="Flink", values=case.observation.jobs.values))

    sent = outgoing_case(case.without_samples(), CONTRACT)

    assert SECRET in case.model_dump_json(), "so the test can fail"
    assert SECRET not in sent.model_dump_json()
    assert f"data/day=2026-11-03/customer={HIDDEN}/1.parquet" in sent.observation.jobs.values[0].failures[0].message
    assert diagnose(case, failure_modes()) == diagnose(sent, failure_modes())


def test_where_nothing_is_hidden_the_words_are_as_flink_said_them() -> None:
    """They lead to the cause."""
    case = failed()

    assert case == outgoing_case(case, TableContract(key=("order_id",)))


@pytest.mark.parametrize("with_values", [False, True])
@pytest.mark.parametrize("customer", [SECRET, "Q"])
def test_what_flink_answered_is_veiled_and_read_again_as_recorded(with_values: bool, customer: str) -> None:
    """Where the veil is longer than the value, what is kept of a long line ends earlier in both."""
    saved, raw = read_case(REAL).case, raw_of(REAL)
    of_flink = {address: body for address, body in raw.items() if address.startswith("http")}
    page = next(address for address in of_flink if "/exceptions" in address)
    line = f"java.io.IOException: {PATH} ".replace(SECRET, customer)
    trace = f"{line}{'x' * (300 - len(line))}\n\tat a.b(C.java)\nCaused by: {line}{'x' * 600}\n\tat a.b"
    entry = {"exceptionName": "java.io.IOException", "timestamp": 1_790_000_000_000, "stacktrace": trace}
    of_flink[page] = json.dumps({"exceptionHistory": {"entries": [entry]}}).encode()
    seen = with_world(saved, jobs=read_again(saved, of_flink).observation.jobs)
    hides = seen.model_copy(update={"contract": seen.contract.model_copy(update={"redacted": ("customer",)})})

    kept = sources_of(hides, of_flink, with_values=with_values).raw
    again = read_again(outgoing_case(hides, hides.contract), kept)

    assert f"customer={customer}".encode() not in b"".join(kept.values())
    assert [] == again.differences
    assert any(f"customer={HIDDEN}" in f.message for run in again.observation.jobs.values for f in run.failures)


@pytest.mark.parametrize("page", ["checkpoints", "checkpoints/details/7", "checkpoints?x=1"])
def test_why_a_checkpoint_failed_is_veiled_and_where_it_lies_is_not(page: str) -> None:
    """Its place is looked up again."""
    entry = {"id": 7, "failure_message": PATH, "external_path": "s3://flink/customer=7/chk-7"}

    told = json.loads(without_hidden(f"{JOB}/{page}", json.dumps({"history": [entry]}).encode(), CONTRACT.veiled))

    assert PATH.replace(SECRET, HIDDEN) == told["history"][0]["failure_message"]
    assert entry["external_path"] == told["history"][0]["external_path"]


def test_answers_that_show_nothing_hidden_are_kept_byte_for_byte() -> None:
    """The bytes are the proof."""
    spaced = b'{"exceptionHistory":  {"entries": [ ]}}'

    assert spaced == without_hidden(f"{JOB}/exceptions?maxExceptions=20", spaced, CONTRACT.veiled)
    assert b" {} " == without_hidden(f"{JOB}/checkpoints", b" {} ", CONTRACT.veiled)
    assert b"no json" == without_hidden(f"{JOB}/config", b"no json", CONTRACT.veiled)


def test_a_trace_that_is_kept_whole_is_veiled_in_every_line() -> None:
    """Flink escapes letters beyond ASCII in no way of ours, so the text is read and not the bytes."""
    hides = TableContract(redacted=("größe",))
    body = json.dumps({"root-exception": TRACE.replace("customer", "größe"), "all-exceptions": [{"exception": TRACE}]})

    told = json.loads(without_hidden(f"{JOB}/exceptions", body.encode(), hides.veiled))

    assert 2 == told["root-exception"].count(f"größe={HIDDEN}")
    assert TRACE == told["all-exceptions"][0]["exception"]


HIDES, SHOWS = TableContract(redacted=("customer",)), TableContract()
IDENTITY, BUCKET = IdentityTransform(), BucketTransform(4)


@pytest.fixture
def case_partitions_lake(tmp_path: Path) -> Iterator[Lake]:
    """A catalog without a table."""
    made = Lake(tmp_path)
    made.catalog.drop_table(ORDERS)
    yield made
    made.close()


def parted(case_partitions_lake: Lake, contract: TableContract, by: Transform[str, object] = IDENTITY) -> Case:
    """A look at a table whose commits tell of every partition."""
    schema = Schema(NestedField(1, "order_id", LongType()), NestedField(2, "customer", StringType()))
    spec = PartitionSpec(PartitionField(2, 1000, by, "customer" if by is IDENTITY else "customer_bucket"))
    limit = {"write.summary.partition-limit": "10"}
    table = case_partitions_lake.catalog.create_table(ORDERS, schema, partition_spec=spec, properties=limit)
    table.append(pa.table({"order_id": [1, 2], "customer": [SECRET, "Globex"]}))
    summary = case_partitions_lake.table.metadata.snapshots[0].summary
    assert summary is not None
    assert any(key.startswith("partitions.customer") for key in summary.additional_properties)
    state = PyIcebergCatalog("lake", case_partitions_lake.properties, SystemClock()).load(ORDERS)
    base = Tale().flink_runs("a").commits("a", 1).looked_at()
    seen = {
        "jobs": Seen[JobRun](source="Flink", values=()),
        "checkpoints": Seen[StoredCheckpoint](source="storage", values=()),
        "flink_manifests": Seen[FlinkManifest](source="storage", values=()),
    }
    world = base.observation.model_copy(update={"table": state, **seen})
    window = propose_window(state, world.jobs).window
    return base.model_copy(update={"observation": world, "contract": contract, "window": window})


def told(case: Case, *, with_values: bool) -> bytes:
    """All that the file would hold."""
    shown = case if with_values else case.without_samples()
    raw = sources_of(case, {}, with_values=with_values).raw
    return outgoing_case(shown, case.contract).model_dump_json().encode() + b"".join(raw.values())


@pytest.mark.parametrize(("contract", "with_values"), [(HIDES, False), (HIDES, True), (SHOWS, False)])
def test_no_partition_that_may_not_leave_is_told_by_a_summary(
    case_partitions_lake: Lake, contract: TableContract, with_values: bool
) -> None:
    """Neither in the case nor in the metadata; hidden ones never, others unasked not."""
    case = parted(case_partitions_lake, contract)

    kept = told(case, with_values=with_values)

    assert SECRET.encode() not in kept
    assert b"added-records" in kept


@pytest.mark.parametrize(("by", "with_values"), [(IDENTITY, True), (BUCKET, False)])
def test_metadata_that_may_leave_is_kept_byte_for_byte(
    case_partitions_lake: Lake, by: Transform[str, object], with_values: bool
) -> None:
    """Asked for where nothing is hidden, and a bucket tells no value."""
    case = parted(case_partitions_lake, SHOWS, by)
    whole = Path(case.observation.table.metadata_location.removeprefix("file://")).read_bytes()

    sources = sources_of(case, {}, with_values=with_values)

    assert whole == sources.raw[case.observation.table.metadata_location]
    assert case.observation.table.metadata_location not in sources.cut


def test_the_file_is_read_again_as_it_was_recorded(case_partitions_lake: Lake) -> None:
    """Also a record of an earlier version, which held what the commits told."""
    case = parted(case_partitions_lake, HIDES)
    sources = sources_of(case, {}, with_values=False)
    first = case.observation.table.snapshots[0]
    older = first.model_copy(update={"summary": {**first.summary, f"partitions.customer={SECRET}": "added-records=1"}})
    table = case.observation.table.model_copy(update={"snapshots": (older,)})
    recorded = case.model_copy(update={"observation": case.observation.model_copy(update={"table": table})})

    again = [read_again(each, sources.raw) for each in (outgoing_case(case, HIDES), recorded)]

    assert [[], []] == [each.differences for each in again]
    assert all("1 metadata file" in each.read for each in again)
    assert case.observation.table.metadata_location in sources.cut


def test_packed_metadata_is_cut_and_packed_again() -> None:
    """Tables may be told to pack it; what cannot be unpacked is left out rather than kept whole."""
    summary = {"operation": "append", f"partitions.customer={SECRET}": "added-records=1"}
    whole = json.dumps({"snapshots": [{"snapshot-id": 1, "summary": summary}, {"snapshot-id": 2}]}).encode()

    cut = without_told_partitions(gzip.compress(whole))

    assert SECRET.encode() not in gzip.decompress(cut)
    assert {"operation": "append"} == json.loads(gzip.decompress(cut))["snapshots"][0]["summary"]
    assert gzip.compress(b"{}", mtime=0) == without_told_partitions(gzip.compress(b"{}", mtime=0))
    with pytest.raises(CannotBeCut):
        without_told_partitions(gzip.compress(whole)[:-9])
