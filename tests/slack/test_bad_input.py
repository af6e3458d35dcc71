"""What the bot relies on is down, malformed, archived or taken away: a clear answer, and the incident goes on."""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import timedelta

import pytest
from sqlalchemy import event

from bot.adapters.journal_sql import Store
from bot.incident.incident import Incident
from bot.observation.ids import IncidentId, UserId
from bot.slack.sender import MOST_TRIES
from bot.workspace import SeenMessage, Workspace
from bot.workspace.people import CannotDo
from tests.slack.little_bot import Cluster, LittleBot, as_time_goes_on, nothing_waits
from tests.slack.orders import Orders
from tests.slack.people import ONCALL, Responder, eventually, is_card


def test_without_flink_an_incident_still_opens_and_says_what_was_not_seen(ana: Responder, flink: Cluster) -> None:
    """The form proposes from the table alone and names what could not be asked."""
    flink.is_down = True

    ana.opens_form()

    assert "Flink was not asked" in ana.modal.plain
    assert ana.modal.submit == "Open"


def test_without_flink_nothing_is_proposed(collected: SeenMessage, ana: Responder, flink: Cluster) -> None:
    """A rewind needs to know what runs: what was expected, what was found, what to do."""
    flink.is_down = True

    answer = ana.answer_to(lambda: ana.clicks("Propose", collected))
    flink.is_down = False
    proposed = ana.proposes()

    assert "Nothing can be proposed about the job while its Flink does not answer." in answer
    assert "the connection was refused" in answer
    assert "Approve" in proposed.buttons


def test_flink_that_goes_away_before_execute_leaves_the_approval_standing(
    collected: SeenMessage, ana: Responder, ben: Responder, orders: Orders, flink: Cluster
) -> None:
    """Not having looked is no reason to supersede: nothing is changed, and it can be carried out later."""
    ben.clicks("Approve", ana.proposes())
    approved = ana.sees_on_proposal("Execute")
    head, calls = orders.head, flink.calls

    flink.is_down = True
    answer = ana.answer_to(lambda: ana.clicks("Execute", approved))
    unchanged = (orders.head, flink.calls)
    flink.is_down = False
    ana.clicks("Execute", ana.sees_on_proposal("Execute"))
    ana.sees("Verified at head")

    assert "Flink did not answer." in answer
    assert unchanged == (head, calls)
    assert orders.positions == list(range(70))


def test_a_table_that_cannot_be_read_is_said(ana: Responder, orders: Orders) -> None:
    """Form and ledger name the metadata that is gone; when it is back, the same commands work."""
    orders.loses_its_metadata()

    ana.opens_form()
    form = ana.modal.plain
    ana.dismisses()
    ledger = ana.asks("commits")
    orders.finds_its_metadata()
    again = ana.asks("commits")

    assert "could not be read" in form
    assert "could not be read" in ledger
    assert "The last commits of sales.orders" in again


def test_evidence_on_a_table_that_cannot_be_read_fails_and_can_be_run_again(ana: Responder, orders: Orders) -> None:
    """The step stays with its reason; the incident goes on when the table is back."""
    card = ana.opens()
    orders.loses_its_metadata()

    ana.clicks("Run all", card)
    ana.sees("Missing positions could not be answered")
    failed = ana.sees_on_card("Run all")
    orders.finds_its_metadata()
    ana.clicks("Run all", failed)
    ana.sees_on_card("Propose")

    assert "could not be read" in failed.plain


@pytest.mark.parametrize("line", ["{not json\n", '{"eventTime": "yesterday"}\n'])
def test_a_malformed_lineage_file_is_could_not_look(ana: Responder, dana: Responder, bot: LittleBot, line: str) -> None:
    """A consumer is told that it is not known whether it read, never that it did not; why is for responders."""
    bot.lineage.write_text(line)
    ana.opens_form()
    ana.submits()
    ana.reads_form()

    ana.submits()
    warning = dana.sees("under review", "revenue-analytics")

    assert "cannot tell whether" in warning.plain
    assert "lines are not" not in warning.plain
    assert "Others may have read it unobserved" in ana.sees_on_card("1 lines are not").plain


def test_the_preview_says_when_readers_are_not_known(collected: SeenMessage, ana: Responder, bot: LittleBot) -> None:
    """A proposal never shows an empty list of readers where nobody could look."""
    bot.lineage.unlink()

    proposed = ana.proposes()

    assert "Readers unknown" in proposed.plain


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
        bot.services.runbook_steps.note(WL, "done", by=UserId(ana.id))

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


_A_SECOND = timedelta(seconds=1)
_COMMENT = "The record of wl-1."


@pytest.fixture
def shown(collected: SeenMessage, ana: Responder) -> None:
    """An incident whose ledger is in its thread as a picture: the next upload is the record."""
    ana.sees("Newest on top, times in UTC.")


def exports(ana: Responder) -> list[SeenMessage]:
    """Every message of the card's thread that carries the record."""
    return [reply for reply in ana.card.replies if reply.plain.startswith(_COMMENT)]


def asks_for_record(ana: Responder) -> str:
    """By the card's button; the answer."""
    return ana.answer_to(lambda: ana.clicks("Export the record", ana.card))


def names(message: SeenMessage) -> list[str]:
    """Its files."""
    return [str(file["name"]) for file in message.shown["files"]]


def is_done(bot: LittleBot, slack: Workspace) -> bool:
    """Whether the outbox is done with the record whose answer was lost; time goes on while it is not."""
    bot.clock.advances(_A_SECOND)
    with closing(sqlite3.connect(bot.folder / "journal.db")) as record:
        sent = record.execute("SELECT count(*) FROM outbox WHERE key LIKE 'wl-1/record/%' AND state = 'sent'")
        return sent.fetchone() == (1,) and any(e.error == "internal_error" for e in slack.wire("api"))


def test_the_record_comes_into_the_thread_in_three_forms(shown: None, ana: Responder) -> None:
    """Each with its proof; the person is told that it comes."""
    answer = asks_for_record(ana)
    eventually(lambda: exports(ana))

    [export] = exports(ana)
    assert "appear in the thread" in answer
    assert [name.rpartition(".")[2] for name in names(export)] == ["html", "md", "json"]
    assert export.thread_ts == ana.card.ts


def test_a_redelivered_request_is_one_export_and_a_second_request_another(
    shown: None, ana: Responder, slack: Workspace
) -> None:
    """What Slack repeats counts once, what a person repeats is done again."""
    slack.faults.doubles_deliveries()

    asks_for_record(ana)
    eventually(lambda: len(exports(ana)) == 1)
    ana.asks("status")
    once = len(exports(ana))
    asks_for_record(ana)
    eventually(lambda: len(exports(ana)) == 2)

    assert once == 1


def test_an_export_whose_answer_was_lost_is_found_and_not_repeated(
    shown: None, ana: Responder, slack: Workspace, bot: LittleBot
) -> None:
    """The thread is searched for the files before they are sent again."""
    slack.faults.fails_after_effect("files.completeUploadExternal", "internal_error")

    asks_for_record(ana)
    eventually(lambda: is_done(bot, slack))

    assert len(exports(ana)) == 1
    assert len(slack.wire("api", "conversations.replies")) == 1


def test_where_nobody_can_look_the_repetition_says_so(
    shown: None, ana: Responder, slack: Workspace, bot: LittleBot
) -> None:
    """Without the right to read the thread it may be there twice."""
    slack.faults.fails_after_effect("files.completeUploadExternal", "internal_error")
    slack.faults.fails("conversations.replies", "missing_scope", times=5)

    asks_for_record(ana)
    eventually(lambda: is_done(bot, slack))

    assert ["may appear twice" in each.plain for each in exports(ana)] == [False, True]


def test_files_that_slack_refuses_are_told_with_another_way(shown: None, ana: Responder, slack: Workspace) -> None:
    """Who asked does not wait for what will not come."""
    slack.faults.fails("files.getUploadURLExternal", "missing_scope", times=MOST_TRIES)

    asks_for_record(ana)

    told = ana.sees("could not be posted").plain
    assert "Give the app the scope files:write." in told
    assert "waterline record export wl-1" in told


TO_ANA, TO_BEN, TO_DANA = "D0ANA00001", "D0BEN00002", "D0DANA0004"


def shut(slack: Workspace, how: str, channel: str = ONCALL) -> None:
    """The channel takes no message of the bot any more."""
    if how == "archived":
        slack.faults.archives(channel)
    elif how == "removed":
        slack.faults.removes(channel)
    else:
        slack.faults.limits(channel, how)


def opened_again(slack: Workspace, how: str, channel: str = ONCALL) -> None:
    """Somebody does what was asked."""
    if how == "archived":
        slack.world.directory.change(slack.world.directory.channel(channel).id, is_archived=False)
    elif how == "removed":
        slack.faults.adds(channel)
    else:
        slack.faults.limits(channel, "")


def direct(person: Responder, room: str) -> list[SeenMessage]:
    """What the bot has written to this person alone."""
    try:
        return person.messages(room)
    except CannotDo:  # there is no such conversation before its first message
        return []


def is_told(person: Responder, room: str, text: str) -> SeenMessage:
    """Waits for the direct message."""
    eventually(lambda: any(text in message.plain for message in direct(person, room)))
    return next(message for message in direct(person, room) if text in message.plain)


@pytest.mark.parametrize("how", ["removed", "non_threadable"])
def test_messages_wait_for_the_channel_and_come_when_it_is_back(
    collected: SeenMessage, ana: Responder, bot: LittleBot, slack: Workspace, how: str
) -> None:
    """Once each, in the card's thread; the record says nothing of it, and the responder once what to change."""
    eventually(lambda: nothing_waits(bot))
    before = len(ana.card.replies)
    shut(slack, how)
    for task in ("duplicate_rows", "missing_positions"):
        bot.services.evidence.request(WL, task, by=ana.person.id)
    eventually(lambda: not any(run.is_running for run in bot.services.store.get(WL).runs.values()))
    told = is_told(ana, TO_ANA, "messages of wl-1 wait")
    written = len(bot.services.store.get(WL).entries)
    bot.clock.advances(timedelta(minutes=1))

    opened_again(slack, how)
    eventually(as_time_goes_on(bot, lambda: nothing_waits(bot)))

    [card] = [message for message in ana.messages() if is_card(message)]
    new = [reply.plain for reply in card.replies][before:]
    assert [1, 1] == [sum(title in plain for plain in new) for title in ("Duplicate rows", "Missing positions")]
    assert written == len(bot.services.store.get(WL).entries)
    assert [message.ts for message in direct(ana, TO_ANA)] == [told.ts]
    assert f"#{ONCALL}" in told.plain
    assert how in told.plain or how in {"archived", "removed"}


def test_who_types_a_command_where_the_bot_cannot_write_is_answered_directly(
    collected: SeenMessage, ana: Responder, slack: Workspace
) -> None:
    """A click or a command is never without an answer."""
    shut(slack, "removed")

    ana.types("/waterline status")

    told = is_told(ana, TO_ANA, "wl-1 sales.orders")
    assert told.plain.startswith(f"I cannot write in #{ONCALL}.")


def test_the_channel_of_a_closed_incident_may_be_archived(
    collected: SeenMessage, ana: Responder, bot: LittleBot, slack: Workspace
) -> None:
    """That is what people do with it: nobody is told, and nothing waits for ever."""
    ana.asks("close anyway, it was a test")
    ana.sees("Closed by")
    shut(slack, "archived")

    bot.services.store.write(WL, by="U0ANA00001", decide=lambda now: [now.entries[1].body])
    eventually(lambda: any(e.error == "is_archived" for e in slack.wire("api")) and nothing_waits(bot))

    assert direct(ana, TO_ANA) == []


LOST = "Somebody changed the table's tag or property"


def test_a_mark_that_somebody_takes_off_is_back_at_the_next_look(
    collected: SeenMessage, ana: Responder, orders: Orders, bot: LittleBot
) -> None:
    """The thread says so; pipelines that ask the table are not misled for long."""
    with orders.table.transaction() as change:
        change.set_properties({"waterline.status": "trusted"})

    bot.services.reconciler.reconcile_all()
    ana.sees(LOST)

    assert orders.status == "under-review"


def test_nothing_is_put_back_while_a_recovery_takes_the_trust_away(
    collected: SeenMessage,
    ana: Responder,
    ben: Responder,
    orders: Orders,
    bot: LittleBot,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Between the table's commit and its entry the two disagree: whoever looks then must not take it for a loss."""
    ben.clicks("Approve", ana.proposes())
    ana.clicks("Execute", ana.sees_on_proposal("Execute"))
    ana.sees_on_card("(trusted)")
    services, commit = bot.services, bot.services.reconciler._waterline._commit
    seen: list[str | None] = []

    def looked_at_meanwhile(incident: Incident, *what: object) -> bool:
        done = commit(incident, *what)  # type: ignore[arg-type]
        if what[1] == "under-review" and not seen:
            services.reconciler.reconcile_all()
            eventually(lambda: {work for _, work in services.background._under_way} == {"The recovery"})
            seen.append(orders.status)
        return done

    monkeypatch.setattr(services.reconciler._waterline, "_commit", looked_at_meanwhile)
    ana.clicks("Propose to undo it", ana.sees_on_proposal("Propose to undo it"))
    ben.clicks("Approve", ana.sees_on_proposal("Undo: Roll back table and job"))
    ana.clicks("Execute", ana.sees_on_proposal("Execute"))
    eventually(lambda: len(orders.marked_when_main_moved) == 2)

    assert seen == ["under-review"]
    assert orders.marked_when_main_moved == ["under-review", "under-review"]
    bot.clock.advances(timedelta(seconds=20))
    services.reconciler.reconcile_all()
    assert not any(LOST in str(entry.body) for entry in services.store.get(WL).entries)
