"""A person asks for a proof anew: it is on record, and owed until it is there."""

import threading
from collections.abc import Callable
from contextlib import closing
from types import SimpleNamespace

import pytest

from bot.adapters.clock import SystemClock
from bot.adapters.journal_sql import Store
from bot.incident.entries import VerificationRequested
from bot.incident.journal import WATERLINE
from bot.observation.errors import Refused
from bot.service.background import Background
from bot.service.incident_store import IncidentStore
from bot.service.proposals.verifying import Verifier
from bot.service.reconciler import Reconciler
from tests.decisions import ANA, BEN, PROPOSAL
from tests.incidents import Story
from tests.slack.people import PATIENCE_S, eventually


class Scene:
    """A rewind that was carried out, and whose proof did not pass."""

    def __init__(self, story: Story) -> None:
        self.story = story.opens().answers().proposes().approves().rewinds().verifies(passed=False)
        self.store = IncidentStore(story.journal, SystemClock())
        self.looks: list[bool] = []
        self.go, self.is_at_it = threading.Event(), threading.Event()
        self.go.set()

    def reconciler(self, *, is_leader: Callable[[], bool] = lambda: True) -> tuple[Reconciler, Background]:
        """Of one replica; what proves is replaced, what asks for the proof is not."""
        verifier = Verifier(self.store, None, None, {}, SystemClock())  # type: ignore[arg-type]
        verifier.verify = self._verify  # type: ignore[assignment, method-assign]
        background = Background(self.store, is_leader, workers=2)
        still = SimpleNamespace(
            expire_due=lambda _i: None, unfreeze_closed=lambda _i: None, diagnose_due=lambda _i: None,
            supersede_if_moved=lambda _i: None, release=None, look_in_turn=None,
            move=lambda _i, _moved: None, keep=lambda _i: None, look_back=lambda _i: None, under_review=lambda _i: None,
            look_first=lambda _i: None, resume=lambda _i, _run: None, run_due=lambda _i: None,
        )  # fmt: skip
        parts = [self.store, background, *[still] * 5, verifier, *[still] * 5, {}, SystemClock()]
        return Reconciler(*parts), background  # type: ignore[arg-type]

    def _verify(self, _incident: object, _proposal: object, *, is_asked: bool = False) -> None:
        self.looks.append(is_asked)
        self.is_at_it.set()
        assert self.go.wait(PATIENCE_S)
        self.finds_the_same()

    def finds_the_same(self) -> None:
        """One more proof that does not pass."""
        known = self.store.get(self.story.id).proposals[PROPOSAL].verified
        assert known is not None
        self.store.write(self.story.id, by=WATERLINE, decide=lambda _: [known])

    @property
    def requests(self) -> int:
        """How often it is on record that somebody asked."""
        return sum(isinstance(entry.body, VerificationRequested) for entry in self.store.get(self.story.id).entries)

    @property
    def is_owed(self) -> bool:
        """Whether somebody waits for the answer."""
        return self.store.get(self.story.id).proposals[PROPOSAL].is_proof_asked


@pytest.fixture
def scene(record: Store) -> Scene:
    """On a record of its own."""
    return Scene(Story(record.journal))


def test_it_is_proven_anew_once_for_each_time_that_somebody_asks(scene: Scene) -> None:
    """And not again at each later look at what is owed."""
    reconciler, background = scene.reconciler()
    with closing(background):
        reconciler.verify_again(scene.story.id, PROPOSAL, by=ANA)
        eventually(lambda: scene.looks and not scene.is_owed)
        reconciler.recover(scene.story.id, lambda: None)

    assert scene.looks == [True]
    assert scene.requests == 1


def test_what_is_asked_for_while_another_replica_leads_is_not_dropped(scene: Scene) -> None:
    """It works on the record at the moment of the click, and ends: the next look finds the request."""
    is_leader = False
    reconciler, background = scene.reconciler(is_leader=lambda: is_leader)
    with closing(background):
        reconciler.verify_again(scene.story.id, PROPOSAL, by=ANA)
        eventually(lambda: not background._under_way)
        before = list(scene.looks)
        is_leader = True
        reconciler.reconcile_all()
        eventually(lambda: not scene.is_owed)

    assert before == []
    assert scene.looks == [True]


def test_it_outlives_a_look_that_is_asked_for_after_it(scene: Scene) -> None:
    """While a recovery is under way the newest of the same work is what is done next."""
    reconciler, background = scene.reconciler()
    with closing(background):
        scene.go.clear()
        reconciler.verify_again(scene.story.id, PROPOSAL, by=ANA)
        assert scene.is_at_it.wait(PATIENCE_S)
        scene.finds_the_same()
        reconciler.verify_again(scene.story.id, PROPOSAL, by=BEN)
        reconciler.recover(scene.story.id, lambda: None)
        scene.go.set()
        eventually(lambda: not background._under_way)

    assert scene.requests == 2
    assert not scene.is_owed


def test_who_asks_while_it_is_owed_gets_that_one(scene: Scene) -> None:
    """Two people click at once; and a restart before the proof forgets neither."""
    reconciler, background = scene.reconciler(is_leader=lambda: False)
    with closing(background):
        reconciler.verify_again(scene.story.id, PROPOSAL, by=ANA)
        reconciler.verify_again(scene.story.id, PROPOSAL, by=BEN)
    restarted, background = scene.reconciler()
    with closing(background):
        restarted.reconcile_all()
        eventually(lambda: not scene.is_owed)

    assert scene.requests == 1
    assert scene.looks == [True]


def test_what_is_proven_is_not_proven_again(scene: Scene) -> None:
    """The message is of before; who clicks hears so."""
    scene.story.verifies()
    reconciler, background = scene.reconciler()

    with closing(background), pytest.raises(Refused, match="nothing to verify again"):
        reconciler.verify_again(scene.story.id, PROPOSAL, by=ANA)

    assert scene.requests == 0
