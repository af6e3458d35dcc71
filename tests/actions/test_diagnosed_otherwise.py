"""A proposal ends when the diagnosis that it is made for is excluded: approvers decide about a cause that holds."""

import pytest

from bot.actions import forward_job
from bot.adapters.clock import SystemClock
from bot.domain.diagnosis import CannotTell, Diagnosis, Examined, Excluded, ModeResult
from bot.domain.entries import Diagnosed
from bot.domain.errors import Superseded
from bot.domain.execution import ProposalState
from bot.domain.journal import WATERLINE
from bot.domain.proposal import Proposal
from bot.service.proposing import Proposals
from tests.actions.scene import MODE, Scene
from tests.actions.test_given_up import planned, rehearsed
from tests.little_flink import JOB
from tests.rewound import BEN
from tests.tables import job


@pytest.fixture
def waiting(scene: Scene) -> Proposal:
    """The job has ended, and its restart is approved."""
    scene.flink.stop(JOB, job("a"))
    plan = scene.plan()
    return scene.approved(forward_job.propose(plan), plan)


def diagnosed(scene: Scene, examined: Examined) -> Proposals:
    """Evidence that came since says this of the mode; who looks after what waits."""
    told = Diagnosed(diagnosis=Diagnosis(results=(ModeResult(mode=MODE, examined=examined),)))
    scene.store.write(scene.incident, by=WATERLINE, decide=lambda _i: [told])
    return Proposals(scene.store, scene.observer, None, {}, SystemClock())  # type: ignore[arg-type]


def test_it_is_superseded_with_the_reason(scene: Scene, waiting: Proposal) -> None:
    """Whoever looks at it reads why."""
    diagnosed(scene, Excluded(reason="The evidence says otherwise.")).supersede_if_moved(scene.incident)

    view = scene.view(waiting.id)
    assert view.state is ProposalState.SUPERSEDED
    assert "“as the test says” (F0) is excluded now. The evidence says otherwise." in (
        view.ended.reason if view.ended else ""
    )


def test_it_is_not_begun_either(scene: Scene, waiting: Proposal) -> None:
    """The diagnosis came a moment before the click."""
    diagnosed(scene, Excluded(reason="The evidence says otherwise."))

    with pytest.raises(Superseded, match="The diagnosis has changed"):
        scene.executions.begin(scene.incident, waiting.id, by=BEN)

    assert "start" not in scene.calls


def test_a_mode_that_is_only_not_known_any_more_ends_nothing(scene: Scene, waiting: Proposal) -> None:
    """Evidence may be stale for a while."""
    diagnosed(scene, CannotTell(missing=("ledger",))).supersede_if_moved(scene.incident)

    assert scene.view(waiting.id).state is ProposalState.APPROVED


def test_what_follows_a_rehearsal_is_not_ended_by_what_that_has_changed(scene: Scene) -> None:
    """The job stands still for it, and so its fault is not to be seen."""
    rehearsed(scene)
    plan = planned(scene)
    waits = scene.approved(forward_job.propose(plan), plan)

    diagnosed(scene, Excluded(reason="No run is alive.")).supersede_if_moved(scene.incident)

    assert scene.view(waits.id).state is ProposalState.APPROVED
