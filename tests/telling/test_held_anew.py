"""Held notices that are asked for anew, by somebody else or under another policy, while a decision is looked up."""

from collections.abc import Callable, Sequence

import pytest

from bot.domain.approval import ApprovalPolicy
from bot.domain.entries import NoticesDecided, NoticesHeld, NoticesPreviewed
from bot.domain.errors import Refused
from bot.domain.ids import UserId
from bot.domain.notice import Notice
from bot.service.holding import Holding
from bot.service.incident_store import IncidentStore
from bot.service.other_doubts import OtherDoubts
from tests.decisions import ANA, BEN, EVE
from tests.telling.conftest import Scene

OPEN_TO_ALL, EVE_ONLY = ApprovalPolicy(groups=("S0A",)), ApprovalPolicy(users=(EVE,))


class SlowGroups:
    """While Slack tells that Ben is in the group, Ana withdraws and Ben asks for the very same, which Eve decides."""

    def __init__(self, store: IncidentStore, scene: Scene) -> None:
        self._store, self._scene = store, scene

    def members(self, _groups: Sequence[str]) -> frozenset[UserId]:
        """See the port."""
        withdrawal = NoticesDecided(name="seen", yes=False, complete=True, reason="No.")
        self._store.write(self._scene.story.id, by=ANA, decide=lambda _: [withdrawal])
        held = NoticesHeld(name="seen", policy=EVE_ONLY, step=None)
        self._store.write(self._scene.story.id, by=BEN, decide=lambda _: [held])
        return frozenset({BEN})


@pytest.mark.parametrize(
    "decides",
    [
        lambda holding, incident: holding.approve(incident, "seen", by=BEN),
        lambda holding, incident: holding.turn_down(incident, "seen", "Not so.", by=BEN),
    ],
)
def test_a_decision_counts_for_the_asking_that_it_was_looked_up_for(
    scene: Scene, decides: Callable[[Holding, object], object]
) -> None:
    """Else the asker would approve what the asker asks for, and whom the policy does not name would decide."""
    notice = Notice(kind="update", revision=1, consumer="revenue_daily", channel="C0REVENUE1", text="Under review.")
    scene.story.says(NoticesPreviewed(name="seen", notices=(notice,)))
    scene.story.says(NoticesHeld(name="seen", policy=OPEN_TO_ALL, step=None), by=ANA)
    scene.clock.at = scene.story.now
    store = IncidentStore(scene.story.journal, scene.clock)
    holding = Holding(store, SlowGroups(store, scene), scene.clock, OtherDoubts(store, None))

    with pytest.raises(Refused, match=rf"asked for again meanwhile.*<@{BEN}> asked for them anew"):
        decides(holding, scene.story.id)

    view = store.get(scene.story.id).held["seen"]
    assert (view.asked_by, view.said_yes, view.decided) == (BEN, (), None)
    assert store.get(scene.story.id).notices == {}
