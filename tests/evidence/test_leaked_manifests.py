"""Files that Flink wrote and no commit took along: found, read again, left over, or of another branch.

What is asked about manifests that lie on storage, and what was answered.
"""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bot.domain.contract import TableContract
from bot.domain.evidence import Answer, Ask, Verdict
from bot.domain.findings import LeakedManifest, LeakedManifestsFinding, LeakStanding
from bot.domain.flink import CheckpointKind, CompletedCheckpoint, JobRun, Restored, StoredCheckpoint, Vertex
from bot.domain.ids import DRAINED, CheckpointId, OperatorId, SnapshotId, short
from bot.domain.ledger import FileWriter, SourceRange
from bot.domain.looked import NotSeen
from tests.evidence.conftest import Asks
from tests.evidence.flink_words import done
from tests.evidence.test_ledger import completed, run_of
from tests.tables import CONTRACT, OPERATOR, OrdersTable, job, of_flink, rows, unseen
from tests.upserts import leaves_deletes

NOON = datetime(2026, 11, 3, 12, tzinfo=UTC)


def finding_of(answer: Answer) -> LeakedManifestsFinding:
    """The finding that the answer carries."""
    assert isinstance(answer.finding, LeakedManifestsFinding)
    return answer.finding


def told(answer: Answer) -> list[tuple[int, LeakStanding, int | None, int | None]]:
    """Checkpoint, standing, files and rows of each manifest."""
    return [(m.checkpoint_id, m.standing, m.files, m.rows) for m in finding_of(answer).manifests]


def only(answer: Answer) -> LeakedManifest:
    """The one manifest."""
    (found,) = finding_of(answer).manifests
    return found


def ask_about(
    orders: OrdersTable, since: SnapshotId | None, *runs: JobRun, checkpoints: Iterable[StoredCheckpoint] | NotSeen = ()
) -> Ask:
    """What is asked, with the manifests that lie on storage."""
    return orders.ask(since, jobs=runs, checkpoints=checkpoints, flink_manifests=orders.flink_manifests())


def ended(name: str) -> JobRun:
    """A run that is over."""
    return run_of(name).model_copy(update={"state": "CANCELED"})


def later(name: str) -> JobRun:
    """A run that was started after everything that the table has."""
    return run_of(name).model_copy(update={"started_at": datetime.now(UTC) + timedelta(hours=1)})


def behind(name: str, of: str, checkpoint: int) -> JobRun:
    """A later run that was restored from that checkpoint of another, by a sink that does not know what it owed."""
    run = later(name)
    path = f"file:/state/{job(of)}/chk-{checkpoint}"
    point = Restored(checkpoint_id=CheckpointId(checkpoint), at=run.started_at, is_savepoint=False, path=path)
    return run.model_copy(update={"restored": point, "restored_count": 1})


def restored_from(name: str, path: str) -> JobRun:
    """A settled run that came up from a restore point."""
    restored = Restored(checkpoint_id=CheckpointId(3), at=NOON, is_savepoint=True, path=path)
    return run_of(name).model_copy(update={"restored": restored})


def owing(name: str, checkpoint: int) -> StoredCheckpoint:
    """A savepoint whose committer state lists the manifest of its own checkpoint."""
    return StoredCheckpoint(
        path="file:/state/savepoint-1",
        kind=CheckpointKind.STOP_SAVEPOINT,
        checkpoint_id=CheckpointId(checkpoint),
        job_id=job(name),
        written_at=NOON,
        pending_manifests=(f"{job(name)}-{OPERATOR}-00000-0-{checkpoint}-00001.avro",),
        is_committer_read=True,
    )


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


OF_AUDIT = {"flink.operator-id": "0" * 31 + "a"}
NINE = {"nine.parquet": range(90, 95)}


@pytest.fixture
def audited(orders: OrdersTable) -> OrdersTable:
    """Run a writes main; run d has committed checkpoint 8 to branch audit, and is over."""
    orders.branches_off("audit", orders.commits("a", 1, range(10)))
    orders.appends(rows(range(80, 90)), of_flink("d", 8, OF_AUDIT), branch="audit")
    return orders


def commits_nine(orders: OrdersTable, run: str = "d") -> None:
    """The branch's next checkpoint, whose manifest stays, since its deletion failed."""
    orders.leaves_manifest(run, 9, NINE, operator=OperatorId(OF_AUDIT["flink.operator-id"]))
    orders.names_again(run, 9, [*NINE], OF_AUDIT, branch="audit")


@pytest.mark.parametrize("is_tag", [False, True])
def test_what_stands_on_another_branch_was_left_over(audited: OrdersTable, asks: Asks, is_tag: bool) -> None:
    """Main names none of it, and a run that came next without state has lost nothing of it; also where only a tag keeps
    what the branch had."""
    commits_nine(audited)
    if is_tag:
        audited.only_tagged("audit", "kept-audit")

    answer = asks("leaked_manifests", ask_about(audited, None, ended("d"), later("b")))

    assert answer.verdict is Verdict.RULED_OUT
    assert told(answer) == [(9, LeakStanding.LEFT_OVER, 1, 5)]
    where = "kept-audit" if is_tag else "audit"
    assert only(answer).reason == f"All its files are on {where}, which its run writes: only its deletion failed."


@pytest.mark.parametrize("run", ["d", "e"], ids=["the run itself", "a run that goes on with its sink"])
def test_what_a_branchs_run_never_committed_is_not_lost_from_main(audited: OrdersTable, asks: Asks, run: str) -> None:
    """Whether its rows were read again is not told; main lacks nothing either way."""
    audited.leaves_manifest(run, 9, NINE, operator=OperatorId(OF_AUDIT["flink.operator-id"]))
    at = audited.state().ref("audit")

    answer = asks("leaked_manifests", ask_about(audited, None, ended(run), later("b")))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert finding_of(answer).lost_rows == 0
    assert only(answer).standing is LeakStanding.UNTOLD
    assert f"commits to audit, up to checkpoint 8 ({short(at)}): what it wrote belongs there" in only(answer).reason


def test_what_is_lost_from_main_is_lost_beside_a_branch_of_another_job(audited: OrdersTable, asks: Asks) -> None:
    """The branch's job has a sink of its own."""
    audited.leaves_manifest("a", 2, {"two.parquet": range(10, 20)})

    answer = asks("leaked_manifests", ask_about(audited, None, ended("a"), behind("b", "a", 2)))

    assert answer.verdict is Verdict.CONFIRMED
    assert told(answer) == [(2, LeakStanding.LOST_STATE, 1, 10)]


@pytest.mark.parametrize("kept_by", ["nothing", "tag", "branch"])
def test_a_run_all_of_whose_commits_were_rolled_back_wrote_main(orders: OrdersTable, asks: Asks, kept_by: str) -> None:
    """Whatever keeps them since: main had them."""
    good = orders.commits("a", 1, range(10))
    lost = orders.commits("d", 8, range(80, 90))
    if kept_by == "tag":
        orders.tags("wl-1-left-0001", lost)
    if kept_by == "branch":
        orders.branches_off("before", lost)
    orders.rolls_back_to(good)
    orders.leaves_manifest("d", 9, NINE)

    answer = asks("leaked_manifests", ask_about(orders, None, ended("d"), behind("b", "d", 9)))

    assert answer.verdict is Verdict.CONFIRMED
    assert told(answer) == [(9, LeakStanding.LOST_STATE, 1, 5)]


def answered(orders: OrdersTable, asks: Asks, *successor: JobRun) -> Answer:
    """Run a leaves checkpoint 3 uncommitted; run b goes on with 1 and 2."""
    before = orders.commits("a", 2, range(20))
    orders.leaves_manifest("a", 3, {"three.parquet": range(20, 30)})
    orders.commits("b", 1, range(30, 40))
    orders.commits("b", 2, range(40, 50))
    return asks("leaked_manifests", ask_about(orders, before, ended("a"), *successor))


def went_back(path: str) -> JobRun:
    """Run b, whose newest restore, of a checkpoint 2, came after everything that the table has."""
    run = later("b")
    at = run.started_at + timedelta(seconds=1)
    point = Restored(checkpoint_id=CheckpointId(2), at=at, is_savepoint=False, path=path)
    return run.model_copy(update={"restored": point, "restored_count": 1, "completed_count": 20})


def begins(orders: OrdersTable, name: str) -> JobRun:
    """A run that was started without state when the one manifest was written."""
    (leak,) = orders.flink_manifests()
    return run_of(name).model_copy(update={"started_at": leak.written_at})


def begun_with_nothing(
    orders: OrdersTable, asks: Asks, *brought: range, contract: TableContract | None = None, **changes: object
) -> Answer:
    """Run a leaves 20 to 29 in checkpoint 3; then run b begins with nothing, and brings these positions."""
    before = orders.commits("a", 2, range(20))
    orders.leaves_manifest("a", 3, {"three.parquet": range(20, 30)})
    run = begins(orders, "b").model_copy(update=changes)
    for checkpoint, positions in enumerate(brought, 1):
        orders.commits("b", checkpoint, positions)
    ask = ask_about(orders, before, ended("a"), run)
    return asks("leaked_manifests", ask if contract is None else ask.model_copy(update={"contract": contract}))


@pytest.mark.parametrize(
    "changes", [{}, {"state": "CANCELED", "completed_count": 2}], ids=["running", "over, checkpoints told"]
)
def test_what_a_run_without_state_began_behind_is_lost(
    orders: OrdersTable, asks: Asks, changes: dict[str, object]
) -> None:
    """It began at the latest, or where its offsets said: what it brought first lies behind the rows."""
    answer = begun_with_nothing(orders, asks, range(30, 40), range(40, 50), **changes)

    assert answer.verdict is Verdict.CONFIRMED
    assert told(answer) == [(3, LeakStanding.LOST_STATE, 1, 10)]
    assert finding_of(answer).lost_rows == 10
    assert "restored from nothing, and the first rows that it brought lie behind these" in only(answer).reason


@pytest.mark.parametrize(
    "brought",
    [(range(30),), (range(10), range(10, 20)), (range(29, 40),), (range(30, 40), range(25, 30)), ()],
    ids=["again", "before them yet", "one of them", "a second partition", "nothing yet"],
)
def test_what_a_run_without_state_may_have_read_again_is_not_called_lost(
    orders: OrdersTable, asks: Asks, brought: tuple[range, ...]
) -> None:
    """It began at the earliest, or at a time: it has brought the rows, or may come to them yet."""
    answer = begun_with_nothing(orders, asks, *brought)

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert told(answer) == [(3, LeakStanding.UNTOLD, 1, 10)]
    assert "restored from nothing: where its source began, and whether it has read these rows" in only(answer).reason


@pytest.mark.parametrize(
    "changes",
    [{"position": None}, {"position_partition": "source_partition"}, {"redacted": ("source_position",)}],
    ids=["no position", "several partitions", "hidden"],
)
def test_without_positions_that_tell_nobody_knows_where_a_run_without_state_began(
    orders: OrdersTable, asks: Asks, changes: dict[str, object]
) -> None:
    """As where the contract names several source partitions."""
    answer = begun_with_nothing(orders, asks, range(30, 40), contract=CONTRACT.model_copy(update=changes))

    assert told(answer) == [(3, LeakStanding.UNTOLD, 1, 10)]


def test_a_manifest_tells_what_it_holds_of_each_source_partition_and_who_wrote_it(
    orders: OrdersTable, asks: Asks
) -> None:
    """Exactly, or not at all: of a file of two partitions, and of a hidden position, nothing is told."""
    orders.commits("a", 2, range(20))
    name = "0000{}-0-23ffc85e-5a5f-4f4c-9b43-6a1f2b0c7d11-0000{}.parquet"
    two = pa.concat_tables([rows(range(40, 45), partition=0), rows(range(7), partition=1)])
    for file, table in {name.format(1, 4): rows([30, 32], partition=1), name.format(0, 7): two}.items():
        pq.write_table(table, orders.data_folder / file)
    orders.leaves_manifest("a", 3, {name.format(0, 5): range(20, 30), name.format(1, 4): (), "other.parquet": [30]})
    orders.leaves_manifest("a", 4, {name.format(0, 7): ()})

    def contents(contract: TableContract) -> dict[int, tuple[object, object]]:
        finding = finding_of(
            asks("leaked_manifests", ask_about(orders, None, ended("a")).model_copy(update={"contract": contract}))
        )
        assert LeakedManifestsFinding.model_validate_json(finding.model_dump_json()) == finding
        return {each.checkpoint_id: (each.ranges, each.writers) for each in finding.manifests}

    by_partition = CONTRACT.model_copy(update={"position_partition": "source_partition"})
    told_of = contents(by_partition)
    hidden = contents(by_partition.model_copy(update={"redacted": ("source_position",)}))

    writer = FileWriter(subtask=0, attempt=0, id="23ffc85e-5a5f-4f4c-9b43-6a1f2b0c7d11", first=7, last=7)
    assert told_of[3] == (
        (
            SourceRange(partition="0", low=20, high=30, rows=11),
            SourceRange(partition="1", low=30, high=32, rows=2),
        ),
        None,
    )
    assert told_of[4] == (None, (writer,))
    assert contents(CONTRACT)[4] == ((SourceRange(partition=None, low=0, high=44, rows=12),), (writer,))
    assert {ranges for ranges, _ in hidden.values()} == {None}


@pytest.mark.parametrize("before_it", ["rolled back", "never committed", "under its id before", "expired"])
def test_where_something_may_have_come_before_its_first_commit_nobody_knows_where_it_began(
    orders: OrdersTable, asks: Asks, before_it: str
) -> None:
    """Run b may have read the rows with that."""
    good = orders.commits("b" if before_it == "under its id before" else "a", 2, range(20))
    orders.leaves_manifest("a", 3, {"three.parquet": range(20, 30)})
    run = begins(orders, "b")
    if before_it == "rolled back":
        orders.commits("b", 1, range(15, 30))
        orders.rolls_back_to(good)
    elif before_it == "never committed":
        orders.leaves_manifest("b", 1, {"one.parquet": range(15, 30)})
    first = orders.commits("b", 2, range(30, 40))
    ask = ask_about(orders, None, ended("a"), run)
    if before_it == "expired":
        orders.commits("b", 3, range(40, 50))
        orders.expires(good, first)
        ask = ask_about(orders, None, ended("a"), run)

    answer = asks("leaked_manifests", ask)

    of_a = [each.standing for each in finding_of(answer).manifests if each.job_id == job("a")]
    assert of_a == [LeakStanding.UNTOLD]


@pytest.mark.parametrize("successor", [(), (ended("b"),)], ids=["forgotten", "only its end is known"])
def test_nothing_is_ruled_out_where_the_start_is_not_known(
    orders: OrdersTable, asks: Asks, successor: tuple[JobRun, ...]
) -> None:
    """Low ids alone do not tell whether the rows were read again."""
    answer = answered(orders, asks, *successor)

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert told(answer) == [(3, LeakStanding.UNTOLD, 1, 10)]
    assert answer.headline == (
        "Nobody can tell whether the rows of checkpoint 3 of run aaaaaa were read again, or are lost."
    )


@pytest.mark.parametrize("is_listed", [True, False], ids=["by its history", "by the folder"])
def test_a_failover_to_its_own_checkpoint_tells_nothing(orders: OrdersTable, asks: Asks, is_listed: bool) -> None:
    """Flink shows the newest restore only: where the run began is not known any more."""
    path = "file:/state/x/chk-2" if is_listed else f"file:/state/{job('b')}/chk-2"
    own = went_back(path)
    listed = (completed(2, CheckpointKind.CHECKPOINT),) if is_listed else ()

    answer = answered(orders, asks, own.model_copy(update={"checkpoints": listed}))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert only(answer).standing is LeakStanding.UNTOLD


def test_a_restore_from_below_it_is_given_up(orders: OrdersTable, asks: Asks) -> None:
    """Flink shows that the run came from a point of the old one, below the manifest: its rows were read again."""
    answer = answered(orders, asks, went_back(f"file:/state/{job('a')}/chk-2"))

    assert answer.verdict is Verdict.RULED_OUT
    assert only(answer).standing is LeakStanding.GIVEN_UP


@pytest.mark.parametrize("successor", [(), (ended("b"),), (went_back(f"file:/state/{job('b')}/chk-9"),)])
def test_higher_ids_do_not_tell_where_the_next_run_began(
    orders: OrdersTable, asks: Asks, successor: tuple[JobRun, ...]
) -> None:
    """Run b may have come from checkpoint 2 and lost an attempt at 3: only its start would tell."""
    before = orders.commits("a", 2, range(20))
    orders.leaves_manifest("a", 3, {"three.parquet": range(20, 30)})
    orders.commits("b", 4, range(30, 40))

    answer = asks("leaked_manifests", ask_about(orders, before, ended("a"), *successor))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert told(answer) == [(3, LeakStanding.UNTOLD, 1, 10)]


def test_files_that_are_in_the_table_were_left_over(orders: OrdersTable, asks: Asks) -> None:
    """Only the deletion of the manifest failed; also after a compaction has replaced the files."""
    before = orders.commits("a", 1, range(10))
    orders.commits_files("a", 2, {"two.parquet": range(10, 20)})
    orders.leaves_manifest("a", 2, {"two.parquet": range(10, 20)})
    orders.deletes("order_id >= 10")

    answer = asks("leaked_manifests", ask_about(orders, before, run_of("a")))

    assert answer.verdict is Verdict.RULED_OUT
    assert told(answer) == [(2, LeakStanding.LEFT_OVER, 1, 10)]


def test_files_that_somebody_appended_by_hand_are_left_over(orders: OrdersTable, asks: Asks) -> None:
    """Once dropped files were added to the table, the manifest is no trouble any more, whoever added them."""
    before = orders.commits("a", 5, range(10))
    orders.leaves_manifest("a", 3, {"three.parquet": range(10, 20)})
    orders.names_again("c", 1, ["three.parquet"])

    answer = asks("leaked_manifests", ask_about(orders, before, run_of("a")))

    assert told(answer) == [(3, LeakStanding.LEFT_OVER, 1, 10)]


def test_leaked_files_that_are_gone_are_counted(orders: OrdersTable, asks: Asks) -> None:
    """What a clean-up has deleted cannot be appended any more."""
    before = orders.commits("a", 5, range(10))
    orders.leaves_manifest("a", 3, {"three.parquet": range(10, 20), "also.parquet": range(20, 25)})
    (orders.data_folder / "three.parquet").unlink()

    answer = asks("leaked_manifests", ask_about(orders, before, run_of("a")))

    assert only(answer).missing_files == 1
    assert "1 of their files is gone from storage" in answer.headline


def test_a_manifest_that_cannot_be_read_is_said_and_not_counted(orders: OrdersTable, asks: Asks) -> None:
    """Its standing is told by its name; its rows are not known."""
    before = orders.commits("a", 5, range(10))
    path = orders.leaves_manifest("a", 3, {"three.parquet": range(10, 20)})
    path.write_bytes(b"no avro")

    answer = asks("leaked_manifests", ask_about(orders, before, run_of("a")))

    assert told(answer) == [(3, LeakStanding.DROPPED, None, None)]
    assert answer.headline == (
        "An unknown number of rows (1 manifest cannot be read) of checkpoint 3 of run aaaaaa were taken along by no "
        "commit, and no commit will."
    )
    assert "rows" not in {measure.unit for measure in answer.measures}


def test_a_manifest_that_vanishes_meanwhile_was_committed(orders: OrdersTable, asks: Asks) -> None:
    """A healthy job deletes its manifest between our two looks."""
    before = orders.commits("a", 1, range(10))
    path = orders.leaves_manifest("a", 2, {"two.parquet": range(10, 20)})
    ask = ask_about(orders, before, run_of("a"))
    path.unlink()

    answer = asks("leaked_manifests", ask)

    assert answer.verdict is Verdict.RULED_OUT
    assert finding_of(answer).manifests == ()


def test_without_flink_a_pending_manifest_is_not_judged(orders: OrdersTable, asks: Asks) -> None:
    """Whether it will be committed depends on whether its run is alive."""
    before = orders.commits("a", 1, range(10))
    orders.leaves_manifest("a", 2, {"two.parquet": range(10, 20)})

    answer = asks(
        "leaked_manifests", orders.ask(before, jobs=unseen("Flink"), flink_manifests=orders.flink_manifests())
    )

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert "Flink was not seen" in answer.headline


def test_a_folder_that_could_not_be_listed_is_inconclusive(orders: OrdersTable, asks: Asks) -> None:
    """Nothing is concluded from what was not seen."""
    before = orders.commits("a", 1, range(10))

    answer = asks("leaked_manifests", orders.ask(before, flink_manifests=unseen("the metadata folder")))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert answer.finding is None
