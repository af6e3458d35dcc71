"""A run was told to stop, and the cluster lost its memory: nobody knows what became of it until a person looks."""

import pytest

from bot.domain.entries import ExecutionEnded
from bot.domain.errors import Refused
from bot.domain.execution import ProposalState
from bot.domain.ids import UserId
from bot.domain.review import review
from bot.domain.timeline import sentence
from tests import orders_table as orders
from tests.execution.forgotten_run import EVE, Archive, Scene, scene
from tests.little_flink import JOB
from tests.rewound import ANA, BEN
from tests.tables import ORDERS

__all__ = ["scene"]


def test_a_history_server_tells_what_the_cluster_has_forgotten(scene: Scene) -> None:
    """Nobody has to settle anything: it goes on by itself."""
    scene.damaged.history = Archive()
    scene.carries_on()
    before = scene.view.state
    assert scene.gone is not None
    scene.damaged.history = Archive(scene.gone)
    scene.carries_on()

    assert before is ProposalState.UNKNOWN
    assert scene.view.state is ProposalState.APPLIED
    assert "is FINISHED, by the history server." in scene.view.done[0].detail
    assert scene.calls == ["stop", "start"]


def test_what_can_be_seen_of_a_forgotten_run_is_told(scene: Scene) -> None:
    """Which runs are alive, and when it committed last: what a person needs who has to look."""
    scene.carries_on()
    scene.carries_on()

    assert scene.view.state is ProposalState.UNKNOWN
    assert scene.view.result is not None
    told = scene.view.result.sentence
    assert "Flink does not know run bbbbbb any more, and no history server is configured." in told
    assert f"Alive under the name {JOB}: no run. Run bbbbbb committed last at" in told
    assert "(checkpoint 6) and has not committed since." in told
    assert scene.calls == ["stop"]


def test_it_goes_on_once_an_approver_says_that_it_happened(scene: Scene) -> None:
    """Who, what and why are in the record; the review asks about it."""
    scene.carries_on()

    scene.settles(happened=True)
    scene.carries_on()

    assert scene.view.state is ProposalState.APPLIED
    assert scene.calls == ["stop", "start"]
    incident = scene.store.get(scene.incident)
    [(by, said)] = [(e.by, sentence(e)) for e in incident.entries if e.body.kind == "outcome-settled"]
    assert by == BEN
    assert said == (
        "Settled: step 1 of the execution happened; the execution continues. Nothing of it runs on any host."
    )
    [finding] = [f for f in review(incident, orders.observation(), orders.contract()) if f.contract == "approval"]
    assert f"<@{BEN}> settled at" in finding.observed
    assert finding.holds is False


def test_it_ends_once_an_approver_says_that_it_did_not_happen(scene: Scene) -> None:
    """Nothing is repeated; table and job can be looked at and proposed for again."""
    scene.carries_on()
    head = scene.damaged.catalog.load(ORDERS).head

    scene.settles(happened=False, reason="It still writes, under another JobManager.")
    scene.carries_on()

    assert scene.view.state is ProposalState.REFUSED
    assert scene.calls == ["stop"]
    assert scene.damaged.catalog.load(ORDERS).head == head
    ended = [e.body for e in scene.store.get(scene.incident).entries if isinstance(e.body, ExecutionEnded)][-1]
    assert ended.sentence.startswith(
        "A person confirmed that step 1 did not happen. Done: nothing. Not done: Stop run bbbbbb, Move main"
    )


@pytest.mark.parametrize(
    ("by", "reason", "answer"),
    [
        (ANA, "Gone.", "You proposed this, so somebody else must settle whether it happened. Ask <@U0BEN00001>."),
        (
            EVE,
            "Gone.",
            "You are not an approver for this, so you cannot settle whether it happened. Ask <@U0BEN00001>.",
        ),
        (BEN, " ", "Settling an outcome needs a reason. Say what you checked and what you saw."),
    ],
)
def test_only_an_approver_settles_it_and_with_a_reason(scene: Scene, by: UserId, reason: str, answer: str) -> None:
    """The proposer does not vouch for what they have asked for."""
    scene.carries_on()

    with pytest.raises(Refused) as refused:
        scene.settles(happened=True, by=by, reason=reason)

    assert str(refused.value) == answer
    assert scene.view.state is ProposalState.UNKNOWN


def test_what_the_world_tells_by_now_counts_more_than_a_word(scene: Scene) -> None:
    """The history server came back between the look and the click."""
    scene.carries_on()
    assert scene.gone is not None
    scene.damaged.history = Archive(scene.gone)

    with pytest.raises(Refused, match="Waterline now knows that step 1 happened"):
        scene.settles(happened=False)

    scene.carries_on()
    assert scene.view.state is ProposalState.APPLIED
