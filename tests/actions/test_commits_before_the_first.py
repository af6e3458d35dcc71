"""What others commit after a start was accepted, and before its run has committed, does not fail its proof."""

import re
from collections.abc import Callable
from contextlib import closing

import pytest

from bot.actions import restart_from_stop_savepoint
from bot.domain.entries import Check
from bot.domain.execution import ProposalState
from bot.domain.ids import JobId
from tests.actions.scene import Scene
from tests.actions.test_guests_above_a_stop import commits, guest_above
from tests.little_flink import open_catalog
from tests.tables import ORDERS, job


def first_check(scene: Scene, between: Callable[[], None]) -> Check:
    """Of the first commit, where `between` happens right before it."""
    plan = scene.plan()
    commit = scene.flink._commit

    def after_others(job_id: JobId, number: int, positions: range) -> None:
        scene.flink._commit = commit  # type: ignore[method-assign]
        between()
        commit(job_id, number, positions)

    scene.flink._commit = after_others  # type: ignore[method-assign]
    view = scene.carries_out(restart_from_stop_savepoint.propose(plan), plan)
    assert view.state is ProposalState.APPLIED, view.result
    return checked(scene)


def checked(scene: Scene) -> Check:
    """As “Verify again” finds it."""
    view = scene.view(scene.plan().proposal)
    return next(check for check in scene.checked(view) if check.name.startswith("The first commit"))


def _guest(scene: Scene) -> None:
    commits(scene, "e", 10, range(906, 909), operator="ee" * 16)


@pytest.mark.parametrize(
    ("who", "said"),
    [(_guest, r"by Flink run eeeeee \(checkpoint 10\)"), (Scene.backfill_commits, "by spark app local-17")],
    ids=["a guest", "another engine"],
)
def test_what_does_not_bind_the_job_is_named_and_passes(scene: Scene, who: Callable[[Scene], None], said: str) -> None:
    """The sink passes over it, and so does the proof, each time that it is asked for."""
    guest_above(scene)

    check = first_check(scene, lambda: who(scene))

    assert check.passed is True, check
    assert re.search(rf"Before that came …\d{{6}} {said}, which is not of this job\.", check.sentence)


def test_a_second_run_of_the_job_in_between_fails_it(scene: Scene) -> None:
    """It has read what the new run reads, too: its rows are there twice."""
    guest_above(scene)

    def second_run() -> None:
        scene.flink.submit(job("b"), at_checkpoint=6)
        commits(scene, "b", 7, range(60, 70))

    check = first_check(scene, second_run)

    assert check.passed is False
    assert "by Flink run bbbbbb (checkpoint 7). It is not known to be of another job" in check.sentence


def test_a_run_that_nobody_knows_fails_it_until_it_is_seen_to_write_beside_the_job(scene: Scene) -> None:
    """It came after the stop: it may have gone on from there, unless the job goes on committing past it."""
    at_first = first_check(scene, lambda: commits(scene, "d", 1, range(900, 903), operator="dd" * 16))
    scene.flink.checkpoints(scene.alive[0])
    later = checked(scene)

    assert (at_first.passed, later.passed) == (False, True)


def test_a_main_that_was_rolled_back_below_the_start_fails_it(scene: Scene) -> None:
    """What the run had begun from is not there any more, though its own commits follow each other."""
    guest_above(scene)
    below = scene.snapshot("a", 5)

    def rolled_back() -> None:
        with closing(open_catalog(scene.folder)) as catalog:
            catalog.load_table(ORDERS).manage_snapshots().rollback_to_snapshot(below).commit()

    assert first_check(scene, rolled_back).passed is False
