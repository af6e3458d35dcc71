"""How bad an incident is decides which approval policy holds, so only who is in charge of it may say so."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.adapters.clock import SystemClock
from bot.adapters.journal_sql import open_store
from bot.domain.entries import ResponderAssigned
from bot.domain.errors import Refused
from bot.domain.execution import ProposalView
from bot.domain.ids import IncidentId, UserId
from bot.service.incident_store import IncidentStore
from bot.service.rules_by_severity import Said
from bot.service.severity import change_severity
from tests.decisions import ANA, BEN, EVE
from tests.incidents import Story


@pytest.fixture
def store(tmp_path: Path) -> Iterator[IncidentStore]:
    """Ana has opened a sev2; Ben responds."""
    opened = open_store(f"sqlite:///{tmp_path / 'record.db'}")
    Story(opened.journal).opens().says(ResponderAssigned(user=BEN))
    yield IncidentStore(opened.journal, SystemClock())
    opened.close()


def no_rules(_view: ProposalView, _said: Said) -> None:
    """Nothing waits here."""


def test_nobody_else_chooses_the_policy(store: IncidentStore) -> None:
    """Eve takes the incident over first, which is on record."""
    [incident] = store.all()
    told: list[IncidentId] = []

    with pytest.raises(Refused, match="so you cannot change its severity"):
        change_severity(store, incident.id, "sev3", "It is small.", by=EVE, rules_now=no_rules, then=told.append)

    assert (store.get(incident.id).severity, told) == ("sev2", [])


@pytest.mark.parametrize("by", [ANA, BEN])
def test_who_responds_or_has_opened_it_may(store: IncidentStore, by: UserId) -> None:
    """As with its end."""
    [incident] = store.all()
    told: list[IncidentId] = []

    change_severity(store, incident.id, "sev1", "Finance reports from it.", by=by, rules_now=no_rules, then=told.append)

    assert (store.get(incident.id).severity, told) == ("sev1", [incident.id])
