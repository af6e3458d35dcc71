"""An alert that names a job concerns every table that the job writes."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from bot.domain.approval import ApprovalPolicy
from bot.domain.ids import TableName
from bot.domain.setup import TableSetup
from bot.service.alerts import Alert, AlertDesk
from bot.service.sightings import Sightings
from tests.tables import CONTRACT
from tests.watch.signs import NINE
from tests.web.scene import Scene

TABLES = tuple(TableName(f"sales.{name}") for name in ("orders", "refunds", "parcels", "returns"))


@pytest.fixture
def sightings(tmp_path: Path) -> Iterator[Sightings]:
    """What is remembered of four tables."""
    scene = Scene(tmp_path)
    rooms = dict.fromkeys(TABLES, "C0ORDERS01")
    yield Sightings(scene.store.watched, scene.store.outbox, scene.incidents, scene.clock, rooms)
    scene.close()


def desk(sightings: Sightings, tables: int) -> AlertDesk:
    """One job writes so many of them."""
    policies = {"default": ApprovalPolicy(users=("U0BEN00001",))}
    setups = {
        name: TableSetup(
            name=name, job="shop-to-lake" if place < tables else "another", contract=CONTRACT, consumers=(),
            policies=policies, next_update_minutes=30,
        )
        for place, name in enumerate(TABLES)
    }  # fmt: skip
    return AlertDesk(sightings, setups, None)


def alert(*, is_resolved: bool = False) -> Alert:
    """Of the job, which no label says more of."""
    return Alert(
        source="Alertmanager", fingerprint="b3839b5e", started_at=NINE, is_resolved=is_resolved,
        title="shop-to-lake restarts", details=(), names=("shop-to-lake",), severity="sev1", runbook=None, link=None,
    )  # fmt: skip


def lasting(sightings: Sightings) -> list[str]:
    """Tables of which it is told."""
    return [table for table in TABLES if sightings.memory(table).lasting]


def test_each_table_of_the_job_is_told_and_is_over_when_the_alert_is(sightings: Sightings) -> None:
    """Once each: the sender repeats it, and nobody else would tell."""
    taken = [desk(sightings, 3).take([alert()]) for _ in range(2)]
    told = lasting(sightings)
    over = desk(sightings, 3).take([alert(is_resolved=True)])

    assert [(each.told, each.known, each.passed_over) for each in taken] == [(3, 0, ()), (0, 3, ())]
    assert told == list(TABLES[:3])
    assert (over.resolved, lasting(sightings)) == (3, [])


def test_what_concerns_too_many_tables_is_passed_over_and_logged(sightings: Sightings) -> None:
    """The sender gets a 200 and reads nothing: whoever runs the bot must be able to see it."""
    with capture_logs() as logs:
        taken = desk(sightings, 4).take([alert()])

    assert lasting(sightings) == []
    assert "It concerns 4 watched tables" in taken.passed_over[0].why
    assert [(line["event"], line["title"]) for line in logs] == [("alert passed over", "shop-to-lake restarts")]
