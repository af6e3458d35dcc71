"""Files that nothing names are counted; what is committed, pending or perhaps in flight is not accused."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bot.observation.errors import EvidenceFailed
from bot.observation.evidence import Ask, Verdict
from bot.observation.findings import OrphanFilesFinding
from bot.observation.flink import CheckpointKind, JobRun
from bot.observation.ids import SnapshotId
from bot.observation.looked import Seen
from spark_tasks._support.window import reach_of
from spark_tasks.orphan_files import begin_of
from tests.evidence.conftest import Asks
from tests.evidence.histories import write
from tests.evidence.test_ledger import completed, run_of
from tests.tables import OrdersTable, observing, of_flink, of_table, rows, unseen

WRITER = "23ffc85e-5a5f-4f4c-9b43-6a1f2b0c7d11"
LATER = timedelta(minutes=30)


def ask_about(orders: OrdersTable, since: SnapshotId | None, *, later: timedelta = LATER) -> Ask:
    """What is asked, some time after the last commit: so that the files of the test are old enough."""
    ask = orders.ask(since, jobs=[run_of("a")], flink_manifests=orders.flink_manifests())
    return of_table(ask, read_at=datetime.now(UTC) + later)


def left(orders: OrdersTable, name: str, size: int = 100) -> Path:
    """A file in the data folder that no commit names."""
    path = orders.data_folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"x" * size)
    return path


def test_a_folder_of_named_files_is_ruled_out(orders: OrdersTable, asks: Asks) -> None:
    """Committed, rolled back and replaced files are all named, and those of Flink's manifests until that is decided.
    Storage is listed whole, and what is older than the window is not judged."""
    before, commits = write(orders, "a5[0:10] | a6[10:20]")
    orders.commits("a", 7, range(20, 30))
    orders.rolls_back_to(commits[1])
    orders.deletes("order_id >= 15")
    orders.leaves_manifest("a", 3, {"three.parquet": range(20, 30)})
    written(left(orders, "old.parquet"), timedelta(hours=1))

    answer = asks("orphan_files", ask_about(orders, before))

    assert answer.verdict is Verdict.RULED_OUT
    assert answer.finding == OrphanFilesFinding(files_listed=4, orphans=0, bytes=0, young=0, paths=())


def test_files_that_nothing_names_are_counted(orders: OrdersTable, asks: Asks) -> None:
    """Name, size and age, the oldest first, as they may be put aside; in partition folders too. Files of one name are
    shown with their folders."""
    before, _ = write(orders, "a1[0:10] | a2[10:20]")
    lost = left(orders, "lost.parquet", 70)
    moment = lost.stat().st_mtime
    for place, name in enumerate(("day=1/x.parquet", "day=2/x.parquet", "day=3/also%3Alost.parquet"), start=1):
        os.utime(left(orders, name, 10), (moment + place, moment + place))

    answer = asks("orphan_files", ask_about(orders, before))

    found = answer.finding
    assert answer.verdict is Verdict.CONFIRMED
    assert (found.files_listed, found.orphans, found.bytes, found.young) == (5, 4, 100, 0)
    assert [row[0] for row in answer.rows] == [
        "lost.parquet",
        "day=1/x.parquet",
        "day=2/x.parquet",
        "also%3Alost.parquet",
    ]
    assert abs(found.newest_at.timestamp() - moment - 3) < 1
    assert answer.headline.startswith("4 data files of 5 data files written in the window's time are named by nothing")


def test_young_files_may_be_in_flight(orders: OrdersTable, asks: Asks) -> None:
    """A healthy job always has files that it will commit with its next checkpoint."""
    before, _ = write(orders, "a1[0:10] | a2[10:20]")
    left(orders, "open.parquet")

    answer = asks("orphan_files", ask_about(orders, before, later=timedelta(minutes=1)))

    assert answer.verdict is Verdict.RULED_OUT
    assert (answer.finding.orphans, answer.finding.young) == (1, 1)
    assert "1 file younger than 10 min may be in flight" in answer.headline


def test_a_slow_run_of_another_job_has_files_in_flight_for_longer(orders: OrdersTable, asks: Asks) -> None:
    """Five of its checkpoint intervals, of twenty minutes each."""
    orders.commits("a", 1, range(10))
    left(orders, "flying.parquet")
    ask = ask_about(orders, None)
    slow = run_of("b").model_copy(update={"checkpoint_interval_ms": 20 * 60_000, "state": "RUNNING", "ended_at": None})

    answer = asks("orphan_files", observing(ask, others=Seen[JobRun](source="Flink", values=(slow,))))

    assert answer.verdict is Verdict.RULED_OUT
    assert "1 file younger than 100 min may be in flight" in answer.headline


def test_orphans_after_the_last_commit_are_told_although_nothing_else_was_written(
    orders: OrdersTable, asks: Asks
) -> None:
    """A job that was killed before its next commit leaves orphans alone in an empty window."""
    head = orders.commits("a", 1, range(10))
    left(orders, "lost.parquet")

    answer = asks("orphan_files", ask_about(orders, head))

    assert answer.verdict is Verdict.CONFIRMED
    assert (answer.finding.files_listed, answer.finding.orphans) == (1, 1)


def test_files_of_an_attempt_that_another_has_outlived_are_told(orders: OrdersTable, asks: Asks) -> None:
    """A lower attempt has failed; a higher one that is old lost a speculative execution."""
    before = orders.commits("a", 1, range(10))
    for attempt in (0, 1, 2):
        left(orders, f"00003-{attempt}-{WRITER}-00002.parquet")
    orders.commits_files("a", 2, {f"00003-1-{WRITER}-00001.parquet": range(10, 20)})

    answer = asks("orphan_files", ask_about(orders, before))

    assert (answer.finding.orphans, answer.finding.of_other_attempts) == (3, 2)


def test_what_a_writer_puts_down_after_the_head_is_of_no_other_attempt(orders: OrdersTable, asks: Asks) -> None:
    """A failover goes on with the next number, a new run with 0: nobody has outlived files that came last."""
    before = orders.commits("a", 1, range(10))
    orders.commits_files(
        "a", 2, {f"00003-{each}-{WRITER}-00001.parquet": range(10 * each, 10 * each + 10) for each in (1, 2)}
    )
    for attempt in (0, 1):
        left(orders, f"00003-{attempt}-{WRITER}-00002.parquet")

    answer = asks("orphan_files", ask_about(orders, before))

    assert (answer.finding.orphans, answer.finding.of_other_attempts) == (2, 0)


def test_a_failovers_first_files_are_of_no_other_attempt(orders: OrdersTable, asks: Asks) -> None:
    """They lie there before the last commit of the attempt that failed is made anew, and are young."""
    before = orders.commits("a", 1, range(10))
    left(orders, f"00003-1-{WRITER}-00001.parquet")
    orders.commits_files("a", 2, {f"00003-0-{WRITER}-00001.parquet": range(10, 20)})

    answer = asks("orphan_files", ask_about(orders, before, later=timedelta(minutes=1)))

    assert (answer.finding.young, answer.finding.of_other_attempts) == (1, 0)


def test_a_folder_with_other_names_than_the_commits_use_is_inconclusive(orders: OrdersTable, asks: Asks) -> None:
    """When no committed file is found, the wrong folder was listed; its files are not called orphans."""
    before, _ = write(orders, "a1[0:10] | a2[10:20]")
    elsewhere = left(orders, "elsewhere/x.parquet").parent
    ask = of_table(ask_about(orders, before), properties={"write.data.path": f"file://{elsewhere}"})

    answer = asks("orphan_files", ask)

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert "none of them was found in the folder" in answer.could_not_look[0].reason


def test_without_flinks_manifests_nothing_is_called_an_orphan(orders: OrdersTable, asks: Asks) -> None:
    """Files that are yet to be committed look the same."""
    before = orders.commits("a", 1, range(10))

    answer = asks("orphan_files", orders.ask(before, flink_manifests=unseen("the metadata folder")))

    assert answer.verdict is Verdict.INCONCLUSIVE


def test_a_missing_data_folder_is_inconclusive(orders: OrdersTable, asks: Asks) -> None:
    """A folder that is not found was not looked at."""
    before = orders.commits("a", 1, range(10))
    ask = of_table(ask_about(orders, before), properties={"write.data.path": "file:///no/such/folder"})

    answer = asks("orphan_files", ask)

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert "/no/such/folder" in answer.could_not_look[0].source


def test_nothing_is_an_orphan_while_a_flink_manifest_cannot_be_read(orders: OrdersTable, asks: Asks) -> None:
    """Its sink may yet commit what it names; where nothing is unnamed, it does not matter."""
    before, _ = write(orders, "a5[0:10] | a6[10:20]")
    cut_off = orders.leaves_manifest("a", 7, {"seven.parquet": range(20, 30)})
    cut_off.write_bytes(cut_off.read_bytes()[:-40])

    answer = asks("orphan_files", ask_about(orders, before))
    (orders.data_folder / "seven.parquet").unlink()
    without = asks("orphan_files", ask_about(orders, before))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert cut_off.name in answer.headline
    assert without.verdict is Verdict.RULED_OUT


def test_more_files_of_manifests_than_are_looked_at_are_no_orphans(
    orders: OrdersTable, asks: Asks, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that were cut off would be named by nothing."""
    before, _ = write(orders, "a5[0:10] | a6[10:20]")
    orders.leaves_manifest("a", 7, {f"{number}.parquet": [20 + number] for number in range(3)})
    monkeypatch.setattr("spark_tasks._support.leaked_files.MAX_PATHS", 2)

    with pytest.raises(EvidenceFailed, match="more"):
        asks("orphan_files", ask_about(orders, before))


@pytest.mark.parametrize("ref", ["main", "audit"])
def test_a_file_of_an_older_commit_that_was_brought_back_is_named(orders: OrdersTable, asks: Asks, ref: str) -> None:
    """Its commit lies far below the window, on main or on a branch; what nothing names is told beside it."""
    orders.commits("a", 1, range(10))
    if ref == "audit":
        orders.branches_off("audit", orders.head)
        orders.appends(rows(range(20, 30)), of_flink("b", 2), branch="audit")
    old = list(orders.data_folder.rglob("*.parquet"))
    before = orders.commits("a", 3, range(30, 40))
    ask = ask_about(orders, before, later=timedelta(hours=3))
    since = ask.observation.table.by_id[before].committed_at
    moved = [
        each.model_copy(update={"committed_at": each.committed_at - timedelta(hours=1)})
        if each.snapshot_id != before
        else each
        for each in ask.observation.table.snapshots
    ]
    ask = of_table(ask, snapshots=tuple(moved))
    now = since.timestamp() + 3600
    for file in (*old, left(orders, "lost.parquet")):
        os.utime(file, (now, now))

    answer = asks("orphan_files", ask)

    assert answer.verdict is Verdict.CONFIRMED
    assert [path.rsplit("/", 1)[-1] for path in answer.finding.paths] == ["lost.parquet"]


def written(path: Path, before: timedelta) -> None:
    """So long before now."""
    then = (datetime.now(UTC) - before).timestamp()
    os.utime(path, (then, then))


def seen_by_flink(orders: OrdersTable, since: SnapshotId | None, *runs: JobRun) -> Ask:
    """The question, with these runs of the job."""
    return observing(ask_about(orders, since), jobs=Seen[JobRun](source="Flink", values=runs))


def begun(before: timedelta, *checkpoints: int) -> JobRun:
    """Run a, begun so long before now, with these checkpoints ten minutes apart."""
    start = datetime.now(UTC) - before
    told = tuple(
        completed(each, CheckpointKind.CHECKPOINT).model_copy(
            update={"triggered_at": start + timedelta(minutes=10 * each)}
        )
        for each in checkpoints
    )
    return run_of("a", *told).model_copy(update={"started_at": start})


def looks_back(ask: Ask) -> timedelta:
    """How far before now a file of the window's time may have been written."""
    return datetime.now(UTC) - begin_of(ask, reach_of(ask))


def test_from_the_tables_first_commit_on_all_that_the_run_wrote_is_looked_at(orders: OrdersTable, asks: Asks) -> None:
    """The files of checkpoints before the first commit are older. What an earlier table at the same place has left is
    not of its time."""
    orders.commits("a", 5, range(30, 40))
    written(left(orders, "of-checkpoint-1.parquet"), timedelta(hours=30))
    written(left(orders, "of-another-table.parquet"), timedelta(days=3))

    answer = asks("orphan_files", seen_by_flink(orders, None, begun(timedelta(hours=31))))

    assert answer.verdict is Verdict.CONFIRMED
    assert [Path(path).name for path in answer.finding.paths] == ["of-checkpoint-1.parquet"]


HOUR = timedelta(hours=1)


@pytest.mark.parametrize("older", ["an earlier run", "a checkpoint of before a failover", "no run is known"])
def test_the_oldest_that_flink_tells_of_counts(orders: OrdersTable, older: str) -> None:
    """Commits of an earlier run may be gone as well, and a new JobManager lets a run begin anew. Where Flink knows no
    run, nobody can say from when on the job wrote."""
    orders.commits("b", 5, range(30, 40))
    newest = run_of("b").model_copy(update={"started_at": datetime.now(UTC) - HOUR})
    runs = {
        "an earlier run": (newest, begun(7 * HOUR)),
        "a checkpoint of before a failover": (
            newest.model_copy(update={"checkpoints": begun(7 * HOUR, 1).checkpoints}),
        ),
        "no run is known": (),
    }

    back = looks_back(seen_by_flink(orders, None, *runs[older]))

    assert back > 1000 * HOUR if older == "no run is known" else 6 * HOUR < back < 8 * HOUR


@pytest.mark.parametrize(("listed", "looks"), [((1, 5), True), ((5, 6), False)])
def test_above_the_first_commits_it_is_looked_for_while_flink_lists_what_lay_below(
    orders: OrdersTable, listed: tuple[int, ...], looks: bool
) -> None:
    """Checkpoint 1 is what a diagnosis asks about; later the cost follows the window again."""
    since, _ = write(orders, "a5[30:40] | a6[40:50]")

    assert (looks_back(seen_by_flink(orders, since, begun(3 * HOUR, *listed))) > 2 * HOUR) is looks


@pytest.mark.parametrize("window", ["from the first listed commit", "above it"])
def test_where_older_commits_have_expired_the_look_follows_the_window(orders: OrdersTable, window: str) -> None:
    """What they left behind is not of its time, however long the run goes on."""
    gone, first, _ = write(orders, "a1[0:30] a5[30:40] a6[40:50]").commits
    orders.expires(gone)

    ask = seen_by_flink(orders, first if window == "above it" else None, begun(3 * HOUR, 2, 5))

    assert looks_back(ask) < 2 * HOUR
