"""Alerts that name a job or a page, are over, or fire again under one fingerprint."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from bot.incident.approval import ApprovalPolicy
from bot.incident.entries import IncidentClosed
from bot.incident.setup import TableSetup
from bot.observation.ids import TableName
from bot.ports import Post
from bot.service.alerts import Alert, AlertService
from bot.service.watching.finding_store import FindingStore, post_key
from tests.decisions import ANA, CHANNEL
from tests.tables import CONTRACT
from tests.watch.signs import NINE, ORDERS, finding
from tests.web.conftest import scene
from tests.web.scene import Scene

__all__ = ["scene"]

TABLES = tuple(TableName(f"sales.{name}") for name in ("orders", "refunds", "parcels", "returns"))


@pytest.fixture
def finding_store(tmp_path: Path) -> Iterator[FindingStore]:
    """What is remembered of four tables."""
    scene = Scene(tmp_path)
    rooms = dict.fromkeys(TABLES, "C0ORDERS01")
    yield FindingStore(scene.store.watched, scene.store.outbox, scene.incidents, scene.clock, rooms)
    scene.close()


def desk(finding_store: FindingStore, tables: int) -> AlertService:
    """One job writes so many of them."""
    policies = {"default": ApprovalPolicy(users=("U0BEN00001",))}
    setups = {
        name: TableSetup(
            name=name, job="shop-to-lake" if place < tables else "another", contract=CONTRACT, consumers=(),
            policies=policies, next_update_minutes=30
        )
        for place, name in enumerate(TABLES)
    }  # fmt: skip
    return AlertService(finding_store, setups, None)


def alert(*, is_resolved: bool = False) -> Alert:
    """Of the job, which no label says more of."""
    return Alert(
        source="Alertmanager", fingerprint="b3839b5e", started_at=NINE, is_resolved=is_resolved,
        title="shop-to-lake restarts", details=(), names=("shop-to-lake",), severity="sev1", runbook=None, link=None,
    )  # fmt: skip


def lasting(finding_store: FindingStore) -> list[str]:
    """Tables of which it is told."""
    return [table for table in TABLES if finding_store.memory(table).lasting]


def test_each_table_of_the_job_is_told_and_is_over_when_the_alert_is(finding_store: FindingStore) -> None:
    """Once each: the sender repeats it, and nobody else would tell."""
    taken = [desk(finding_store, 3).take([alert()]) for _ in range(2)]
    told = lasting(finding_store)
    over = desk(finding_store, 3).take([alert(is_resolved=True)])

    assert [(each.new, each.known, each.passed_over) for each in taken] == [(3, 0, ()), (0, 3, ())]
    assert told == list(TABLES[:3])
    assert (over.resolved, lasting(finding_store)) == (3, [])


def test_what_concerns_too_many_tables_is_passed_over_and_logged(finding_store: FindingStore) -> None:
    """The sender gets a 200 and reads nothing: whoever runs the bot must be able to see it."""
    with capture_logs() as logs:
        taken = desk(finding_store, 4).take([alert()])

    assert lasting(finding_store) == []
    assert "It concerns 4 watched tables" in taken.passed_over[0].why
    assert [(line["event"], line["title"]) for line in logs] == [("alert passed over", "shop-to-lake restarts")]


ROOM = "C0ORDERS01"


def sightings_of(scene: Scene, channel: str = ROOM) -> FindingStore:
    """One process, whose table has this channel."""
    return FindingStore(scene.store.watched, scene.store.outbox, scene.incidents, scene.clock, {ORDERS: channel})


def fires(scene: Scene, finding_store: FindingStore) -> Post:
    """One alert, under the fingerprint of the others: its message."""
    assert finding_store.see(ORDERS, finding("alert", "Alertmanager/1"), occasion=scene.clock.now().isoformat())
    finding_store.post_due(ORDERS)
    post = scene.store.outbox.find(post_key(finding_store.memory(ORDERS).lasting[-1].id))
    assert post is not None
    return post


@pytest.mark.parametrize("private", [False, True])
def test_after_the_incident_that_took_it_over_it_is_a_message_of_its_own(scene: Scene, private: bool) -> None:
    """The first stood in that incident's thread, in another channel: of a private one nothing could be posted here."""
    finding_store = sightings_of(scene)
    scene.opens(private=private, mark=False)
    scene.clock.at += timedelta(minutes=1)
    within = fires(scene, finding_store)
    scene.clock.at += timedelta(minutes=30)
    scene.incidents.write(scene.id, by=ANA, decide=lambda _now: [IncidentClosed(reason="done")])
    scene.clock.at += timedelta(minutes=30)

    later = fires(scene, finding_store)

    assert (within.channel, within.incident) == (CHANNEL, scene.id)
    assert (later.channel, later.thread_of, later.incident) == (ROOM, None, None)
