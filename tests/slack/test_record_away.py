"""The disk is full, or the database is away: everybody hears it at once, nothing is half done, nothing is lost."""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest
from sqlalchemy import event

from bot.adapters.journal_sql import Store
from bot.domain.ids import IncidentId, UserId
from bot.workspace import SeenMessage, Workspace
from tests.slack.little_bot import Cluster, LittleBot
from tests.slack.people import Responder, eventually

WL = IncidentId("wl-1")
_A_TRY_S = 1.2
"""Longer than the pause between two tries to write."""
FULL, ROOM = "PRAGMA max_page_count = 1", "PRAGMA max_page_count = 1073741823"
"""For 1 SQLite takes the present size, and refuses every page more."""


class Disk:
    """Where the record lies: every connection that is taken from the pool is told what holds now."""

    def __init__(self) -> None:
        self._says: tuple[str, ...] = ()

    def under(self, store: Store) -> Store:
        """Hold this store's connections from now on."""
        event.listen(store.engine, "checkout", self._tell)
        return store

    @contextmanager
    def is_full(self) -> Iterator[None]:
        """For the length of the block."""
        yield from self._while(FULL, ROOM)

    @contextmanager
    def is_read_only(self) -> Iterator[None]:
        """For the length of the block, as when the file system was remounted after a fault."""
        yield from self._while("PRAGMA query_only = 1", "PRAGMA query_only = 0")

    def _while(self, says: str, undo: str) -> Iterator[None]:
        self._says = (says,)
        try:
            yield
        finally:
            self._says = (undo,)

    def _tell(self, connection, _record, _proxy):  # type: ignore[no-untyped-def]
        for each in self._says:
            connection.execute(each)


@pytest.fixture
def disk(collected: SeenMessage, bot: LittleBot, slack: Workspace) -> Disk:
    """The bot, started anew on a disk that can be full."""
    disk = Disk()
    bot.close()
    eventually(lambda: slack.connected == 0)
    with closing(sqlite3.connect(bot.folder / "journal.db")) as record:
        record.execute("VACUUM")  # else pages that are free by now take what a full disk would refuse
    bot.start(disk.under)
    eventually(lambda: slack.connected == 1)
    return disk


def test_a_full_disk_is_said_to_whoever_asks_and_nothing_is_begun(
    collected: SeenMessage, ana: Responder, bot: LittleBot, disk: Disk
) -> None:
    """A click that could not be stored is answered past the record; the same click works when there is room."""
    with disk.is_full():
        told = ana.answer_to(lambda: ana.clicks("Propose", collected))
    before = bot.services.store.get(WL).proposals
    ana.clicks("Propose", collected)
    ana.sees_on_proposal("Approve")

    assert "Waterline's record cannot be written now." in told
    assert "full" in told
    assert "Nothing was done. Try again later." in told
    assert not before
    assert len(bot.services.store.get(WL).proposals) == 1


def test_a_command_that_cannot_be_stored_is_answered_by_its_acknowledgement(
    collected: SeenMessage, ana: Responder, bot: LittleBot, disk: Disk
) -> None:
    """The person who types hears it although nothing can be put into the outbox."""
    with disk.is_read_only():
        told = ana.answer_to(lambda: ana.types("/waterline note it began at nine"))
    ana.asks("note it began at nine")

    assert "Waterline's record cannot be written now." in told
    assert sum(entry.body.kind == "note-added" for entry in bot.services.store.get(WL).entries) == 1


def test_a_form_that_cannot_be_stored_stays_filled(
    collected: SeenMessage, ana: Responder, bot: LittleBot, disk: Disk
) -> None:
    """What somebody has written is under the message that says so, and can be sent again."""
    ana.clicks("Add a note…", collected)
    ana.fills({"reason": "It began at nine."})

    with disk.is_read_only():
        ana.submits()
        told = ana.modal.plain
        ana.dismisses()
    ana.submits()
    eventually(lambda: "It began at nine." in str(bot.services.store.get(WL).entries[-1]))

    assert "Nothing was done" in told


def test_what_was_stored_is_done_once_when_the_record_is_back(
    collected: SeenMessage, ana: Responder, bot: LittleBot, disk: Disk, flink: Cluster
) -> None:
    """The record goes away in the middle of the work: it is done afterwards, without another click."""
    flink.answers.clear()
    ana.clicks("Propose", collected)
    eventually(lambda: _rows(bot, "inbox", "state = 'taken'") == 1)

    with disk.is_read_only():
        flink.answers.set()
        time.sleep(_A_TRY_S)
    ana.sees_on_proposal("Approve")

    assert len(bot.services.store.get(WL).proposals) == 1


def test_what_slack_took_while_the_record_was_away_is_not_sent_again(
    collected: SeenMessage, ana: Responder, bot: LittleBot, disk: Disk, slack: Workspace
) -> None:
    """The message is there; that it is there is written down as soon as it can be, and nothing overtakes it."""
    slack.faults.holds("chat.postEphemeral", 25)
    ana.types("/waterline status")
    eventually(lambda: _rows(bot, "outbox", "state = 'sending' AND recipient IS NOT NULL") == 1)

    with disk.is_read_only():
        ana.sees("wl-1 sales.orders")
        slack.faults.disarms()
        time.sleep(_A_TRY_S)
    ana.asks("help")

    assert sum("wl-1 sales.orders" in m.plain for m in ana.messages() if m.is_ephemeral) == 1


def test_a_duty_that_found_no_record_is_done_at_the_next_look(
    collected: SeenMessage, ana: Responder, bot: LittleBot, disk: Disk
) -> None:
    """The record was away while something was owed: that the duty was tried keeps nobody from doing it later."""
    tried: list[str] = []

    def owed() -> None:
        tried.append("tried")
        bot.services.walker.note(WL, "done", by=UserId(ana.id))

    with disk.is_read_only():
        bot.services.background.submit(WL, "A duty", owed)
        eventually(lambda: bool(tried))
        time.sleep(_A_TRY_S)
    bot.services.background.submit(WL, "A duty", owed)

    eventually(lambda: bot.services.store.get(WL).entries[-1].body.kind == "note-added")
    assert tried == ["tried", "tried"]


def _rows(bot: LittleBot, table: str, where: str) -> int:
    with closing(sqlite3.connect(bot.folder / "journal.db")) as record:
        [count] = record.execute(f"SELECT count(*) FROM {table} WHERE {where}").fetchone()  # noqa: S608
    return int(count)
