"""Files that Flink wrote and no commit took along are found, and a healthy job is not accused."""

from datetime import UTC, datetime, timedelta

import pytest

from bot.domain.evidence import Verdict
from bot.domain.findings import LeakedManifestsFinding, LeakStanding
from bot.domain.flink import CompletedCheckpoint, Vertex
from bot.domain.ids import DRAINED, OperatorId
from tests.evidence.conftest import Asks
from tests.evidence.flink_words import done
from tests.evidence.leaked_files import ask_about, behind, ended, finding_of, only, owing, restored_from, told
from tests.evidence.test_ledger import run_of
from tests.tables import OPERATOR, OrdersTable
from tests.upserts import leaves_deletes


def test_a_clean_folder_is_ruled_out(orders: OrdersTable, asks: Asks) -> None:
    """Nothing was left, and every source was asked."""
    before = orders.commits("a", 1, range(10))
    orders.commits("a", 2, range(10, 20))

    answer = asks("leaked_manifests", ask_about(orders, before, run_of("a")))

    assert answer.verdict is Verdict.RULED_OUT
    assert finding_of(answer) == LeakedManifestsFinding(manifests=(), lost_files=0, lost_rows=0)


def test_a_running_job_that_is_about_to_commit_is_not_accused(orders: OrdersTable, asks: Asks) -> None:
    """Between checkpoint and commit its manifest lies there: pending, and no trouble."""
    before = orders.commits("a", 1, range(10))
    orders.commits("a", 2, range(10, 20))
    orders.leaves_manifest("a", 3, {"three.parquet": range(20, 30)})

    answer = asks("leaked_manifests", ask_about(orders, before, run_of("a")))

    assert answer.verdict is Verdict.RULED_OUT
    assert told(answer) == [(3, LeakStanding.PENDING, 1, 10)]
    assert (only(answer).position_from, only(answer).position_until) == (20, 29)
    assert "1 Flink manifest may still be committed (checkpoint 3 of run aaaaaa)" in answer.headline


def test_a_manifest_that_waits_for_too_long_is_trouble(orders: OrdersTable, asks: Asks) -> None:
    """Checkpoints that complete while nothing is committed: the run is alive, and its rows do not come."""
    before = orders.commits("a", 1, range(10))
    orders.leaves_manifest("a", 2, {"two.parquet": range(10, 30)}, age=timedelta(minutes=3))

    answer = asks("leaked_manifests", ask_about(orders, before, run_of("a")))

    assert answer.verdict is Verdict.CONFIRMED
    assert only(answer).standing is LeakStanding.PENDING
    assert only(answer).is_overdue
    assert answer.headline == "20 rows of checkpoint 2 of run aaaaaa have waited for their commit for too long."


def test_a_long_checkpoint_interval_lengthens_the_patience(orders: OrdersTable, asks: Asks) -> None:
    """A job that checkpoints every ten minutes may leave a manifest for half an hour."""
    before = orders.commits("a", 1, range(10))
    orders.leaves_manifest("a", 2, {"two.parquet": range(10, 30)}, age=timedelta(minutes=30))
    slow = run_of("a").model_copy(update={"checkpoint_interval_ms": 600_000})

    answer = asks("leaked_manifests", ask_about(orders, before, slow))

    assert answer.verdict is Verdict.RULED_OUT


@pytest.mark.parametrize(
    ("newest", "verdict"),
    [
        (done(2, status="IN_PROGRESS", ago_s=900), Verdict.RULED_OUT),
        (done(2, ago_s=900).model_copy(update={"took_ms": 890_000}), Verdict.RULED_OUT),
        (done(2, ago_s=900), Verdict.CONFIRMED),
        (done(2, ago_s=900, status="FAILED"), Verdict.CONFIRMED),
    ],
    ids=["in progress", "completed just now", "completed long ago", "failed"],
)
def test_nothing_waits_before_its_checkpoint_completes(
    orders: OrdersTable, asks: Asks, newest: CompletedCheckpoint, verdict: Verdict
) -> None:
    """It is written at the barrier; with much state the checkpoint goes on for minutes, and is committed after it."""
    before = orders.commits("a", 1, range(10))
    orders.leaves_manifest("a", 2, {"two.parquet": range(10, 30)}, age=timedelta(minutes=14))

    answer = asks("leaked_manifests", ask_about(orders, before, run_of("a", newest)))

    assert answer.verdict is verdict


def test_a_manifest_may_wait_while_the_next_checkpoint_takes_as_long_as_the_last(
    orders: OrdersTable, asks: Asks
) -> None:
    """What a savepoint wrote is committed with the next checkpoint."""
    before = orders.commits("a", 1, range(10))
    orders.leaves_manifest("a", 2, {"two.parquet": range(10, 30)}, age=timedelta(minutes=14))
    slow = done(1, ago_s=3600).model_copy(update={"took_ms": 890_000})

    answer = asks("leaked_manifests", ask_about(orders, before, run_of("a", slow)))

    assert answer.verdict is Verdict.RULED_OUT


def test_what_goes_on_from_a_drained_v1_job_is_dropped(orders: OrdersTable, asks: Asks) -> None:
    """Its sink measures by the old run, which committed Long.MAX_VALUE: no checkpoint is ever above that."""
    orders.commits("a", 1, range(10))
    before = orders.commits("a", DRAINED, range(10, 20))
    orders.leaves_manifest("b", 3, {"three.parquet": range(20, 30)})
    chain = Vertex(
        vertex_id=OperatorId("aa" * 16),
        name="Source: orders -> IcebergStreamWriter -> IcebergFilesCommitter",
        parallelism=1,
        status="RUNNING",
        attempt=0,
    )
    v1 = restored_from("b", "file:/state/savepoint-1").model_copy(update={"vertices": (chain,)})
    v2 = v1.model_copy(update={"vertices": ()})

    dropped, waiting = (asks("leaked_manifests", ask_about(orders, before, run)) for run in (v1, v2))

    assert told(dropped) == [(3, LeakStanding.DROPPED, 1, 10)]
    assert told(waiting) == [(3, LeakStanding.PENDING, 1, 10)]

    assert v1.restored is not None
    over = {"state": "CANCELED", "restored": v1.restored.model_copy(update={"at": datetime.now(UTC)})}
    orders.commits("c", 1, range(30, 40))
    replaced = asks("leaked_manifests", ask_about(orders, before, v1.model_copy(update=over)))

    assert told(replaced) == [(3, LeakStanding.UNTOLD, 1, 10)]
    assert "goes on from a drained job" in finding_of(replaced).manifests[0].reason


def test_checkpoints_below_what_the_table_has_are_dropped_for_good(orders: OrdersTable, asks: Asks) -> None:
    """A stateless restart under the same job id: the sink takes its checkpoints for committed."""
    before = orders.commits("a", 5, range(10))
    orders.leaves_manifest("a", 1, {"one.parquet": range(10, 30)})
    orders.leaves_manifest("a", 2, {"two.parquet": range(30, 35), "three.parquet": range(35, 37)})

    answer = asks("leaked_manifests", ask_about(orders, before, run_of("a")))

    assert answer.verdict is Verdict.CONFIRMED
    assert told(answer) == [(1, LeakStanding.DROPPED, 1, 20), (2, LeakStanding.DROPPED, 2, 7)]
    assert (finding_of(answer).lost_files, finding_of(answer).lost_rows) == (3, 27)
    assert answer.headline.startswith("27 rows of checkpoints 1 to 2 of run aaaaaa lie in 3 files that no commit took")


def test_the_v1_sink_keeps_what_it_skips_in_memory(orders: OrdersTable, asks: Asks) -> None:
    """A V1 job restored below its table commits late and at once; until then nothing is lost."""
    before = orders.commits("a", 5, range(10))
    orders.leaves_manifest("a", 4, {"four.parquet": range(10, 30)})
    committer = Vertex(vertex_id=OPERATOR, name="IcebergFilesCommitter", parallelism=1, status="RUNNING", attempt=0)
    v1 = run_of("a").model_copy(update={"vertices": (committer,)})

    answer = asks("leaked_manifests", ask_about(orders, before, v1))

    assert only(answer).standing is LeakStanding.PENDING
    assert "keeps checkpoint 4 in memory until an id above 5" in only(answer).reason


def test_what_nothing_remembers_is_lost_state(orders: OrdersTable, asks: Asks) -> None:
    """The run is over, the next one began behind its rows, and no restore point lists the manifest."""
    before = orders.commits("a", 2, range(10))
    orders.leaves_manifest("a", 3, {"three.parquet": range(10, 30)})

    answer = asks("leaked_manifests", ask_about(orders, before, ended("a"), behind("b", "a", 3)))

    assert answer.verdict is Verdict.CONFIRMED
    assert told(answer) == [(3, LeakStanding.LOST_STATE, 1, 20)]
    assert "ended as CANCELED, and no restore point lists it" in only(answer).reason


def test_deletes_that_nothing_remembers_are_lost_as_rows_are(orders: OrdersTable, asks: Asks) -> None:
    """A checkpoint of deletes alone brings no row, and is needed all the same."""
    before = orders.commits("a", 2, range(10))
    leaves_deletes(orders, "a", 3, range(4))

    answer = asks("leaked_manifests", ask_about(orders, before, ended("a"), behind("b", "a", 3)))

    assert told(answer) == [(3, LeakStanding.LOST_STATE, 1, 0)]
    assert (only(answer).deletes, finding_of(answer).lost_deletes) == (4, 4)
    assert "0 rows and 4 deletes of checkpoint 3" in answer.headline


def test_a_savepoint_that_lists_it_will_bring_it(orders: OrdersTable, asks: Asks) -> None:
    """Files that a restore would commit are not lost, and must not be appended by hand."""
    before = orders.commits("a", 2, range(10))
    orders.leaves_manifest("a", 3, {"three.parquet": range(10, 30)})

    answer = asks("leaked_manifests", ask_about(orders, before, ended("a"), checkpoints=[owing("a", 3)]))

    assert answer.verdict is Verdict.RULED_OUT
    assert only(answer).standing is LeakStanding.PENDING
    assert "a restore from savepoint-1 would commit it" in only(answer).reason


def test_a_restore_that_did_not_commit_it_came_without_state(orders: OrdersTable, asks: Asks) -> None:
    """The operator's uid was changed: the new committer does not know what the old one owed."""
    before = orders.commits("a", 2, range(10))
    orders.leaves_manifest("a", 3, {"three.parquet": range(10, 30)})
    successor = restored_from("b", "file:/state/savepoint-1")

    answer = asks("leaked_manifests", ask_about(orders, before, ended("a"), successor, checkpoints=[owing("a", 3)]))

    assert only(answer).standing is LeakStanding.LOST_STATE
    assert "run bbbbbb was restored from the point that listed this manifest" in only(answer).reason


def test_another_operator_of_the_same_run_has_its_own_count(orders: OrdersTable, asks: Asks) -> None:
    """One job may write one table by two sinks: the ids of one say nothing of the other."""
    before = orders.commits("a", 5, range(10))
    other = OperatorId("f" * 32)
    orders.leaves_manifest("a", 3, {"three.parquet": range(10, 20)}, operator=other)

    answer = asks("leaked_manifests", ask_about(orders, before, run_of("a")))

    assert only(answer).standing is LeakStanding.PENDING
