"""Files that Flink wrote and no commit took along: found, read again, left over, or of another branch.

What manifests list is read on Spark. Where they stand and what is said of it is judged without it, each holding one
file of ten rows.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyiceberg.table import StaticTable

from bot.observation.contract import TableContract
from bot.observation.evidence import Answer, Ask, Verdict
from bot.observation.findings import LeakedManifest, LeakedManifestsFinding, LeakStanding
from bot.observation.flink import CheckpointKind, JobRun, Restored, StoredCheckpoint, Vertex
from bot.observation.ids import DRAINED, CheckpointId, OperatorId, SnapshotId, short
from bot.observation.ledger import FileWriter, SourceRange
from bot.observation.looked import NotSeen
from bot.observation.table import Snapshot, TableState
from spark_tasks import leaked_manifests
from spark_tasks._support.leaked_files import Listed
from spark_tasks._support.manifest_entries import NO_BOUNDS, Bounds, Entry
from tests.evidence.conftest import Asks
from tests.evidence.empty_tales import answer_of
from tests.evidence.flink_words import done
from tests.evidence.histories import table_of, write
from tests.evidence.test_ledger import completed, run_of
from tests.tables import CONTRACT, OPERATOR, OrdersTable, job, of_flink, rows, unseen
from tests.upserts import leaves_deletes

NOON = datetime(2026, 11, 3, 12, tzinfo=UTC)
TEN = {"ten.parquet": range(20, 30)}


def told(answer: Answer) -> list[tuple[int, LeakStanding, int | None, int | None]]:
    """Checkpoint, standing, files and rows of each manifest."""
    return [(m.checkpoint_id, m.standing, m.files, m.rows) for m in answer.finding.manifests]


def only(answer: Answer) -> LeakedManifest:
    (found,) = answer.finding.manifests
    return found


def ask_about(
    orders: OrdersTable,
    since: SnapshotId | None,
    *runs: JobRun,
    checkpoints: Iterable[StoredCheckpoint] | NotSeen = (),
    contract: TableContract = CONTRACT,
) -> Ask:
    """What is asked, with the manifests that lie on storage."""
    manifests = orders.flink_manifests()
    return orders.ask(since, jobs=runs, checkpoints=checkpoints, flink_manifests=manifests, contract=contract)


@pytest.fixture
def listed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each manifest lists one file with positions 20 to 29, which is on storage, and not in the table."""
    low, high = (position.to_bytes(8, "little") for position in (20, 29))
    entry = Entry(0, 1, 0, "file", 10, 0, (Bounds(low, high, 0), NO_BOUNDS, NO_BOUNDS))
    file = Listed(entry, is_in_table=False, is_missing=False)
    monkeypatch.setattr(
        leaked_manifests, "files_listed", lambda _spark, _table, _contract, leaks: {m.path: (file,) for m in leaks}
    )
    monkeypatch.setattr(leaked_manifests, "files_by_commit", _brought)


def _brought(
    _spark: None, table: TableState, contract: TableContract, commits: Sequence[Snapshot]
) -> dict[SnapshotId, Any]:
    """What commits brought first, as PyIceberg reads it."""
    stored = StaticTable.from_metadata(table.metadata_location)
    field = next(each.field_id for each in table.columns if each.name == contract.position)
    lows = dict[SnapshotId, Any]()
    for commit in commits:
        [manifest] = (
            m
            for m in stored.snapshot_by_id(commit.snapshot_id).manifests(stored.io)
            if m.added_snapshot_id == commit.snapshot_id
        )
        [entry] = manifest.fetch_manifest_entry(stored.io)
        lows[commit.snapshot_id] = SimpleNamespace(
            position_from=int.from_bytes(entry.data_file.lower_bounds[field], "little")
        )
    return lows


def judged(ask: Ask) -> Answer:
    """The task's answer, without Spark."""
    return answer_of("leaked_manifests", ask)


def over(name: str) -> JobRun:
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


def test_what_manifests_list_is_read(orders: OrdersTable, asks: Asks) -> None:
    """Files that the table has were left over, whoever added them, also where a compaction has replaced them since; one
    that is gone from storage cannot be appended any more; one that vanishes meanwhile was committed."""
    before = orders.commits("a", 8, range(10))
    orders.leaves_manifest("a", 1, {"one.parquet": range(10, 30)})
    orders.leaves_manifest("a", 2, {"two.parquet": range(30, 35), "three.parquet": range(35, 37)})
    orders.leaves_manifest("a", 3, {"gone.parquet": range(10, 20), "there.parquet": range(20, 25)})
    orders.leaves_manifest("a", 4, {"unread.parquet": range(10, 20)}).write_bytes(b"no avro")
    orders.leaves_manifest("a", 5, {"by-hand.parquet": range(40, 50)})
    orders.names_again("a", 8, ["by-hand.parquet"])
    orders.commits_files("a", 9, {"nine.parquet": range(50, 60)})
    orders.leaves_manifest("a", 9, {"nine.parquet": range(50, 60)})
    orders.deletes("order_id >= 50")
    orders.leaves_manifest("a", 10, {"ten.parquet": range(20, 30)})
    vanishes = orders.leaves_manifest("a", 11, {"eleven.parquet": range(60, 70)})
    leaves_deletes(orders, "a", 6, range(4))
    (orders.data_folder / "gone.parquet").unlink()
    ask = ask_about(orders, before, run_of("a"))
    vanishes.unlink()

    answer = asks("leaked_manifests", ask)

    assert sorted(told(answer)) == [
        (1, LeakStanding.DROPPED, 1, 20),
        (2, LeakStanding.DROPPED, 2, 7),
        (3, LeakStanding.DROPPED, 2, 15),
        (4, LeakStanding.DROPPED, None, None),
        (5, LeakStanding.LEFT_OVER, 1, 10),
        (6, LeakStanding.DROPPED, 1, 0),
        (9, LeakStanding.LEFT_OVER, 1, 10),
        (10, LeakStanding.PENDING, 1, 10),
    ]
    found = {each.checkpoint_id: each for each in answer.finding.manifests}
    assert (found[10].position_from, found[10].position_until) == (20, 29)
    assert ([each for each in found if found[each].missing_files], found[6].deletes) == ([3], 4)
    lost = answer.finding
    assert (lost.lost_files, lost.lost_rows, lost.lost_deletes) == (6, 42, 4)
    assert answer.headline == (
        "At least 42 rows and 4 deletes (1 manifest cannot be read) of checkpoints 1 to 6 of run aaaaaa lie in 6 files "
        "that no commit took along, and no commit will, and 1 of their files is gone from storage."
    )


def test_a_manifest_that_cannot_be_read_is_said_and_not_counted(
    orders: OrdersTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its standing is told by its name; its rows are not known."""
    before = orders.commits("a", 5, range(10))
    orders.leaves_manifest("a", 3, TEN)
    monkeypatch.setattr(
        leaked_manifests, "files_listed", lambda _spark, _table, _contract, leaks: {m.path: None for m in leaks}
    )

    answer = judged(ask_about(orders, before, run_of("a")))

    assert answer.headline == (
        "An unknown number of rows (1 manifest cannot be read) of checkpoint 3 of run aaaaaa were taken along by no "
        "commit, and no commit will."
    )
    assert "rows" not in {measure.unit for measure in answer.measures}


def test_a_clean_folder_is_ruled_out_and_one_that_could_not_be_listed_is_not(orders: OrdersTable) -> None:
    """Nothing is concluded from what was not seen."""
    before, _ = write(orders, "a1[0:10] | a2[10:20]")

    clean = judged(ask_about(orders, before, run_of("a")))
    unlisted = judged(orders.ask(before, flink_manifests=unseen("the metadata folder")))

    assert clean.verdict is Verdict.RULED_OUT
    assert clean.finding == LeakedManifestsFinding(manifests=(), lost_files=0, lost_rows=0)
    assert (unlisted.verdict, unlisted.finding) == (Verdict.INCONCLUSIVE, None)


SLOW = run_of("a").model_copy(update={"checkpoint_interval_ms": 600_000})


@pytest.mark.parametrize(
    ("minutes", "flink", "is_overdue"),
    [
        (0, lambda: run_of("a"), False),
        (3, lambda: run_of("a"), True),
        (30, lambda: SLOW, False),
        (14, lambda: run_of("a", done(2, status="IN_PROGRESS", ago_s=900)), False),
        (14, lambda: run_of("a", done(2, ago_s=900).model_copy(update={"took_ms": 890_000})), False),
        (14, lambda: run_of("a", done(2, ago_s=900)), True),
        (14, lambda: run_of("a", done(2, ago_s=900, status="FAILED")), True),
        (14, lambda: run_of("a", done(1, ago_s=3600).model_copy(update={"took_ms": 890_000})), False),
    ],
    ids=[
        "about to be committed", "for too long", "a checkpoint each ten minutes", "its checkpoint is in progress",
        "completed just now", "completed long ago", "failed", "a savepoint's, while the next takes as long as the last",
    ],
)  # fmt: skip
@pytest.mark.usefixtures("listed")
def test_a_manifest_that_waits_for_too_long_is_trouble(
    orders: OrdersTable, minutes: int, flink: Any, is_overdue: bool
) -> None:
    """It is written at the barrier and committed after its checkpoint, so it lies there for a moment. Checkpoints that
    complete while nothing is committed: the run is alive, and its rows do not come."""
    before = orders.commits("a", 1, range(10))
    orders.leaves_manifest("a", 2, TEN, age=timedelta(minutes=minutes))

    answer = judged(ask_about(orders, before, flink()))

    assert (only(answer).standing, only(answer).is_overdue) == (LeakStanding.PENDING, is_overdue)
    assert answer.verdict is (Verdict.CONFIRMED if is_overdue else Verdict.RULED_OUT)
    assert answer.headline == (
        "10 rows of checkpoint 2 of run aaaaaa have waited for their commit for too long."
        if is_overdue
        else "1 Flink manifest may still be committed (checkpoint 2 of run aaaaaa)."
    )


@pytest.mark.usefixtures("listed")
def test_what_goes_on_from_a_drained_v1_job_is_dropped(orders: OrdersTable) -> None:
    """Its sink measures by the old run, which committed Long.MAX_VALUE: no checkpoint is ever above that."""
    before, _ = write(orders, f"a1[0:10] a{DRAINED}[10:20] |")
    orders.leaves_manifest("b", 3, TEN)
    chain = Vertex(
        vertex_id=OperatorId("aa" * 16),
        name="Source: orders -> IcebergStreamWriter -> IcebergFilesCommitter",
        parallelism=1,
        status="RUNNING",
        attempt=0,
    )
    v1 = restored_from("b", "file:/state/savepoint-1").model_copy(update={"vertices": (chain,)})
    v2 = v1.model_copy(update={"vertices": ()})
    ended = {"state": "CANCELED", "restored": v1.restored.model_copy(update={"at": datetime.now(UTC)})}

    dropped, waiting = (judged(ask_about(orders, before, run)) for run in (v1, v2))
    orders.commits("c", 1, range(30, 40))
    replaced = judged(ask_about(orders, before, v1.model_copy(update=ended)))

    assert [only(each).standing for each in (dropped, waiting)] == [LeakStanding.DROPPED, LeakStanding.PENDING]
    assert only(replaced).standing is LeakStanding.UNTOLD
    assert "goes on from a drained job" in only(replaced).reason


def with_committer(name: str) -> JobRun:
    """Run a, with that operator."""
    committer = Vertex(vertex_id=OPERATOR, name=name, parallelism=1, status="RUNNING", attempt=0)
    return run_of("a").model_copy(update={"vertices": (committer,)})


STANDING: Mapping[str, tuple[int, tuple[JobRun, ...], tuple[StoredCheckpoint, ...], LeakStanding, Verdict, str]] = {
    "a V1 sink keeps in memory what it skips, and commits it late": (
        5, (with_committer("IcebergFilesCommitter"),), (), LeakStanding.PENDING, Verdict.RULED_OUT,
        "keeps checkpoint 3 in memory until an id above 5",
    ),
    "the run is over, the next one began behind its rows, and no restore point lists them": (
        2, (over("a"), behind("b", "a", 3)), (), LeakStanding.LOST_STATE, Verdict.CONFIRMED,
        "ended as CANCELED, and no restore point lists it",
    ),
    "a restore would commit it, so nobody may append it by hand": (
        2, (over("a"),), (owing("a", 3),), LeakStanding.PENDING, Verdict.RULED_OUT,
        "a restore from savepoint-1 would commit it",
    ),
    "the operator's uid was changed: the new committer does not know what the old one owed": (
        2, (over("a"), restored_from("b", "file:/state/savepoint-1")), (owing("a", 3),),
        LeakStanding.LOST_STATE, Verdict.CONFIRMED, "run bbbbbb was restored from the point that listed this manifest",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("at", "runs", "points", "expected", "verdict", "why"), STANDING.values(), ids=STANDING)
@pytest.mark.usefixtures("listed")
def test_where_a_manifest_stands_and_why(
    orders: OrdersTable,
    at: int,
    runs: tuple[JobRun, ...],
    points: tuple[StoredCheckpoint, ...],
    expected: LeakStanding,
    verdict: Verdict,
    why: str,
) -> None:
    """Run a has committed checkpoint `at`, and left 3 behind."""
    before = orders.commits("a", at, range(10))
    orders.leaves_manifest("a", 3, TEN)

    answer = judged(ask_about(orders, before, *runs, checkpoints=points))

    assert (only(answer).standing, answer.verdict) == (expected, verdict)
    assert why in only(answer).reason


@pytest.mark.usefixtures("listed")
def test_without_flink_a_pending_manifest_is_not_judged(orders: OrdersTable) -> None:
    """Whether it will be committed depends on whether its run is alive."""
    before = orders.commits("a", 1, range(10))
    orders.leaves_manifest("a", 2, TEN)

    answer = judged(orders.ask(before, jobs=unseen("Flink"), flink_manifests=orders.flink_manifests()))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert "Flink was not seen" in answer.headline


@pytest.mark.usefixtures("listed")
def test_another_operator_of_the_same_run_has_its_own_count(orders: OrdersTable) -> None:
    """One job may write one table by two sinks: the ids of one say nothing of the other."""
    before = orders.commits("a", 5, range(10))
    orders.leaves_manifest("a", 3, TEN, operator=OperatorId("f" * 32))

    assert only(judged(ask_about(orders, before, run_of("a")))).standing is LeakStanding.PENDING


OF_AUDIT = {"flink.operator-id": "0" * 31 + "a"}
NINE = {"nine.parquet": range(90, 95)}


@pytest.fixture
def audited(orders: OrdersTable) -> OrdersTable:
    """Run a writes main; run d has committed checkpoint 8 to branch audit, and is over."""
    orders.branches_off("audit", orders.commits("a", 1, range(10)))
    orders.appends(rows(range(80, 90)), of_flink("d", 8, OF_AUDIT), branch="audit")
    return orders


@pytest.mark.parametrize("is_tag", [False, True])
def test_what_stands_on_another_branch_was_left_over(audited: OrdersTable, asks: Asks, is_tag: bool) -> None:
    """Main names none of it, and a run that came next without state has lost nothing of it; also where only a tag keeps
    what the branch had. The manifest stays because its deletion failed."""
    audited.leaves_manifest("d", 9, NINE, operator=OperatorId(OF_AUDIT["flink.operator-id"]))
    audited.names_again("d", 9, [*NINE], OF_AUDIT, branch="audit")
    if is_tag:
        audited.only_tagged("audit", "kept-audit")

    answer = asks("leaked_manifests", ask_about(audited, None, over("d"), later("b")))

    assert answer.verdict is Verdict.RULED_OUT
    assert told(answer) == [(9, LeakStanding.LEFT_OVER, 1, 5)]
    where = "kept-audit" if is_tag else "audit"
    assert only(answer).reason == f"All its files are on {where}, which its run writes: only its deletion failed."


@pytest.mark.parametrize("run", ["d", "e"], ids=["the run itself", "a run that goes on with its sink"])
@pytest.mark.usefixtures("listed")
def test_what_a_branchs_run_never_committed_is_not_lost_from_main(audited: OrdersTable, run: str) -> None:
    """Whether its rows were read again is not told; main lacks nothing either way."""
    audited.leaves_manifest(run, 9, NINE, operator=OperatorId(OF_AUDIT["flink.operator-id"]))
    at = audited.state().ref("audit")

    answer = judged(ask_about(audited, None, over(run), later("b")))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert answer.finding.lost_rows == 0
    assert only(answer).standing is LeakStanding.UNTOLD
    assert f"commits to audit, up to checkpoint 8 ({short(at)}): what it wrote belongs there" in only(answer).reason


@pytest.mark.usefixtures("listed")
def test_what_is_lost_from_main_is_lost_beside_a_branch_of_another_job(audited: OrdersTable) -> None:
    """The branch's job has a sink of its own."""
    audited.leaves_manifest("a", 2, TEN)

    answer = judged(ask_about(audited, None, over("a"), behind("b", "a", 2)))

    assert (answer.verdict, only(answer).standing) == (Verdict.CONFIRMED, LeakStanding.LOST_STATE)


@pytest.mark.parametrize("kept_by", ["nothing", "tag", "branch"])
@pytest.mark.usefixtures("listed")
def test_a_run_all_of_whose_commits_were_rolled_back_wrote_main(orders: OrdersTable, kept_by: str) -> None:
    """Whatever keeps them since: main had them."""
    good, lost = write(orders, "a1[0:10] d8[80:90]").commits
    if kept_by == "tag":
        orders.tags("wl-1-left-0001", lost)
    if kept_by == "branch":
        orders.branches_off("before", lost)
    orders.rolls_back_to(good)
    orders.leaves_manifest("d", 9, NINE)

    answer = judged(ask_about(orders, None, over("d"), behind("b", "d", 9)))

    assert (answer.verdict, only(answer).standing) == (Verdict.CONFIRMED, LeakStanding.LOST_STATE)


def begins(orders: OrdersTable, name: str) -> JobRun:
    """A run that was started without state when the one manifest was written."""
    (leak,) = orders.flink_manifests()
    return run_of(name).model_copy(update={"started_at": leak.written_at})


def begun_with_nothing(orders: OrdersTable, line: str, contract: TableContract = CONTRACT, **changes: object) -> Ask:
    """Run a leaves 20 to 29 in checkpoint 3; then run b begins with nothing, and commits this."""
    before = orders.commits("a", 2, range(20))
    orders.leaves_manifest("a", 3, TEN)
    run = begins(orders, "b").model_copy(update=changes)
    write(orders, line)
    return ask_about(orders, before, over("a"), run, contract=contract)


@pytest.mark.parametrize(
    "changes", [{}, {"state": "CANCELED", "completed_count": 2}], ids=["running", "over, checkpoints told"]
)
def test_what_a_run_without_state_began_behind_is_lost(
    orders: OrdersTable, asks: Asks, changes: dict[str, object]
) -> None:
    """It began at the latest, or where its offsets said: what it brought first lies behind the rows."""
    answer = asks("leaked_manifests", begun_with_nothing(orders, "b1[30:40] b2[40:50]", **changes))

    assert answer.verdict is Verdict.CONFIRMED
    assert told(answer) == [(3, LeakStanding.LOST_STATE, 1, 10)]
    assert answer.finding.lost_rows == 10
    assert "restored from nothing, and the first rows that it brought lie behind these" in only(answer).reason


@pytest.mark.parametrize(
    ("line", "changes"),
    [
        ("b1[0:30]", {}),
        ("b1[0:10] b2[10:20]", {}),
        ("b1[29:40]", {}),
        ("b1[30:40] b2[25:30]", {}),
        ("", {}),
        ("b1[30:40]", {"position": None}),
        ("b1[30:40]", {"position_partition": "source_partition"}),
        ("b1[30:40]", {"redacted": ("source_position",)}),
    ],
    ids=[
        "again", "before them yet", "one of them", "a second partition", "nothing yet",
        "no position", "several partitions", "a hidden position",
    ],
)  # fmt: skip
@pytest.mark.usefixtures("listed")
def test_what_a_run_without_state_may_have_read_again_is_not_called_lost(
    orders: OrdersTable, line: str, changes: dict[str, object]
) -> None:
    """It began at the earliest, or at a time: it has brought the rows, or may come to them yet. So it is where no
    positions tell."""
    answer = judged(begun_with_nothing(orders, line, CONTRACT.model_copy(update=changes)))

    assert (answer.verdict, only(answer).standing) == (Verdict.INCONCLUSIVE, LeakStanding.UNTOLD)
    assert "restored from nothing: where its source began, and whether it has read these rows" in only(answer).reason


@pytest.mark.parametrize("before_it", ["nothing", "rolled back", "never committed", "under its id before", "expired"])
@pytest.mark.usefixtures("listed")
def test_where_something_may_have_come_before_its_first_commit_nobody_knows_where_it_began(
    orders: OrdersTable, before_it: str
) -> None:
    """Run b may have read the rows with that."""
    good = orders.commits("b" if before_it == "under its id before" else "a", 2, range(20))
    orders.leaves_manifest("a", 3, TEN)
    run = begins(orders, "b")
    if before_it == "rolled back":
        orders.commits("b", 1, range(15, 30))
        orders.rolls_back_to(good)
    elif before_it == "never committed":
        orders.leaves_manifest("b", 1, {"one.parquet": range(15, 30)})
    first, _ = write(orders, "b2[30:40] b3[40:50]").commits
    ask = ask_about(orders, None, over("a"), run)
    if before_it == "expired":
        orders.expires(good, first)
        ask = ask_about(orders, None, over("a"), run)

    answer = judged(ask)

    [of_a] = [each.standing for each in answer.finding.manifests if each.job_id == job("a")]
    assert of_a is (LeakStanding.LOST_STATE if before_it == "nothing" else LeakStanding.UNTOLD)


def went_back(path: str) -> JobRun:
    """Run b, whose newest restore, of a checkpoint 2, came after everything that the table has."""
    run = later("b")
    at = run.started_at + timedelta(seconds=1)
    point = Restored(checkpoint_id=CheckpointId(2), at=at, is_savepoint=False, path=path)
    return run.model_copy(update={"restored": point, "restored_count": 1, "completed_count": 20})


LISTED = (completed(2, CheckpointKind.CHECKPOINT),)


@pytest.mark.parametrize(
    ("successor", "expected"),
    [
        ((), LeakStanding.UNTOLD),
        ((over("b"),), LeakStanding.UNTOLD),
        ((went_back("file:/state/x/chk-2").model_copy(update={"checkpoints": LISTED}),), LeakStanding.UNTOLD),
        ((went_back(f"file:/state/{job('b')}/chk-2"),), LeakStanding.UNTOLD),
        ((went_back(f"file:/state/{job('a')}/chk-2"),), LeakStanding.GIVEN_UP),
    ],
    ids=[
        "forgotten", "only its end is known", "a failover to its own checkpoint, by its history", "by the folder",
        "a restore from below: its rows were read again",
    ],
)  # fmt: skip
@pytest.mark.parametrize("line", ["b1[30:40] b2[40:50]", "b4[30:40]"], ids=["lower ids", "higher ids"])
@pytest.mark.usefixtures("listed")
def test_nothing_is_ruled_out_where_the_start_of_the_next_run_is_not_known(
    orders: OrdersTable, line: str, successor: tuple[JobRun, ...], expected: LeakStanding
) -> None:
    """Run a left checkpoint 3, and run b has committed: its ids alone do not tell whether the rows were read again. It
    may have come from checkpoint 2 and lost an attempt at 3. Of a restore Flink shows the newest one only."""
    before = orders.commits("a", 2, range(20))
    orders.leaves_manifest("a", 3, TEN)
    write(orders, line)

    answer = judged(ask_about(orders, before, over("a"), *successor))

    assert only(answer).standing is expected
    assert answer.verdict is (Verdict.RULED_OUT if expected is LeakStanding.GIVEN_UP else Verdict.INCONCLUSIVE)
    if expected is LeakStanding.UNTOLD:
        assert answer.headline == (
            "Nobody can tell whether the rows of checkpoint 3 of run aaaaaa were read again, or are lost."
        )


def test_a_manifest_tells_what_it_holds_of_each_source_partition_and_who_wrote_it(
    orders: OrdersTable, asks: Asks
) -> None:
    """Exactly, or not at all: of a file of two partitions, and of a hidden position, nothing is told."""
    orders.commits("a", 2, range(20))
    name = "0000{}-0-23ffc85e-5a5f-4f4c-9b43-6a1f2b0c7d11-0000{}.parquet"
    for file, parts in {name.format(1, 4): "[30,32]p1", name.format(0, 7): "[40:45]p0[0:7]p1"}.items():
        pq.write_table(table_of(parts), orders.data_folder / file)
    orders.leaves_manifest("a", 3, {name.format(0, 5): range(20, 30), name.format(1, 4): (), "other.parquet": [30]})
    orders.leaves_manifest("a", 4, {name.format(0, 7): ()})

    def contents(contract: TableContract) -> dict[int, tuple[object, object]]:
        finding = asks("leaked_manifests", ask_about(orders, None, over("a"), contract=contract)).finding
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
