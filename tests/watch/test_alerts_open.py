"""Where the settings say so, a grave alert opens the incident itself: once, and not while people look already."""

from collections.abc import Iterator
from contextlib import nullcontext
from datetime import timedelta
from pathlib import Path

import pytest

from bot.adapters.lineage import AllLineage
from bot.adapters.table_files import FolderOfTable
from bot.domain.errors import CouldNotLook
from bot.domain.ids import IncidentId, Severity, TableName, UserId
from bot.domain.incident import Incident
from bot.domain.journal import WATERLINE
from bot.domain.table import TableState
from bot.domain.watch import Sign
from bot.service.alert_opening import AlertOpening
from bot.service.observing import Observer
from bot.service.opening import Opening
from bot.service.sightings import Sightings
from tests.decisions import ANA
from tests.runbook.shipped import shipped
from tests.slack.people import Responder, eventually
from tests.tables import ORDERS
from tests.watch.signs import sign
from tests.watch.watching_bot import WatchingBot
from tests.web.scene import REFUNDS, Scene, _setup


def alert(
    severity: Severity = "sev1", *, runbook: str = "failed-checkpoints", code: str = "alert", subject: str = "1"
) -> Sign:
    """As another system tells it."""
    told = {"source": "Alertmanager", "headline": "Checkpoints fail.", "name": "CheckpointsFail", "severity": severity}
    return sign(code, f"Alertmanager/{subject}").model_copy(update=told | {"runbook": runbook})


class Desk:
    """The settings name sev1 and Ana."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        setups = {name: _setup(name) for name in (ORDERS, REFUNDS)}
        observer = Observer(scene.catalog, setups, {}, AllLineage([]), FolderOfTable())
        self.channels = {ORDERS: "C0ORDERS01", REFUNDS: "C0REFUNDS1"}
        self.sightings = Sightings(scene.store.watched, scene.store.outbox, scene.incidents, scene.clock, self.channels)
        opening = Opening(scene.incidents, observer, shipped())
        self.begun: list[IncidentId] = []
        then = self.begun.append
        alone = scene.store.presence.alone_with
        self.opens = AlertOpening(opening, self.sightings, scene.incidents, ["sev1"], UserId(ANA), then, alone)

    def looks(self, of: Sign | None = None, *, at: str = "09:00", table: TableName = ORDERS) -> tuple[Incident, ...]:
        """It is told, and the watch has looked twice; every incident then."""
        if of is not None:
            self.scene.clock.at += timedelta(minutes=1)
            self.sightings.see(table, of, occasion=at)
        for _ in range(2):
            self.sightings.settle(table)
            self.opens.open_if_asked(table)
        return self.scene.incidents.all()


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    """A table and a record; nothing is open."""
    scene = Scene(tmp_path)
    yield Desk(scene)
    scene.close()


def test_it_opens_the_incident_once_in_the_name_of_who_responds(desk: Desk) -> None:
    """With the alert's symptom and words of ours, which consumers read first of all; once more when it comes anew."""
    [opened] = desk.looks(alert())
    desk.scene.id = opened.id
    desk.scene.closes()
    [still_one] = desk.looks()
    both = desk.looks(alert(), at="09:30")

    assert (opened.opened_by, opened.responder, opened.severity) == (WATERLINE, ANA, "sev1")
    assert (opened.opened.runbook.id, opened.opened.channel) == ("failed-checkpoints", "C0ORDERS01")
    assert opened.opened.summary == "An alert of Alertmanager told of sales.orders."
    assert not still_one.is_open
    assert [each.id for each in both] == ["wl-1", "wl-2"] == desk.begun


@pytest.mark.parametrize("of", [alert("sev2"), alert(code="message"), alert(code="F2")])
def test_what_is_not_named_opens_nothing(desk: Desk, of: Sign) -> None:
    """Other severities, what people write, and what the watch sees itself keep their button."""
    assert desk.looks(of) == ()


def test_what_is_muted_opens_nothing_until_it_is_told(desk: Desk) -> None:
    """Nobody wants to hear of it."""
    desk.sightings.mute(ORDERS, "CheckpointsFail", timedelta(hours=4), by=UserId(ANA))
    muted = desk.looks(alert())
    desk.scene.clock.at += timedelta(hours=5)

    assert muted == ()
    assert len(desk.looks()) == 1


def test_an_alert_beside_an_open_incident_opens_no_other(desk: Desk) -> None:
    """People look already; also when theirs has ended."""
    desk.scene.opens()
    desk.looks(alert())
    desk.scene.closes()

    assert len(desk.looks()) == 1


@pytest.fixture
def two(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """Refunds look like orders."""
    load = desk.scene.catalog.load
    monkeypatch.setattr(
        desk.scene.catalog, "load", lambda table: load(ORDERS).model_copy(update={"name": TableName(table)})
    )
    return desk


def test_where_people_look_at_another_table_it_waits_for_its_button(two: Desk) -> None:
    """What they type in the channel is meant for theirs; once that has ended, the alert opens its own."""
    two.channels[REFUNDS] = two.channels[ORDERS]
    [first] = two.looks(alert())
    meanwhile = two.looks(alert(subject="2"), table=REFUNDS)
    [told] = two.sightings.memory(REFUNDS).lasting
    two.scene.id = first.id
    two.scene.closes()

    assert [each.id for each in meanwhile] == [first.id]
    assert two.sightings.is_told(told.id)
    assert [each.opened.table for each in two.looks(table=REFUNDS)] == [ORDERS, REFUNDS]


def test_an_alert_of_two_tables_opens_one_incident(two: Desk) -> None:
    """Whoever sends alerts warns the consumers of one table; another alert opens that of the other."""
    two.looks(alert())
    of_one = two.looks(alert(), table=REFUNDS)
    of_two = two.looks(alert(subject="2"), table=REFUNDS)

    assert [each.opened.table for each in of_one] == [ORDERS]
    assert [each.opened.table for each in of_two] == [ORDERS, REFUNDS]


@pytest.mark.parametrize("runbook", ["no-such-symptom", "planned-savepoint"])
def test_a_label_that_names_no_symptom_opens_the_ordinary_one(desk: Desk, runbook: str) -> None:
    """An alert is no planned work."""
    [opened] = desk.looks(alert(runbook=runbook))

    assert opened.opened.runbook.id == "job-restarted"


def test_a_catalog_that_is_away_is_asked_again_at_the_next_look(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is lost by it, and the look goes on."""

    def away(_table: TableName) -> TableState:
        raise CouldNotLook("The catalog did not answer.", "The connection was refused.", "Look.")

    with monkeypatch.context() as patched:
        patched.setattr(desk.scene.catalog, "load", away)
        without = desk.looks(alert())

    assert without == ()
    assert len(desk.looks()) == 1


def test_the_bot_opens_it_after_a_look_and_the_alert_shows_it(ana: Responder, bot: WatchingBot) -> None:
    """The alert is told first, so whoever is to be notified is; then it leads to the incident."""
    services = bot.services
    then = services.duties.settle
    opens = AlertOpening(
        services.opening, bot.sightings, services.store, ["sev1"], UserId(ana.id), then, lambda _work: nullcontext(True)
    )
    bot.watch.after_each_look(opens.open_if_asked)
    bot.sightings.see(ORDERS, alert(), occasion="09:00")

    bot.looks(2)

    eventually(lambda: len(services.store.all()) == 1)
    ana.sees("Incident wl-1 is open on this table")
    ana.sees_on_card("under review")
