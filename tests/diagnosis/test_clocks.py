"""Which commit or restore came first: by clocks that differ, and in format v1."""

import json
import random
from datetime import timedelta
from io import BytesIO

import pytest

from bot.adapters.iceberg.streaming_metadata import read_split
from bot.diagnosis import (
    another_writer_changed_rows,
    checkpoint_committed_twice,
    commit_not_made_yet,
    commits_withheld,
    recovered_by_itself,
    rolled_back_while_running,
    two_jobs_write_the_table,
)
from bot.domain import packing
from bot.domain.diagnosis import CannotTell, Excluded, Matches
from bot.domain.findings import RepeatedCommit
from bot.domain.ids import JobId, SnapshotId
from bot.domain.review import _wrong_rows
from bot.domain.rollbacks import rollbacks
from bot.domain.table import HeadMove, Window
from tests.cases import Tale, job_id
from tests.found import repeats


def failed_over(*, commit_s: float, triggered_s: float | None = None, commits_on: bool = False) -> Tale:
    """`a` has 1 to 3 on main and was restored from 3. Its commit of 4 bears a time that lies so many seconds after the
    restore (below zero: before); Flink triggered 4 so long after it, or does not list it."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).flink_runs("a", restored=3)
    restored = tale.runs["a"].restored
    assert restored is not None
    tale.commits("a", 4)
    stamped = tale.snapshots[-1].model_copy(update={"committed_at": restored.at + timedelta(seconds=commit_s)})
    tale.snapshots[-1] = stamped
    if triggered_s is not None:
        tale.completes("a", 4)
        done = tale.runs["a"].checkpoints[0]
        at = restored.at + timedelta(seconds=triggered_s)
        run = tale.runs["a"].model_copy(update={"checkpoints": (done.model_copy(update={"triggered_at": at}),)})
        tale.runs["a"] = run
    return tale.commits("a", 5) if commits_on else tale


def test_a_commit_that_flink_triggered_after_the_restore_is_no_rewind() -> None:
    """Checkpoints and restores are told by one clock: the commit's own, a second behind, accuses nobody."""
    case = failed_over(commit_s=-1, triggered_s=2).looked_at()

    withheld, healthy = commits_withheld.examine(case), recovered_by_itself.examine(case)

    assert isinstance(withheld, Excluded)
    assert isinstance(healthy, Matches)


def test_a_commit_that_flink_triggered_before_the_restore_is_one() -> None:
    """Whatever the commit's own clock says: a second ahead of the JobManager's it hides nothing."""
    tale = failed_over(commit_s=1, triggered_s=-2)

    found = commits_withheld.examine(tale.looked_at())

    assert isinstance(found, Matches)
    assert (job_id("a"), tale.at("a", 4)) == (found.wrong_run, found.last_good)


@pytest.mark.parametrize("commit_s", [-4, -1, 0, 1, 4])
def test_closer_than_clocks_differ_nobody_can_tell(commit_s: float) -> None:
    """Neither that the run was set back, nor that it is healthy, nor that its commits come by waiting."""
    tale = failed_over(commit_s=commit_s)
    case = tale.looked_at()

    told = [commits_withheld.examine(case), recovered_by_itself.examine(case)]

    assert [] == [found for found in told if not isinstance(found, CannotTell)]
    assert "two clocks" in told[0].missing[0] if isinstance(told[0], CannotTell) else False


@pytest.mark.parametrize(("commit_s", "is_withheld"), [(-5, True), (-60, True), (5, False), (60, False)])
def test_further_apart_the_times_tell(commit_s: float, is_withheld: bool) -> None:
    """No cluster's clocks differ by more."""
    found = commits_withheld.examine(failed_over(commit_s=commit_s).looked_at())

    assert isinstance(found, Matches if is_withheld else Excluded)


def test_what_waits_is_not_promised_to_come_while_the_order_is_not_told() -> None:
    """After a rewind under one id the sink skips them (F3); after a failover it commits them (F11)."""
    tale = failed_over(commit_s=-1).completes("a", 5, 6, 7, 8).leaves_manifest("a", 5, 6, 7, 8)

    found = commit_not_made_yet.examine(tale.looked_at())

    assert isinstance(found, CannotTell)


def test_a_run_that_has_committed_on_without_a_hole_was_not_set_back() -> None:
    """The doubt ends by itself: what a sink skips is missing on the table."""
    tale = failed_over(commit_s=-1, commits_on=True)

    told = recovered_by_itself.examine(tale.looked_at())
    unread = commits_withheld.examine(tale.case())

    assert isinstance(told, Matches)
    assert isinstance(unread, CannotTell)


def test_a_last_commit_beside_the_start_of_the_next_run_is_no_second_writer() -> None:
    """`b` was restored from 2 of `a`, whose commit of 4 bears a time a second later: `a` did not go on beside it."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3, 4).becomes("a", "CANCELED").flink_runs("b", restored=2)
    restored = tale.runs["b"].restored
    assert restored is not None
    late = tale.snapshots[-1].model_copy(update={"committed_at": restored.at + timedelta(seconds=1)})
    tale.snapshots[-1] = late

    found = commits_withheld.rewinds_in(tale.looked_at())

    assert [(JobId(job_id("b")), 4, False)] == [(r.run, r.reached, r.is_interleaved) for r in found]


def in_format_v1(tale: Tale) -> Tale:
    """The same history as a table of that format tells it."""
    source = random.Random(3)  # noqa: S311 - ids of snapshots are no secret
    ids = {s.snapshot_id: SnapshotId(source.getrandbits(62)) for s in tale.snapshots}
    tale.snapshots = [
        s.model_copy(
            update={
                "snapshot_id": ids[s.snapshot_id],
                "parent_id": ids[s.parent_id] if s.parent_id else None,
                "sequence_number": 0,
            }
        )
        for s in tale.snapshots
    ]
    tale.moves = [HeadMove(at=move.at, snapshot_id=ids[move.snapshot_id]) for move in tale.moves]
    tale.head = ids[tale.head] if tale.head else None
    tale.numbers_snapshots = False
    return tale


def rolled_back() -> Tale:
    """Checkpoints 4 to 8 left main under the running job."""
    return in_format_v1(Tale().flink_runs("a").commits("a", *range(1, 9)).rolls_back_to("a", 3))


def test_lost_commits_come_in_the_order_in_which_they_were_made() -> None:
    """Setting main back to the last of them undoes the rollback; to any other it would lose the rest."""
    tale = rolled_back()

    (lost,) = rollbacks(tale.table)
    found = rolled_back_while_running.examine(tale.looked_at())

    assert tuple(tale.at("a", each) for each in range(4, 9)) == lost.left
    assert isinstance(found, Matches)
    assert any(f"…{str(tale.at('a', 8))[-6:]} would undo" in reason for reason in found.reasons)


def test_main_is_trusted_below_the_fork() -> None:
    """Not at the head, which holds all of its rows."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3, 4, 5).flink_runs("b", restored=5)
    for checkpoint in (6, 7, 8):
        tale.commits("a", checkpoint).commits("b", checkpoint)
    in_format_v1(tale.becomes("b", "CANCELED"))

    found = two_jobs_write_the_table.examine(tale.looked_at(duplicates=30))

    assert isinstance(found, Matches)
    assert (tale.at("a", 6), tuple(tale.at("b", each) for each in (6, 7, 8))) == (found.last_good, found.rows)


def test_commits_on_top_of_another_writers_are_counted() -> None:
    """Going back means to write them again."""
    tale = in_format_v1(Tale().flink_runs("a").commits("a", 1, 2).commits(None, operation="delete").commits("a", 3))

    found = another_writer_changed_rows.examine(tale.looked_at())

    assert isinstance(found, Matches)
    assert "1 commit of the job came on top" in found.reasons[-1]


def test_ids_that_begin_anew_are_a_replay() -> None:
    """The start without state lies between the two commits of one checkpoint id."""
    tale = in_format_v1(Tale().flink_runs("a", v1=True).commits("a", 1, 2, 3).commits("a", 1, 2, 3))
    first, again = (s.snapshot_id for s in tale.snapshots if s.checkpoint_id == 3)
    told = RepeatedCommit.model_validate(
        {"first": first, "again": again, "how": "same-checkpoint", "job_id": job_id("a"), "checkpoint_id": 3, "rows": 9}
    )

    found = checkpoint_committed_twice.examine(tale.looked_at(duplicate_commits=repeats(told)))

    assert isinstance(found, Excluded)


def test_a_window_ends_with_its_last_commit() -> None:
    """What was rolled back later belongs to a later one."""
    tale = rolled_back()

    window = Window(since=tale.at("a", 1), until=tale.at("a", 2))

    assert (tale.at("a", 2),) == tuple(s.snapshot_id for s in window.of(tale.table))


def test_wrong_is_what_came_after_the_last_good_commit() -> None:
    """Of the commits that a diagnosis shows, by the time of their rows in the ledger."""
    tale = in_format_v1(Tale().flink_runs("a").commits("a", *range(1, 9)).rolls_back_to("a", 3).commits("a", 9))
    found = rolled_back_while_running.examine(tale.looked_at(missing=50))
    assert isinstance(found, Matches)
    ledger = tale.looked_at().ledger
    assert ledger is not None
    shown = found.model_copy(update={"rows": tuple(row.snapshot_id for row in ledger.rows), "wrong_run": job_id("a")})

    wrong = _wrong_rows(ledger.rows, shown)

    assert [4, 5, 6, 7, 8, 9] == [row.checkpoint_id for row in wrong]


@pytest.mark.parametrize("kept_packed", [True, False])
def test_no_commit_stands_before_its_parent(kept_packed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Clocks of two writers differ, and only the line of parents tells."""
    tale = rolled_back()
    at = [s.committed_at for s in tale.snapshots]
    at[4], at[5] = at[4], at[3] - timedelta(seconds=5)
    told = [
        {
            "snapshot-id": s.snapshot_id,
            "parent-snapshot-id": s.parent_id,
            "timestamp-ms": round(moment.timestamp() * 1000),
            "manifest-list": s.manifest_list,
            "summary": {"operation": "append"},
        }
        for s, moment in zip(tale.snapshots, at, strict=True)
    ]
    monkeypatch.setattr(packing, "PACKED_FROM", 0 if kept_packed else 1_000)

    _, history = read_split(BytesIO(json.dumps({"snapshots": told, "snapshot-log": []}).encode()).read)

    assert [s.snapshot_id for s in tale.snapshots] == [s.snapshot_id for s in history.snapshots]
