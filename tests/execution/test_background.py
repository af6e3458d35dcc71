"""Work in the background, when the bot is told to stop."""

import threading
from collections.abc import Iterator
from contextlib import closing, nullcontext
from pathlib import Path

import pytest

from bot.adapters.clock import SystemClock
from bot.adapters.journal_sql.store import Store, open_store
from bot.service.background import Background
from bot.service.incident_store import IncidentStore
from tests.incidents import Story
from tests.slack.people import PATIENCE_S, eventually


@pytest.fixture
def record(tmp_path: Path) -> Iterator[Store]:
    """With one incident."""
    with closing(open_store(f"sqlite:///{tmp_path}/journal.db")) as opened:
        yield opened


def test_what_is_asked_for_while_the_bot_stops_is_left_to_the_next_start(record: Store) -> None:
    """The work under way ends well, and nothing on record says that it failed."""
    story = Story(record.journal).opens()
    background = Background(IncidentStore(record.journal, SystemClock()), lambda _name: nullcontext(True), workers=2)
    begun, go, did = threading.Event(), threading.Event(), list[str]()

    def work() -> None:
        begun.set()
        assert go.wait(PATIENCE_S)
        background.submit(story.id, "Something else", lambda: did.append("else"))
        did.append("work")

    background.submit(story.id, "Some work", work)
    assert begun.wait(PATIENCE_S)
    before = story.incident.seq
    closing_it = threading.Thread(target=background.close)
    closing_it.start()
    eventually(lambda: background._is_closing)
    go.set()
    closing_it.join(PATIENCE_S)

    assert did == ["work"]
    assert story.incident.seq == before


def test_a_fault_in_noting_a_fault_does_not_keep_the_work_from_being_done_again(record: Store) -> None:
    """Else the duty would count as under way until the next start."""
    story = Story(record.journal).opens()
    store = IncidentStore(record.journal, SystemClock())
    background = Background(store, lambda _name: nullcontext(True), workers=1)
    did: list[str] = []

    def work() -> None:
        did.append("work")
        raise ValueError("a defect")

    def cannot(*_: object, **__: object) -> None:
        raise RuntimeError("another defect")

    store.write = cannot  # type: ignore[assignment,method-assign]
    for times in (1, 2):
        background.submit(story.id, "Some work", work)
        eventually(lambda times=times: len(did) == times and not background._under_way)
    background.close()

    assert did == ["work", "work"]
