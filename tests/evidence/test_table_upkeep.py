"""How a table is kept: whether a restore finds its snapshot, and what settings and files cost."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from bot.domain.evidence import Verdict
from bot.domain.table import Ref
from tests.evidence.conftest import Asks
from tests.evidence.kept_tables import DAY, HOUR_MS, at, brief, completed, ended, finding_of, savepoint
from tests.evidence.test_ledger import run_of
from tests.tables import CONTRACT, OrdersTable, job, rows, unseen

__all__ = ["brief"]


def test_a_table_whose_head_is_the_jobs_last_commit_is_well_kept(orders: OrdersTable, asks: Asks) -> None:
    """The head never expires, so a restore finds it."""
    before = orders.commits("a", 1, range(10))
    head = orders.commits("a", 2, range(10, 20))

    answer = asks("table_health", orders.ask(before, jobs=[run_of("a")]))

    found = finding_of(answer)
    assert answer.verdict is Verdict.RULED_OUT
    assert [(last.snapshot_id, last.checkpoint_id, last.is_protected) for last in found.last_commits] == [
        (head, 2, True)
    ]
    assert (found.data_files, found.snapshots, found.small_files) == (2, 2, 1)
    assert "kept by a branch or tag" in answer.headline


def test_the_last_commit_below_another_writers_head_may_expire(brief: OrdersTable, asks: Asks) -> None:
    """A compaction or Spark commit takes the head, and expiry takes the snapshot that the job will look for."""
    before = brief.commits("a", 1, range(10))
    last = brief.commits("a", 2, range(10, 20))
    brief.appends(rows(range(20, 30)))

    soon = asks("table_health", brief.ask(before, jobs=[run_of("a")]))
    now = asks("table_health", at(brief.ask(before, jobs=[run_of("a")]), 2 * DAY))

    assert soon.verdict is Verdict.CONFIRMED
    assert finding_of(soon).last_commits[0].snapshot_id == last
    assert 3500 < (finding_of(soon).last_commits[0].expires_within_s or 0) <= 3600
    assert finding_of(now).last_commits[0].expires_within_s == 0
    assert "is the last commit of run aaaaaa and may expire now" in now.headline


def test_every_problem_is_said(brief: OrdersTable, asks: Asks) -> None:
    """Rows and measures do not tell the second one, so the headline does."""
    before = brief.commits("a", 1, range(10))
    brief.commits("a", 2, range(10, 20))
    brief.appends(rows(range(20, 30)))

    answer = asks("table_health", brief.ask(before, jobs=[run_of("a")], checkpoints=[savepoint(9, DAY)]))

    expiring, outlived = finding_of(answer).problems
    assert answer.headline == f"{expiring} {outlived}"
    assert "1 restore point is older than the table keeps snapshots" in outlived


def test_a_tag_keeps_the_last_commit(brief: OrdersTable, asks: Asks) -> None:
    """A ref is the remedy, and is seen as such."""
    before = brief.commits("a", 1, range(10))
    last = brief.commits("a", 2, range(10, 20))
    brief.appends(rows(range(20, 30)))
    ask = brief.ask(before, jobs=[run_of("a")])
    tag = Ref(name="waterline", kind="tag", snapshot_id=last)

    answer = asks("table_health", at(ask, 2 * DAY, refs=(*ask.observation.table.refs, tag)))

    assert answer.verdict is Verdict.RULED_OUT
    assert finding_of(answer).last_commits[0].is_protected


def test_a_snapshot_among_those_kept_at_the_least_does_not_expire_yet(tmp_path: Path, asks: Asks) -> None:
    """Age alone does not expire the newest snapshots; the pace of commits does."""
    keeps = {"history.expire.max-snapshot-age-ms": HOUR_MS, "history.expire.min-snapshots-to-keep": "50"}
    table = OrdersTable(tmp_path, keeps)
    before = table.commits("a", 1, range(10))
    table.commits("a", 2, range(10, 20))
    table.appends(rows(range(20, 30)))

    answer = asks("table_health", at(table.ask(before, jobs=[run_of("a")]), 2 * DAY))
    table.close()

    assert answer.verdict is Verdict.RULED_OUT
    assert (finding_of(answer).last_commits[0].expires_within_s or 0) > 90 * DAY.total_seconds()


def test_the_last_commit_of_a_run_that_handed_over_is_not_needed(brief: OrdersTable, asks: Asks) -> None:
    """Nobody restores the run that was replaced."""
    before = brief.commits("a", 1, range(10))
    brief.commits("a", 2, range(10, 20))
    brief.commits("b", 3, range(20, 30))

    answer = asks("table_health", at(brief.ask(before, jobs=[run_of("b"), ended("a")]), 2 * DAY))

    assert answer.verdict is Verdict.RULED_OUT
    assert [last.is_protected for last in finding_of(answer).last_commits] == [True, False]


def test_a_run_whose_commits_have_all_expired_is_named(orders: OrdersTable, asks: Asks) -> None:
    """The job has committed before the oldest snapshot that is listed, and none of its commits is listed."""
    orders.commits("a", 1, range(10))
    orders.appends(rows(range(10, 20)))
    ask = orders.ask(None, jobs=[completed("a", datetime(2026, 1, 1, tzinfo=UTC))])
    only = ask.observation.table.snapshots[-1]

    answer = asks("table_health", at(ask, timedelta(0), snapshots=(only,)))

    assert answer.verdict is Verdict.CONFIRMED
    assert [(last.job_id, last.snapshot_id) for last in finding_of(answer).last_commits] == [(job("a"), None)]
    assert answer.headline.startswith("No listed snapshot is by run aaaaaa")


def test_a_new_run_that_has_not_committed_yet_is_not_accused(orders: OrdersTable, asks: Asks) -> None:
    """A run that began after the oldest listed snapshot has lost nothing."""
    orders.commits("a", 1, range(10))
    orders.appends(rows(range(10, 20)))
    ask = orders.ask(None, jobs=[completed("c", datetime.now(UTC))])
    only = ask.observation.table.snapshots[-1]

    answer = asks("table_health", at(ask, timedelta(0), snapshots=(only,)))

    assert answer.verdict is Verdict.RULED_OUT
    assert finding_of(answer).last_commits == ()


def test_without_flink_a_well_kept_table_is_inconclusive(orders: OrdersTable, asks: Asks) -> None:
    """Which runs are alive, and what they need, is not known."""
    before = orders.commits("a", 1, range(10))
    orders.commits("a", 2, range(10, 20))

    answer = asks("table_health", orders.ask(before, jobs=unseen("Flink")))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert "Flink was not seen" in answer.headline


def test_restore_points_that_outlive_the_snapshots_are_told(orders: OrdersTable, asks: Asks) -> None:
    """A savepoint of last week has no table state to go with after five days."""
    before = orders.commits("a", 1, range(10))
    orders.commits("a", 2, range(10, 20))
    points = [savepoint(1, 6 * DAY), savepoint(2, DAY)]

    answer = asks("table_health", orders.ask(before, jobs=[run_of("a")], checkpoints=points))

    assert answer.verdict is Verdict.CONFIRMED
    assert "1 restore point is older than the table keeps snapshots (5 d), the oldest savepoint-1" in answer.headline


def test_retention_below_the_contract_is_told(brief: OrdersTable, asks: Asks) -> None:
    """The contract promises a week, the table keeps an hour."""
    before = brief.commits("a", 1, range(10))
    brief.commits("a", 2, range(10, 20))
    contract = CONTRACT.model_copy(update={"keep_snapshots": 7 * DAY})

    answer = asks("table_health", brief.ask(before, jobs=[run_of("a")], contract=contract))

    assert answer.headline == "The table lets snapshots expire after 1 h; the contract promises 7 d."


def test_metadata_files_that_vanish_within_a_day_are_told(tmp_path: Path, asks: Asks) -> None:
    """Pinned evidence is as old as the metadata file that it names."""
    kept = {"write.metadata.delete-after-commit.enabled": "true", "write.metadata.previous-versions-max": "10"}
    table = OrdersTable(tmp_path, kept)
    before = table.commits("a", 1, range(10))
    table.commits("a", 2, range(10, 20))

    answer = asks("table_health", table.ask(before, jobs=[run_of("a")]))
    table.close()

    [remark] = answer.remarks
    assert answer.verdict is not Verdict.CONFIRMED
    assert remark.startswith("Only 10 older metadata files are kept, at the present pace")


def test_many_small_files_are_told_and_are_no_trouble(orders: OrdersTable, asks: Asks) -> None:
    """Twenty files far below the target are worth a compaction, and nothing that an incident is about."""
    before = orders.commits("a", 1, range(10))
    orders.commits_files("a", 2, {f"{n}.parquet": range(n, n + 1) for n in range(20)})

    answer = asks("table_health", orders.ask(before, jobs=[run_of("a")]))

    assert (answer.verdict, finding_of(answer).problems) == (Verdict.RULED_OUT, ())
    assert finding_of(answer).small_files == 20
    [remark] = answer.remarks
    assert remark.startswith("20 of 20 data files of the window are smaller than a quarter of the target of 512 MB.")


def test_many_deletes_are_told_from_the_heads_summary(orders: OrdersTable, asks: Asks) -> None:
    """An upsert job leaves equality deletes that every read merges."""
    before = orders.commits("a", 1, range(10))
    orders.commits("a", 2, range(10, 20))
    ask = orders.ask(before, jobs=[run_of("a")])
    *older, head = ask.observation.table.snapshots
    counts = {"total-delete-files": "4", "total-equality-deletes": "30", "total-position-deletes": "5"}
    upserted = head.model_copy(update={"summary": {**head.summary, **counts}})

    answer = asks("table_health", at(ask, timedelta(0), snapshots=(*older, upserted)))

    assert (finding_of(answer).equality_deletes, finding_of(answer).position_deletes) == (30, 5)
    assert answer.verdict is Verdict.RULED_OUT
    assert answer.remarks == (
        "4 delete files stand against 2 data files (30 equality and 5 position deletes): every read merges them.",
    )
