"""A job that stands still for a repair whose branch somebody has removed by hand is started again by giving it up."""

import pytest

from bot.actions import drop_repair_branch, publish_repair
from bot.domain.errors import Refused
from bot.domain.rehearsals import standing_job
from tests.actions.scene import ProposalState, Scene
from tests.actions.test_given_up import BRANCH, changed, given_up, planned, rehearsed
from tests.rewound import ANA
from tests.tables import job


def removed_by_hand(scene: Scene) -> None:
    """Somebody takes the branch for a leftover."""
    changed(scene, lambda table: table.manage_snapshots().remove_branch(BRANCH).commit())


def test_giving_it_up_starts_the_job_and_ends_the_question(scene: Scene) -> None:
    """From what the rehearsal's stop took."""
    rehearsed(scene)
    removed_by_hand(scene)
    asked_before = standing_job(scene.store.get(scene.incident))

    view = given_up(scene)

    assert asked_before is not None
    assert standing_job(scene.store.get(scene.incident)) is None
    assert len(scene.alive) == 1
    assert scene.positions() == list(range(50))
    assert f"Branch {BRANCH} is already gone" in " ".join(view.proposal.preview.sentences)
    assert f"Branch {BRANCH} is already gone and the job starts again" in view.proposal.preview.sure
    assert all(check.passed for check in scene.checked(view)), scene.checked(view)


def test_it_ends_the_question_also_where_people_have_started_the_job(scene: Scene) -> None:
    """Then nothing is left to be done."""
    rehearsed(scene)
    removed_by_hand(scene)
    savepoint = scene.flink.savepoints / f"savepoint-{job('a')[:6]}-{3:012x}"
    scene.flink.submit(job("b"), at_checkpoint=3, restored=savepoint)

    given_up(scene)

    assert standing_job(scene.store.get(scene.incident)) is None
    assert scene.alive == [job("b")]


def test_its_publication_says_so(scene: Scene) -> None:
    """Whoever asks for that is sent to the other way out."""
    rehearsed(scene)
    removed_by_hand(scene)

    with pytest.raises(Refused, match="somebody has removed the branch") as refused:
        publish_repair.propose(planned(scene))

    assert "/waterline propose drop_repair_branch" in refused.value.remedy


def test_a_branch_that_goes_once_it_was_approved_ends_the_approval(scene: Scene) -> None:
    """It is proposed anew over the table as it is."""
    rehearsed(scene)
    plan = planned(scene)
    made = scene.approved(drop_repair_branch.propose(plan), plan)
    scene.executions.begin(scene.incident, made.id, by=ANA)
    removed_by_hand(scene)

    scene.executions.carry_on(scene.incident, made.id)

    assert scene.view(made.id).state is ProposalState.REFUSED
    assert "start" not in scene.calls
    assert scene.alive == []
