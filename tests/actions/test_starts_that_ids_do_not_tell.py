"""A start without state under one job id, whose checkpoint ids only rise (F4), is held against what main has: its
positions fall, and its commits bring rows again. A commit that was made twice (F1) is no such start."""

import pytest

from bot.actions._passed import must_have_passed
from bot.domain.action import Plan
from bot.domain.errors import Refused
from bot.domain.findings import DuplicateFilesFinding
from tests.actions.scene import Scene
from tests.actions.test_copies_still_to_come import A, newest, planned, with_copies_by
from tests.little_flink import JOB


def read_anew(scene: Scene, commits: int) -> Plan:
    """Run a had committed up to 29 by checkpoint 3, and began without state: IcebergSink passed over checkpoints 1 to
    3, which main had, so that its first commits carry 4 and 5."""
    for place in range(commits):
        scene.flink._commit(A, 4 + place, range(10 * place, 10 * place + 10))
    return falling(planned(scene))


def falling(plan: Plan) -> Plan:
    """What checkpoint 4 brought begins at nothing again."""
    ledger = plan.case.ledger
    assert ledger is not None
    rows = tuple(
        row.model_copy(update={"position_from": row.position_from - 30, "position_until": row.position_until - 30})
        if (row.checkpoint_id or 0) > 3 and row.position_from is not None and row.position_until is not None
        else row
        for row in ledger.rows
    )
    case = plan.case.model_copy(update={"ledger": ledger.model_copy(update={"rows": rows})})
    return plan.model_copy(update={"case": case})


def not_looked_for_copies(plan: Plan) -> Plan:
    """A commit can be dropped without that."""
    return plan.model_copy(update={"case": plan.case.model_copy(update={"extra_copies": None})})


def test_it_has_to_pass_what_main_has(scene: Scene) -> None:
    """It has read up to 19 again, and main has up to 29."""
    plan = read_anew(scene, 2)

    with pytest.raises(Refused, match=r"up to source position 29; since its last start it has committed up to 19\."):
        must_have_passed(with_copies_by(plan, scene.snapshot("a", 4), scene.snapshot("a", 5)))


def test_so_it_has_where_a_compaction_hides_who_brought_the_copies(scene: Scene) -> None:
    """No commit that was made twice accounts for them."""
    with pytest.raises(Refused, match=r"it has committed up to 19\."):
        must_have_passed(read_anew(scene, 2))


def test_while_it_is_down_below_that_the_approver_reads_it(scene: Scene) -> None:
    """Nobody waits for a run that does not go on."""
    read_anew(scene, 2)
    scene.flink.stop(JOB, A)

    (said,) = must_have_passed(falling(planned(scene)))

    assert "The job is down, at source position 19 of 29 that main has" in said


def test_once_it_has_passed_that_nothing_is_said(scene: Scene) -> None:
    """What comes from then on main does not have."""
    assert must_have_passed(read_anew(scene, 3)) == ()


def test_where_nobody_looked_for_copies_the_approver_reads_that_positions_fall(scene: Scene) -> None:
    """They may fall by nature, as of a source of several partitions that is not declared so."""
    (said,) = must_have_passed(not_looked_for_copies(read_anew(scene, 2)))

    assert "It is not known whether run aaaaaa has read past all rows on main: its source positions fall" in said


def test_positions_that_fall_without_a_copy_are_no_start(scene: Scene) -> None:
    """Checkpoint 2 was made twice (F1), and only that brought rows again."""
    scene.flink._commit(A, 2, range(10, 20))
    again = newest(scene)
    plan = with_copies_by(read_anew(scene, 2), again)

    assert must_have_passed(plan) == ()


def test_copies_whose_positions_are_not_told_are_said_to_the_approver(scene: Scene) -> None:
    """Those of a commit that was made twice are not: it brings no others."""
    scene.flink.checkpoints(A, 1)
    plan = planned(scene, told=False)

    (said,) = must_have_passed(with_copies_by(plan, scene.snapshot("a", 4)))

    assert "the commit history lacks source positions of its commits" in said
    assert must_have_passed(not_looked_for_copies(plan)) == ()


def test_so_they_are_where_the_ledger_does_not_reach_its_first_commits(scene: Scene) -> None:
    """Of the first one, which may have been far above, nothing is told."""
    plan = planned(scene)
    ledger = plan.case.ledger
    assert ledger is not None
    shorter = ledger.model_copy(update={"rows": ledger.rows[1:]})

    (said,) = must_have_passed(plan.model_copy(update={"case": plan.case.model_copy(update={"ledger": shorter})}))

    assert "the commit history does not reach the first commits of it" in said


def test_a_newer_checkpoint_that_names_older_files_is_no_start(scene: Scene) -> None:
    """Its id is above all others, and what it brought again is not: the very files of an older one (F1)."""
    plan = read_anew(scene, 1)
    files = DuplicateFilesFinding(files_checked=4, count=1, extra_rows=10, files=(), again=(newest(scene),))
    named = plan.model_copy(update={"case": plan.case.model_copy(update={"duplicate_files": files})})

    assert must_have_passed(not_looked_for_copies(named)) == ()
    assert must_have_passed(with_copies_by(named, newest(scene))) == ()


def test_nor_is_the_newest_checkpoint_that_was_made_twice(scene: Scene) -> None:
    """A run that alone wrote the table is asked nothing for that, whatever the ledger tells."""
    scene.flink._commit(A, 3, range(20, 30))

    for told in (True, False):
        assert must_have_passed(with_copies_by(planned(scene, told=told), newest(scene))) == ()
