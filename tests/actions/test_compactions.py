"""Who runs a compaction is asked to pause it."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from bot.actions import take_savepoint
from bot.actions._effects import Hands
from bot.adapters.schedulers import HttpSchedulers
from bot.domain.entries import (
    EffectEnded,
    EffectStarted,
    ExecutionEnded,
    ExecutionStarted,
    IncidentClosed,
    MaintenanceMarked,
)
from bot.domain.errors import CommitRefused, CouldNotLook
from bot.domain.execution import ProposalState
from bot.domain.freezes import still_paused
from bot.domain.setup import Compaction
from bot.domain.table import TableState
from bot.ports import TableChange
from bot.service.executing import Executions
from bot.service.maintenance import Maintenance
from bot.slack.blocks.card import card_message
from tests.actions.scene import Scene
from tests.adapters.vended_s3 import s3
from tests.rewound import ANA
from tests.tables import ORDERS
from tests.telling.receivers import Hook, hook

__all__ = ["s3"]


@pytest.fixture
def airflow() -> Iterator[Hook]:
    """A scheduler that does as it is told."""
    with hook() as taken:
        yield taken


@pytest.fixture
def paused(scene: Scene, airflow: Hook) -> Scene:
    """The table's nightly compaction is known."""
    nightly = Compaction(
        name="the nightly compaction",
        url=airflow.url,
        pause={"is_paused": True},
        resume={"is_paused": False},
        token_variable="AIRFLOW_TOKEN",
    )
    schedulers = HttpSchedulers({ORDERS: (nightly,)}, {"AIRFLOW_TOKEN": "marked-token"})
    hands = scene.observer.hands
    scene.observer.hands = Hands(hands.catalog, hands.jobs, hands.replays, schedulers)
    scene.maintenance = Maintenance(scene.store, scene.catalog, schedulers)
    return scene


class TwoHoursALook:
    """The clock of a bot that looks so seldom that its second look has waited for long enough."""

    def __init__(self) -> None:
        self._now = datetime.now(UTC)

    def now(self) -> datetime:
        """See the port."""
        self._now += timedelta(hours=2)
        return self._now


def marks(scene: Scene) -> list[str]:
    """What became of the maintenance beside proposals, in order."""
    bodies = (entry.body for entry in scene.store.get(scene.incident).entries)
    return [body.status for body in bodies if isinstance(body, MaintenanceMarked)]


def asked(airflow: Hook) -> list[bool]:
    """What the scheduler heard, in order."""
    return [json.loads(body)["is_paused"] for _, body in airflow.requests]


def closes(scene: Scene) -> None:
    """The incident ends."""
    scene.store.write(scene.incident, by=ANA, decide=lambda _i: [IncidentClosed(reason="Over.")])


def test_a_proposal_pauses_it_first_and_the_end_lets_it_go_on(paused: Scene, airflow: Hook) -> None:
    """The preview says so; a scheduler that is away keeps the table out of no maintenance, and is asked until it
    answers."""
    plan = paused.plan().model_copy(update={"compactions": ("the nightly compaction",)})

    view = paused.carries_out(take_savepoint.propose(plan), plan)
    first = asked(airflow)
    closes(paused)
    airflow.answers = [(503, {}), (503, {}), (200, {})]
    paused.maintenance.settle(paused.incident)
    away = paused.store.get(paused.incident)
    for _ in range(3):
        paused.maintenance.settle(paused.incident)

    assert "Pause the nightly compaction until then." in view.proposal.preview.sentences[0]
    assert view.done[0].detail.endswith("The nightly compaction is paused.")
    assert first == [True]
    assert airflow.requests[0][0]["authorization"] == "Bearer marked-token"
    assert "gc.enabled" not in paused.table.properties
    assert not away.is_frozen
    assert "found the nightly compaction: HTTP 503. Waterline tries again." in str(still_paused(away))
    assert "HTTP 503" in str([block.to_dict() for block in card_message(away, {}, {}.get, None)[1]])
    assert asked(airflow) == [True, False, False, False]
    assert marks(paused) == ["thawed", "resuming", "resumed"]
    assert still_paused(paused.store.get(paused.incident)) is None


def test_a_scheduler_that_flaps_is_put_on_record_once(paused: Scene, airflow: Hook) -> None:
    """It is asked until it does as it is told; whatever it answers meanwhile calls nobody again."""
    paused.maintenance.freeze(paused.incident, by=ANA)
    airflow.answers = [(503, {}), (502, {}), (503, {}), (502, {}), (200, {})]

    paused.maintenance.thaw(paused.incident, by=ANA)
    for _ in range(5):
        paused.maintenance.settle(paused.incident)

    assert asked(airflow) == [True, False, False, False, False, False]
    assert marks(paused) == ["freezing", "frozen", "thawed", "resuming", "resumed"]


def test_whoever_thaws_hears_that_it_is_still_paused(paused: Scene, airflow: Hook) -> None:
    """And may ask once more, also while the incident goes on."""
    paused.maintenance.freeze(paused.incident, by=ANA)
    airflow.answers = [(503, {}), (200, {})]

    first = paused.maintenance.thaw(paused.incident, by=ANA)
    owed = paused.maintenance.is_owed(paused.store.get(paused.incident))
    paused.maintenance.thaw(paused.incident, by=ANA)

    assert "is no longer frozen" in first
    assert "A compaction of sales.orders could not be resumed." in first
    assert owed
    assert not paused.maintenance.is_owed(paused.store.get(paused.incident))


def test_a_freeze_by_hand_says_whether_it_is_paused(paused: Scene, airflow: Hook) -> None:
    """A scheduler that is away keeps nobody from freezing the rest, and is not passed over in silence."""
    airflow.answers = [(500, {}), (200, {})]

    first = paused.maintenance.freeze(paused.incident, by=ANA)
    paused.maintenance.thaw(paused.incident, by=ANA)
    second = paused.maintenance.freeze(paused.incident, by=ANA)

    assert "The nightly compaction could not be paused (HTTP 500): it may come in between." in first
    assert "The nightly compaction is paused." in second
    assert asked(airflow) == [True, False, True]


def test_nothing_stays_paused_where_nothing_was_frozen(paused: Scene, airflow: Hook) -> None:
    """The catalog refused the freeze."""

    def down(table: str, change: TableChange) -> TableState:
        raise CommitRefused("The catalog is down.", "", "")

    paused.catalog.commit = down  # type: ignore[method-assign, assignment]

    with pytest.raises(CommitRefused):
        paused.maintenance.freeze(paused.incident, by=ANA)

    assert asked(airflow) == [True, False]
    assert not paused.store.get(paused.incident).is_frozen
    assert not paused.maintenance.is_owed(paused.store.get(paused.incident))


def test_what_is_still_paused_does_not_hide_why_nothing_was_frozen(paused: Scene, airflow: Hook) -> None:
    """Catalog and scheduler are both in trouble: whoever asked hears of the first, and the second is owed."""

    def down(table: str, change: TableChange) -> TableState:
        raise CommitRefused("The catalog is down.", "", "")

    paused.catalog.commit = down  # type: ignore[method-assign, assignment]
    airflow.answers = [(200, {}), (503, {}), (200, {})]

    with pytest.raises(CommitRefused, match="The catalog is down"):
        paused.maintenance.freeze(paused.incident, by=ANA)
    owed = still_paused(paused.store.get(paused.incident))
    paused.maintenance.settle(paused.incident)

    assert owed is not None
    assert marks(paused) == ["freezing", "thawed", "resuming", "resumed"]


def test_nothing_stays_paused_by_a_proposal_that_did_not_come_to_freeze(paused: Scene, airflow: Hook) -> None:
    """The catalog was away for longer than an execution waits for it without a break: then the compactions go on."""

    def away(table: str, change: TableChange) -> TableState:
        raise CouldNotLook("The catalog is away.", "", "")

    plan, executions = paused.plan(), paused.executions
    paused.catalog.commit = away  # type: ignore[method-assign, assignment]
    view = paused.carries_out(take_savepoint.propose(plan), plan)
    paused.maintenance.settle(paused.incident)
    waiting = asked(airflow)
    later = Executions(paused.store, paused.observer, executions._proposals, TwoHoursALook())
    later.carry_on(paused.incident, view.proposal.id)
    later.carry_on(paused.incident, view.proposal.id)
    paused.maintenance.settle(paused.incident)

    assert waiting == [True]
    assert paused.view(view.proposal.id).state is ProposalState.REFUSED
    assert asked(airflow) == [True, True, True, False]
    assert not paused.maintenance.is_owed(paused.store.get(paused.incident))


def test_an_older_record_of_a_refused_freeze_owes_nothing(paused: Scene, airflow: Hook) -> None:
    """It asked nobody to pause; what people have paused since is theirs."""
    plan = paused.plan()
    proposal = paused.approved(take_savepoint.propose(plan), plan).id
    older = [
        ExecutionStarted(proposal=proposal),
        EffectStarted(proposal=proposal, index=0),
        EffectEnded(proposal=proposal, index=0, how="refused", detail="The catalog refused."),
        ExecutionEnded(proposal=proposal, outcome="refused", sentence="The catalog refused."),
    ]

    paused.store.write(paused.incident, by=ANA, decide=lambda _i: older)
    paused.maintenance.settle(paused.incident)

    assert not paused.maintenance.is_owed(paused.store.get(paused.incident))
    assert asked(airflow) == []


def test_where_nothing_of_ours_was_frozen_nobody_is_asked(paused: Scene, airflow: Hook) -> None:
    """A freeze by hand stays with whoever made it, and so does what they have paused; a thaw without a freeze, too."""
    paused.maintenance.thaw(paused.incident, by=ANA)
    paused.sets("gc.enabled", "false")
    paused.sets("waterline.maintenance", "frozen")

    said = paused.maintenance.freeze(paused.incident, by=ANA)

    assert said == "Maintenance of sales.orders is already frozen by hand."
    assert asked(airflow) == []
    assert not paused.store.get(paused.incident).is_frozen


def test_a_missing_token_is_named_without_asking(airflow: Hook) -> None:
    """Nobody is asked without the token, and the answer says which variable to set."""
    nightly = Compaction(name="compaction", url=airflow.url, pause={}, resume={}, token_variable="NOT_SET")

    told = HttpSchedulers({ORDERS: (nightly,)}, {}).pause(ORDERS)

    assert told == ("Compaction could not be paused (NOT_SET is not set): it may come in between.",)
    assert airflow.requests == []
