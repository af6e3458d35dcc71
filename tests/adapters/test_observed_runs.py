"""What the observer makes of a cluster and its history server, and how far back it looks for readers."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from bot.adapters.checkpoint_files import CheckpointFiles
from bot.adapters.flink_rest import FlinkHistory, FlinkRest
from bot.adapters.iceberg import PyIcebergCatalog
from bot.adapters.journal_sql import open_store
from bot.adapters.lineage import NoLineage
from bot.adapters.table_files import FolderOfTable
from bot.incident.approval import ApprovalPolicy
from bot.incident.setup import TableSetup
from bot.observation.contract import TableContract
from bot.observation.evidence import Observation
from bot.observation.flink import JobRun
from bot.observation.ids import SnapshotId, TableName, UserId
from bot.observation.looked import NotSeen, Seen
from bot.observation.table import Window
from bot.ports import JobPorts, SeenStarts
from bot.service.observing import Observer, Starts, readers_since
from tests.adapters.flink_wire import ENDED, F21, RUN_21, Wire, archived_pages, body, flink_wire, tell_run
from tests.adapters.lake import Lake
from tests.adapters.serving import unused_address
from tests.web.scene import StandingClock

ORDERS = TableName("sales.orders")
JOB = "orders-to-iceberg"


@pytest.fixture
def archive() -> Iterator[str]:
    """The address of a history server that knows one run that ended."""
    with flink_wire() as up:
        for path, page in archived_pages():
            up.says(f"GET {path}", page)
        yield up.url


@pytest.fixture
def cluster(wire: Wire) -> str:
    """The address of a cluster with one living run."""
    wire.says("GET /jobs/overview", {"jobs": body(F21, "jobs_overview")["jobs"][:1]})
    tell_run(wire, F21, RUN_21, exceptions="exceptions", checkpoints="checkpoints")
    return wire.url


def look_at(
    catalog: PyIcebergCatalog, cluster: str, history: str | None, record: SeenStarts | None = None
) -> Observation:
    """What one look sees."""
    flink = FlinkRest(cluster)
    past = FlinkHistory(history) if history is not None else None
    setup = TableSetup(
        name=ORDERS, job=JOB, contract=TableContract(key=("order_id",)), consumers=(),
        policies={"default": ApprovalPolicy(users=(UserId("U0BEN00001"),))}, next_update_minutes=30,
    )  # fmt: skip
    ports = JobPorts(flink, CheckpointFiles(None, None), past)
    starts = Starts(record, StandingClock()) if record is not None else None
    observer = Observer(catalog, {ORDERS: setup}, {JOB: ports}, reads=NoLineage(), files=FolderOfTable(), starts=starts)
    seen = observer.observe(ORDERS)
    flink.close()
    if past is not None:
        past.close()
    return seen


def seen_at(catalog: PyIcebergCatalog, cluster: str, history: str | None) -> Seen[JobRun] | NotSeen:
    """The runs that one look sees."""
    return look_at(catalog, cluster, history).jobs


def test_a_start_that_flink_forgets_is_remembered(
    catalog: PyIcebergCatalog, wire: Wire, cluster: str, tmp_path: Path
) -> None:
    """By whoever looks later, and in a case that is saved; without a record nothing is."""
    first = open_store(f"sqlite:///{tmp_path / 'record.db'}")
    before = look_at(catalog, cluster, None, first.starts)
    first.close()
    wire.says("GET /jobs/overview", {"jobs": []})
    later = open_store(f"sqlite:///{tmp_path / 'record.db'}")
    after = look_at(catalog, cluster, None, later.starts)
    later.close()

    [run] = before.jobs.values
    assert [(each.job_id, each.restored, each.last_count) for each in after.remembered] == [
        (run.job_id, run.restored, run.restored_count)
    ]
    assert after.jobs.values == ()
    assert before.remembered == after.remembered
    assert Observation.model_validate_json(after.model_dump_json()) == after
    assert "remembered" not in look_at(catalog, cluster, None).model_dump()


def test_a_run_on_main_that_flink_lists_under_another_name_is_seen(
    catalog: PyIcebergCatalog, lake: Lake, wire: Wire, cluster: str
) -> None:
    """Nobody has declared its job; one that has committed nothing here is none of the table's."""
    [line] = body(F21, "jobs_overview")["jobs"][:1]
    other = line | {"jid": "9" * 32, "name": "elsewhere"}
    wire.says("GET /jobs/overview", {"jobs": [line | {"name": "backfill"}, other]})
    before = look_at(catalog, cluster, None)
    lake.append(1, **{"flink.job-id": RUN_21, "flink.max-committed-checkpoint-id": "1"})

    seen = look_at(catalog, cluster, None)

    assert (before.undeclared, before.jobs.values, seen.jobs.values) == ((), (), ())
    assert [run.job_id for run in seen.undeclared] == [RUN_21]

    wire.says(f"GET /jobs/{RUN_21}", {"nothing": "that Flink says"})
    assert isinstance(look_at(catalog, cluster, None).jobs, NotSeen), "whose commits these are was not seen"


def test_runs_that_ended_stand_beside_those_that_live(catalog: PyIcebergCatalog, cluster: str, archive: str) -> None:
    """Newest first; where each comes from is marked, and the source names both."""
    jobs = seen_at(catalog, cluster, archive)

    assert {(run.job_id, run.from_history) for run in jobs.values} == {(RUN_21, False), (ENDED, True)}
    assert [run.started_at for run in jobs.values] == sorted((r.started_at for r in jobs.values), reverse=True)
    assert jobs.source == "Flink, job orders-to-iceberg, and its history server"


def test_a_history_server_that_is_down_hides_nothing_and_is_said(catalog: PyIcebergCatalog, cluster: str) -> None:
    """The cluster's word stays; the reader of the card sees what was not asked."""
    jobs = seen_at(catalog, cluster, unused_address())

    assert isinstance(jobs, Seen)
    assert [run.job_id for run in jobs.values] == [RUN_21]
    assert "not its history server: The Flink history server at" in jobs.source


def test_a_cluster_that_is_down_is_not_replaced_by_its_past(catalog: PyIcebergCatalog, archive: str) -> None:
    """What runs now is not known; that the history knows a run that ended is part of the reason, no more."""
    jobs = seen_at(catalog, unused_address(), archive)

    assert isinstance(jobs, NotSeen)
    assert "Its history server knows of 1 that ended; the newest, run c10907, is FINISHED." in jobs.reason


def test_without_a_history_server_none_is_missed(catalog: PyIcebergCatalog, cluster: str) -> None:
    """Not configured is not down."""
    assert seen_at(catalog, cluster, None).source == "Flink, job orders-to-iceberg"


@pytest.mark.parametrize(
    ("since", "place"),
    [(lambda _ids: None, 0), (lambda ids: Window(since=ids[1], until=ids[2]), 1),
     (lambda ids: Window(since=None, until=ids[2]), 0), (lambda ids: Window(since=SnapshotId(404), until=ids[2]), 0)],
    ids=["no window", "a window", "a window from the beginning", "a beginning that has expired"],
)  # fmt: skip
def test_readers_are_looked_for_since_the_window_began(
    lake: Lake, catalog: PyIcebergCatalog, since: Callable[[list[SnapshotId]], Window | None], place: int
) -> None:
    """Nobody can have read a commit before it was made; clocks may differ by five minutes."""
    table = catalog.load(ORDERS)
    ids = [s.snapshot_id for s in table.snapshots]

    edge = readers_since(table, since(ids))

    assert edge == table.snapshots[place].committed_at - timedelta(minutes=5)
