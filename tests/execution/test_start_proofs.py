"""A start over a main that stays wrong is proven by what it adds: no row more is there twice or missing."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from bot.actions import drop_repair_branch, forward_job
from bot.domain.effects import DropBranch, StartJob
from bot.domain.entries import Check
from bot.domain.evidence import Verdict
from bot.domain.findings import DuplicatesFinding, Finding, GapsFinding
from bot.domain.ids import CheckpointId, SnapshotId, TableName
from bot.service.verifying import counted_before, no_more_than_before, proofs_of_start

BEGUN = datetime(2026, 11, 23, 3, tzinfo=UTC)
DROP = DropBranch(table=TableName("sales.orders"), branch="recovery-wl-1", head=SnapshotId(2))
START = StartJob(job="orders", path="/s/3", checkpoint_id=CheckpointId(3), on_top_of=SnapshotId(1))
CHECK = Check(name="The start duplicated no rows", passed=False, sentence="Rows are there twice.")


def twice(extra: int) -> DuplicatesFinding:
    """So many rows above one per key."""
    return DuplicatesFinding(rows_checked=100, keys=extra, extra_rows=extra, pairs=())


def gaps(missing: int) -> GapsFinding:
    """So many positions that no row carries."""
    return GapsFinding(lowest=0, highest=99, positions=100 - missing, missing=missing, gaps=())


def told(verdict: Verdict, finding: Finding | None, minutes: int = -5) -> Any:
    """An answer so many minutes after the execution began."""
    return SimpleNamespace(verdict=verdict, finding=finding, at=BEGUN + timedelta(minutes=minutes))


def ran(evidence: Any, branch: str | None = None, task: str = "duplicate_rows") -> Any:
    """A run of a task, as the incident keeps it."""
    return SimpleNamespace(task=task, branch=branch, evidence=evidence)


def before(*runs: Any) -> int | None:
    """What was counted before an execution that began at `BEGUN`."""
    incident: Any = SimpleNamespace(runs=dict(enumerate(runs)))
    view: Any = SimpleNamespace(execution_started_at=BEGUN)
    return counted_before(incident, view, "duplicate_rows")


def test_it_is_asked_only_where_a_job_is_started() -> None:
    """A branch that goes repeats and loses nothing; other actions are proven by a table that is right."""

    def asked(action: Any, *effects: Any) -> list[str]:
        view: Any = SimpleNamespace(proposal=SimpleNamespace(effects=effects))
        return [task for task, _ in proofs_of_start(action, view)]

    assert asked(drop_repair_branch.ACTION, START, DROP) == ["duplicate_rows", "missing_positions"]
    assert asked(drop_repair_branch.ACTION, DROP) == []
    assert asked(forward_job.ACTION, START) == []


def test_what_counts_is_the_newest_answer_of_main_before_the_execution() -> None:
    """Not one of the branch, which was repaired; nor one of an earlier verification; nor one that could not tell."""
    earlier, newest = told(Verdict.CONFIRMED, twice(10), -60), told(Verdict.CONFIRMED, twice(20))
    of_branch = ran(told(Verdict.RULED_OUT, twice(0)), branch="recovery-wl-1")
    verified, silent = ran(told(Verdict.CONFIRMED, twice(30), 5)), ran(told(Verdict.INCONCLUSIVE, None))
    other = ran(told(Verdict.CONFIRMED, gaps(7)), task="missing_positions")

    assert before(ran(earlier), ran(newest), of_branch, verified, silent, ran(None), other) == 20
    assert before(of_branch, verified) is None


@pytest.mark.parametrize(("now", "passed"), [(9, True), (10, True), (11, False)])
@pytest.mark.parametrize("count", [twice, gaps])
def test_no_more_than_before_is_passed(count: Any, now: int, passed: bool) -> None:
    """One row more is the start's, as far as anybody can tell."""
    check = no_more_than_before(CHECK, told(Verdict.CONFIRMED, count(now)), 10)

    assert check.passed is passed
    assert f"10 such rows were counted before the start, {now} now" in check.sentence


def test_what_nobody_had_counted_is_not_known() -> None:
    """Neither passed nor failed."""
    check = no_more_than_before(CHECK, told(Verdict.CONFIRMED, twice(10)), None)

    assert check.passed is None
    assert "nobody had checked" in check.sentence


def test_a_table_that_is_right_or_could_not_be_read_is_told_as_ever() -> None:
    """Ruled out is passed, whatever was before; no answer stays none."""
    clean = CHECK.model_copy(update={"passed": True})
    silent = CHECK.model_copy(update={"passed": None})

    assert no_more_than_before(clean, told(Verdict.RULED_OUT, twice(0)), None) == clean
    assert no_more_than_before(silent, told(Verdict.INCONCLUSIVE, None), 10) == silent
    assert no_more_than_before(silent, None, 10) == silent
