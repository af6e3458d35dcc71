"""Of two living runs people choose which one stays; the other is stopped as an approved effect."""

import pytest

from bot.actions import resolve_fork
from bot.domain.deciding import Reject, decide
from bot.domain.effects import StopFork
from bot.domain.errors import Refused
from bot.domain.execution import ProposalState
from tests.actions.scene import Scene
from tests.actions.test_forks_and_savepoints import forked
from tests.rewound import BEN
from tests.tables import job


def test_the_run_that_is_named_stays_and_the_other_is_stopped(scene: Scene) -> None:
    """Against the diagnosis; the choice is in the record, and the next diagnosis is told of it."""
    forked(scene)
    plan = scene.plan(wrong_run=job("b")).model_copy(update={"keeps": "bbbb"})

    view = scene.carries_out(resolve_fork.propose(plan), plan)

    assert view.state is ProposalState.APPLIED
    assert scene.alive == [job("b")]
    assert scene.store.get(scene.incident).kept_run == job("b")
    assert any("a person chose it" in sentence for sentence in view.proposal.preview.sentences)


def test_a_choice_holds_until_it_is_turned_down(scene: Scene) -> None:
    """An approved proposal that was overtaken is proposed again as it was chosen; a rejected one chose nothing."""
    forked(scene)
    plan = scene.plan(wrong_run=job("b")).model_copy(update={"keeps": "bbbb"})
    made = scene.approved(resolve_fork.propose(plan), plan)
    later = scene.plan(wrong_run=job("b"), number=2)
    later = later.model_copy(update={"case": later.case.model_copy(update={"keeps": job("b")})})

    again = resolve_fork.propose(later)
    rejected = decide(scene.view(made.id), Reject(reason="No."), by=BEN, at=plan.at)
    scene.store.write(scene.incident, by=BEN, decide=lambda _i: [rejected])  # type: ignore[list-item]

    assert StopFork(job="orders-to-iceberg", job_id=job("a"), keeps=job("b")) in again.effects
    assert scene.store.get(scene.incident).kept_run is None


def test_a_run_that_is_not_there_is_not_kept(scene: Scene) -> None:
    """The refusal names who is alive and how to say it."""
    forked(scene)
    plan = scene.plan(wrong_run=job("b")).model_copy(update={"keeps": "cccc"})

    with pytest.raises(Refused, match=r"run cccc and one other run alive; found .*aaaaaa.*keep=RUN"):
        resolve_fork.propose(plan)
