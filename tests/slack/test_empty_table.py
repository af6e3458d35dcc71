"""A table that nobody has ever committed to can be asked about, too: its job runs, and nothing comes."""

from pathlib import Path

import pytest

from bot.service.incident_store import IncidentStore
from tests.slack.little_bot import LittleBot
from tests.slack.people import Responder
from tests.tables import ORDERS, OrdersTable


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """With the table as it was made."""
    OrdersTable(tmp_path).close()
    (tmp_path / "lineage.jsonl").touch()
    return tmp_path


def test_an_incident_is_opened_on_a_table_without_a_commit(bot: LittleBot, ana: Responder) -> None:
    """Over an empty window; it is under review, and no snapshot is called trusted."""
    ana.opens_form()
    form = ana.reads_form()
    ana.submits()
    ana.sees_on_card("under review")

    incident = IncidentStore(bot.store.journal, bot.clock).open_on(ORDERS)
    assert "Proposed window: none, because main has no commits" in form
    assert "Last snapshot with no known problem: none" in form
    assert incident is not None
    assert (incident.window.until, incident.trusted) == (None, None)
