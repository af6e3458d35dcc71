"""Commits that are gone with every trace have left their files, also where they were the table's very first."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bot.domain.evidence import Ask, Verdict
from bot.domain.flink import CheckpointKind, JobRun
from bot.domain.ids import SnapshotId
from bot.domain.looked import Seen
from tests.evidence.conftest import Asks
from tests.evidence.test_ledger import completed, run_of
from tests.evidence.test_orphan_files import ask_about, finding_of, left
from tests.tables import OrdersTable


def written(path: Path, before: timedelta) -> None:
    """So long before now."""
    then = (datetime.now(UTC) - before).timestamp()
    os.utime(path, (then, then))


def seen_by_flink(orders: OrdersTable, since: SnapshotId | None, *runs: JobRun) -> Ask:
    """The question, with these runs of the job."""
    ask = ask_about(orders, since)
    seen = ask.observation.model_copy(update={"jobs": Seen[JobRun](source="Flink", values=runs)})
    return ask.model_copy(update={"observation": seen})


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


@pytest.mark.parametrize("hours", [0.7, 2, 30])
def test_from_the_tables_first_commit_on_all_that_the_run_wrote_is_looked_at(
    orders: OrdersTable, asks: Asks, hours: float
) -> None:
    """Checkpoints that are half an hour apart or more: the files of those before the first commit are older."""
    orders.commits("a", 5, range(30, 40))
    written(left(orders, "of-checkpoint-1.parquet"), timedelta(hours=hours))

    answer = asks("orphan_files", seen_by_flink(orders, None, begun(timedelta(hours=hours + 1))))

    assert (answer.verdict, finding_of(answer).orphans) == (Verdict.CONFIRMED, 1)


def test_what_lay_in_the_folder_before_the_job_began_is_not_of_its_time(orders: OrdersTable, asks: Asks) -> None:
    """An earlier table at the same place has left it."""
    orders.commits("a", 5, range(30, 40))
    written(left(orders, "of-another-table.parquet"), timedelta(days=3))

    answer = asks("orphan_files", seen_by_flink(orders, None, begun(timedelta(days=1))))

    assert (answer.verdict, finding_of(answer).orphans) == (Verdict.RULED_OUT, 0)


@pytest.mark.parametrize("older", ["an earlier run", "a checkpoint of before a failover"])
def test_the_oldest_that_flink_tells_of_counts(orders: OrdersTable, asks: Asks, older: str) -> None:
    """Commits of an earlier run may be gone as well, and a new JobManager lets a run begin anew."""
    orders.commits("b", 5, range(30, 40))
    written(left(orders, "of-checkpoint-1.parquet"), timedelta(hours=6))
    newest = run_of("b").model_copy(update={"started_at": datetime.now(UTC) - timedelta(hours=1)})
    runs = {
        "an earlier run": (newest, begun(timedelta(hours=7))),
        "a checkpoint of before a failover": (
            newest.model_copy(update={"checkpoints": begun(timedelta(hours=7), 1).checkpoints}),
        ),
    }

    answer = asks("orphan_files", seen_by_flink(orders, None, *runs[older]))

    assert (answer.verdict, finding_of(answer).orphans) == (Verdict.CONFIRMED, 1)


def test_where_flink_knows_no_run_every_file_counts(orders: OrdersTable, asks: Asks) -> None:
    """Nobody can say from when on the job wrote."""
    orders.commits("a", 5, range(30, 40))
    written(left(orders, "of-checkpoint-1.parquet"), timedelta(days=3))

    answer = asks("orphan_files", seen_by_flink(orders, None))

    assert (answer.verdict, finding_of(answer).orphans) == (Verdict.CONFIRMED, 1)


@pytest.mark.parametrize(("listed", "verdict"), [((1, 5), Verdict.CONFIRMED), ((5, 6), Verdict.RULED_OUT)])
def test_above_the_first_commits_it_is_looked_for_while_flink_lists_what_lay_below(
    orders: OrdersTable, asks: Asks, listed: tuple[int, ...], verdict: Verdict
) -> None:
    """Checkpoint 1 is what a diagnosis asks about; later the cost follows the window again."""
    since = orders.commits("a", 5, range(30, 40))
    orders.commits("a", 6, range(40, 50))
    written(left(orders, "of-checkpoint-1.parquet"), timedelta(hours=2))

    answer = asks("orphan_files", seen_by_flink(orders, since, begun(timedelta(hours=3), *listed)))

    assert answer.verdict is verdict


@pytest.mark.parametrize("window", ["from the first listed commit", "above it"])
def test_where_older_commits_have_expired_the_look_follows_the_window(
    orders: OrdersTable, asks: Asks, window: str
) -> None:
    """What they left behind is not of its time, however long the run goes on."""
    gone = orders.commits("a", 1, range(30))
    first = orders.commits("a", 5, range(30, 40))
    orders.commits("a", 6, range(40, 50))
    orders.expires(gone)
    written(left(orders, "long-ago.parquet"), timedelta(hours=2))
    since = first if window == "above it" else None

    answer = asks("orphan_files", seen_by_flink(orders, since, begun(timedelta(hours=3), 2, 5)))

    assert answer.verdict is Verdict.RULED_OUT
