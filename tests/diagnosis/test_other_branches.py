"""A job that writes another branch than main: what is judged is main, and nothing of it is said of the job."""

import pytest

from bot.diagnosis import commit_not_made_yet, no_snapshot_advanced, recovered_by_itself
from bot.domain.diagnosis import CannotTell, Excluded, Matches
from bot.domain.ids import OperatorId
from bot.domain.table import Ref
from tests.cases import Tale

SECOND = OperatorId("dd" * 16)


def on_branch(tale: Tale, *checkpoints: int, sink: OperatorId | None = None) -> Tale:
    """The run commits these to branch `audit`; main stays."""
    main = tale.head
    tale.head = next((ref.snapshot_id for ref in tale.refs if ref.name == "audit"), main)
    for checkpoint in checkpoints:
        tale.completes("a", checkpoint).stages("a", checkpoint)
        if sink is not None:
            tale.by_sink(sink)
        tale.head = tale.snapshots[-1].snapshot_id
    tale.refs = [Ref(name="audit", kind="branch", snapshot_id=tale.snapshots[-1].snapshot_id)]
    tale.head = main
    return tale


def job() -> Tale:
    return Tale().flink_runs("a").completes("a", 1, 2, 3).commits("a", 1, 2, 3)


@pytest.mark.parametrize("last", [9, 30])
def test_main_is_not_called_healthy_for_a_job_that_writes_a_branch(last: int) -> None:
    """It was, with six commits of the living run on the branch; and none of them is missing either, however many."""
    found = recovered_by_itself.examine(on_branch(job(), *range(4, last + 1)).looked_at())

    assert isinstance(found, CannotTell)
    (missing,) = found.missing
    assert "branch audit" in missing
    assert "what is judged here is main" in missing
    assert f"up to checkpoint {last}" in missing


def test_what_the_branch_holds_did_carry_rows() -> None:
    """F11 said of the six checkpoints that they carried none; of what comes after them it may."""
    tale = on_branch(job(), *range(4, 10))

    found = commit_not_made_yet.examine(tale.looked_at())
    later = commit_not_made_yet.examine(tale.completes("a", 10, 11).looked_at())

    assert isinstance(found, Excluded)
    assert "9 is on branch audit" in found.reason
    assert "no rows" not in found.reason
    assert isinstance(later, Excluded)
    assert "2 checkpoints of run aaaaaa since 9" in later.reason


def test_a_dead_job_that_wrote_a_branch_does_not_leave_main_right() -> None:
    """The same rule: a restore that pairs with main would write the branch."""
    found = no_snapshot_advanced.examine(on_branch(job(), 4, 5).becomes("a", "FAILED").looked_at())

    assert isinstance(found, CannotTell)


def test_the_next_run_is_judged_by_the_last_one_until_it_commits() -> None:
    """It may go on with the branch, or come back to main."""
    tale = on_branch(job(), 4, 5).becomes("a", "FINISHED").flink_runs("b", restored=5)

    before = recovered_by_itself.examine(tale.looked_at())
    after = recovered_by_itself.examine(tale.completes("b", 6).commits("b", 6).looked_at())

    assert isinstance(before, CannotTell)
    assert isinstance(after, Matches)


@pytest.mark.parametrize("sink", [SECOND, None], ids=["two sinks", "one sink for both"])
def test_a_job_that_writes_both_is_judged_by_main(sink: OperatorId | None) -> None:
    """The branch's rows are named as not looked at; a dynamic sink commits both under one id, one after the other."""
    tale = job().completes("a", 4).commits("a", 4)
    on_branch(tale, 4, sink=sink)

    assert isinstance(recovered_by_itself.examine(tale.looked_at()), Matches)


def test_a_sink_that_left_main_is_told_beside_one_that_stays() -> None:
    """Found by the property of `healthy`: another sink of the run has its newest commit on main."""
    tale = job().commits("a", 3).by_sink(SECOND)

    found = recovered_by_itself.examine(on_branch(tale, 4, 5).looked_at())

    assert isinstance(found, CannotTell)


def test_a_branch_of_another_engine_or_job_is_no_branch_of_the_job() -> None:
    """An audit branch of Spark, and what a guest by another sink commits beside main."""
    tale = job()
    tale.stages(None, 0).stages("z", 7).by_sink(SECOND)
    tale.refs = [
        Ref(name=name, kind="branch", snapshot_id=s.snapshot_id)
        for name, s in zip(("spark", "guest"), tale.snapshots[-2:], strict=True)
    ]

    assert isinstance(recovered_by_itself.examine(tale.looked_at()), Matches)
