"""What could not be done in the background is said once, also where the record keeps it in other words."""

from collections.abc import Iterator
from contextlib import closing, nullcontext
from pathlib import Path

import pytest

from bot.adapters.clock import SystemClock
from bot.adapters.journal_sql.store import Store, open_store
from bot.domain.entries import NoteAdded
from bot.domain.errors import CouldNotLook
from bot.service.background import Background
from bot.service.incident_store import IncidentStore
from tests import orders_table as orders
from tests.incidents import Story
from tests.telling.test_owed_notices import setup


@pytest.fixture
def record(tmp_path: Path) -> Iterator[Store]:
    """Empty."""
    with closing(open_store(f"sqlite:///{tmp_path}/journal.db")) as opened:
        yield opened


def test_what_names_a_hidden_value_is_said_once_too(record: Store) -> None:
    """The record keeps it without that value, so the text is not found there as it was said: work that fails every few
    seconds must not fill the timeline."""
    story, store = Story(record.journal).opens(), IncidentStore(record.journal, SystemClock())
    known = setup("revenue_daily")
    store.veil_by({orders.TABLE: known.model_copy(update={"contract": known.contract.model_copy(
        update={"redacted": ("customer",)}
    )})})  # fmt: skip
    background = Background(store, lambda _name: nullcontext(True), workers=1)

    def fails() -> None:
        raise CouldNotLook("A file is away.", "Expected lake/orders/data/customer=4711/00001.parquet.", "Look at it.")

    for _ in range(3):
        background._run((story.id, "Looking"), fails)
    background.close()

    notes = [entry.body.text for entry in story.incident.entries if isinstance(entry.body, NoteAdded)]
    assert len(notes) == 1
    assert "4711" not in notes[0]
