"""What may hold values of rows is cut out of the sources of a saved case, and nothing else is."""

import json
import lzma
from pathlib import Path

import pytest

from bot.adapters.case_redaction import CannotBeCut, flink_body, lineage_events, without_state
from bot.adapters.case_sources import RowValues
from bot.adapters.checkpoint_parsing import told_by
from bot.adapters.flink_pages import Exceptions, JobConfig, cause_lines
from bot.adapters.storage import entries_in
from bot.domain.contract import TableContract
from bot.domain.evidence import Evidence, Verdict
from bot.domain.findings import LedgerFinding
from bot.domain.ids import EvidenceId
from bot.domain.ledger import Ledger
from bot.domain.table import Column, TableState, TouchedPartitions, Window
from tests import orders_table
from tests.adapters.lake import Lake
from tests.cases import Tale

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
