"""Deliveries of Slack: late, repeated, out of order, unreadable, and around the bot's start and end."""

import json
import sqlite3
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import closing
from itertools import count
from pathlib import Path

import pytest
from slack_sdk import WebClient

from bot.adapters.clock import SystemClock
from bot.adapters.journal_sql import open_store
from bot.adapters.journal_sql.inbox import SqlInbox
from bot.adapters.journal_sql.store import Store
from bot.incident.entries import NoticeQueued
from bot.incident.execution import ProposalState
from bot.incident.notice import Notice
from bot.observation.errors import CouldNotKeep
from bot.observation.ids import IncidentId
from bot.observation.masking import Masking
from bot.ports import Delivery
from bot.service.incident_store import IncidentStore
from bot.slack import surface
from bot.slack.gateway import Arrivals, SlackGateway
from bot.slack.projection import Projection, notice_post
from bot.slack.requests import Request
from bot.slack.worker import InboxWorker
from bot.workspace import Actor, Rules, SeenMessage, Workspace
from tests.incidents import Story
from tests.orders_table import NINE
from tests.slack.little_bot import LittleBot
from tests.slack.people import PATIENCE_S, Responder, eventually
from tests.slack.test_bad_input import TO_ANA, direct
from tests.slack.test_faults_of_slack import WL, notes, nothing_waits


class Time:
    """Seconds that pass only while somebody sleeps; deliveries arrive at some of them."""

    def __init__(self, arrive: Sequence[float]) -> None:
        self._arrive = sorted(arrive)
        self.now = 100.0
        self.arrivals = Arrivals(lambda: self.now, self._sleep)

    def gives_way(self) -> float:
        """After how many seconds, from the first arrival, work begins."""
        began = self.now
        self._sleep(0)
        self.arrivals.give_way()
        return round(self.now - began, 3)

    def _sleep(self, seconds: float) -> None:
        until = self.now + seconds
        while self._arrive and 100.0 + self._arrive[0] <= until:
            self.now = 100.0 + self._arrive.pop(0)
            self.arrivals.arrived()
        self.now = until


def test_nothing_waits_while_nothing_arrives() -> None:
    """Who works alone loses no time."""
    assert Time([]).gives_way() == 0


def test_one_click_is_worked_on_at_once() -> None:
    """A hundredth of a second is not noticed."""
    assert Time([0]).gives_way() == 0.01


def test_work_waits_for_the_end_of_a_burst() -> None:
    """It begins when the last delivery is stored, also where they come a little apart."""
    assert Time([0, 0.002, 0.004, 0.006, 0.03, 0.06]).gives_way() == 0.11


def test_a_burst_without_end_is_worked_on_all_the_same() -> None:
    """Half a second, and it is the turn of who has waited."""
    assert Time([number / 200 for number in range(2000)]).gives_way() == 0.5


class EndlessBurst(Arrivals):
    """Whoever sends gives way until it is over; whoever works on what was asked does not."""

    def __init__(self) -> None:
        super().__init__()
        self.gives_way = threading.Event()
        self.is_over = threading.Event()

    def give_way(self) -> None:
        """See the class."""
        if threading.current_thread().name == "outbox" and not self.is_over.is_set():
            self.gives_way.set()
            self.is_over.wait()


def test_messages_are_sent_when_the_burst_is_over(
    ana: Responder, bot: LittleBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command is acknowledged and worked on; its answer waits in the outbox until Slack's deliveries have ended."""
    burst = EndlessBurst()
    monkeypatch.setattr(surface, "Arrivals", lambda: burst)
    bot.restart()
    assert burst.gives_way.wait(PATIENCE_S)

    asked = ana.types("/waterline status")
    eventually(lambda: not nothing_waits(bot))
    told = [m.plain for m in ana.messages()]
    burst.is_over.set()

    assert asked.outcome == "acked"
    assert told == []
    ana.sees("No incident is open")


class Clock:
    """Nine o'clock."""

    def now(self):  # type: ignore[no-untyped-def]
        """See the port."""
        return NINE


def away(_request: Request) -> str:
    """The record cannot be written."""
    raise CouldNotKeep("Waterline's record cannot be written now.", "", "")


def test_it_is_given_back_once(tmp_path: Path) -> None:
    """Given back twice, it would be worked on twice at once."""
    store = open_store(f"sqlite:///{tmp_path}/journal.db")
    inbox = store.inbox
    worker = InboxWorker(
        inbox, store.outbox, Clock(), away, Arrivals(),
        on_answer=lambda: None, may_be_lost=lambda _delivery: False,
    )  # fmt: skip
    home = json.dumps({"event": {"type": "app_home_opened", "user": "U1"}})
    inbox.put(Delivery(key="home", kind="event_callback", payload=home, received_at=NINE))
    delivery = inbox.claim(NINE)
    assert delivery is not None
    with pytest.raises(CouldNotKeep):
        worker.work(delivery)

    worker._give_back()
    worker._give_back()

    assert inbox.claim(NINE) is not None
    assert inbox.claim(NINE) is None
    store.close()


@pytest.mark.parametrize(("times", "is_done"), [(50, True), (51, False)])
def test_what_has_ended_the_process_again_and_again_is_answered_and_not_tried(
    tmp_path: Path, times: int, is_done: bool
) -> None:
    """Else it would be the first thing after each start, for ever."""
    store, done = open_store(f"sqlite:///{tmp_path}/journal.db"), list[str]()

    def handle(_request: Request) -> str:
        done.append("it")
        return "Done."

    worker = InboxWorker(
        store.inbox, store.outbox, Clock(), handle, Arrivals(),
        on_answer=lambda: None, may_be_lost=lambda _delivery: False,
    )  # fmt: skip
    command = json.dumps(
        {"command": "/waterline", "text": "status", "user_id": "U1", "channel_id": "C1", "trigger_id": "1.2"}
    )
    store.inbox.put(Delivery(key="typed", kind="command", payload=command, received_at=NINE, attempts=times - 1))
    delivery = store.inbox.claim(NINE)
    assert delivery is not None

    worker.work(delivery)

    post = store.outbox.claim(NINE)
    assert done == (["it"] if is_done else [])
    assert post is not None
    assert ("This request crashed me 50 times" in post.text) is not is_done
    assert store.inbox.claim(NINE) is None
    store.close()


SLOW = 10


def typed(key: str, user: str) -> Delivery:
    """`/waterline status` of this person."""
    body = {"command": "/waterline", "text": "status", "user_id": user, "channel_id": "C1", "trigger_id": key}
    return Delivery(key=key, kind="command", payload=json.dumps(body), received_at=NINE)


def test_a_veto_is_heard_beside_ten_that_take_long(tmp_path: Path) -> None:
    """Each slow request takes a thread; there are more of them."""
    store, go_on, heard = open_store(f"sqlite:///{tmp_path}/journal.db"), threading.Event(), threading.Event()
    begun = threading.Semaphore(0)

    def handle(request: Request) -> None:
        if request.user == "U-veto":
            heard.set()
            return
        begun.release()
        assert go_on.wait(60)

    worker = InboxWorker(
        store.inbox, store.outbox, Clock(), handle, Arrivals(),
        on_answer=lambda: None, may_be_lost=lambda _delivery: False,
    )  # fmt: skip
    worker.start()
    try:
        for each in range(SLOW):
            store.inbox.put(typed(f"slow-{each}", "U1"))
            worker.wake()
        assert all(begun.acquire(timeout=30) for _ in range(SLOW))

        store.inbox.put(typed("veto", "U-veto"))
        worker.wake()

        assert heard.wait(30)
    finally:
        go_on.set()
        worker.close()
        store.close()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """The record that the replicas share."""
    made = open_store(f"sqlite:///{tmp_path / 'record.db'}")
    yield made
    made.close()


def test_a_notice_of_a_closed_incident_is_posted_though_its_replica_died(store: Store) -> None:
    """A correction waits for no restart."""
    story = Story(store.journal).whole()
    other = Projection(IncidentStore(store.journal, SystemClock()), store.outbox, store.cursor)
    other.catch_up_all()
    notice = Notice(kind="correction", revision=1, consumer="revenue_daily", channel="C0REVENUE2", text="*x*")
    story.says(NoticeQueued(notice=notice))

    other.catch_up_all()

    assert not story.incident.is_open
    assert store.outbox.find(notice_post(story.id, notice.key(story.id))) is not None


def test_nothing_is_read_again_where_nothing_has_come(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred closed incidents cost the same few queries as one."""
    Story(store.journal).whole()
    projection = Projection(IncidentStore(store.journal, SystemClock()), store.outbox, store.cursor)
    projection.catch_up_all()
    asked: list[IncidentId] = []
    monkeypatch.setattr(projection, "catch_up", asked.append)

    projection.catch_up_all()

    assert asked == []


class _Busy(SqlInbox):
    """One whose database takes its time."""

    def __init__(self, store: Store) -> None:
        super().__init__(store.engine, store.presence, Masking())
        self.is_asked, self.may_go_on = threading.Event(), threading.Event()

    def put(self, delivery: Delivery) -> bool:
        """See the port."""
        self.is_asked.set()
        assert self.may_go_on.wait(30)
        return super().put(delivery)


@pytest.fixture
def inbox(tmp_path: Path) -> Iterator[_Busy]:
    """Of a record of its own."""
    with closing(open_store(f"sqlite:///{tmp_path / 'record.db'}")) as store:
        yield _Busy(store)


@pytest.fixture
def door(inbox: _Busy, slack: Workspace, tmp_path: Path) -> Iterator[SlackGateway]:
    """Connected, and leading nowhere yet."""
    client = WebClient(slack.bot_token, base_url=slack.api_url)
    with closing(open_store(f"sqlite:///{tmp_path / 'record.db'}")) as store:
        opened = SlackGateway(client, inbox, store.outbox, SystemClock(), signing_secret=None)
        opened.connect(slack.app_token, slack.api_url)
        yield opened
        opened.close()


def test_what_is_being_kept_while_the_bot_stops_is_acknowledged(
    door: SlackGateway, inbox: _Busy, slack: Workspace
) -> None:
    """Its person sees no error for what is worked on after the next start."""
    ana = Actor(slack.url, slack.person("ana").person)
    with ThreadPoolExecutor() as aside:
        typed = aside.submit(ana.types, "/waterline status")
        assert inbox.is_asked.wait(30)
        closed = aside.submit(door.close)
        wait([closed], timeout=0.3)
        inbox.may_go_on.set()

        outcome = typed.result()

    assert outcome.outcome == "acked"
    assert inbox.claim(SystemClock().now()) is not None


def test_a_record_that_does_not_answer_holds_no_stop_up_for_ever(
    door: SlackGateway, inbox: _Busy, slack: Workspace
) -> None:
    """The connection ends all the same, so that Slack turns to another one."""
    ana = Actor(slack.url, slack.person("ana").person)
    with ThreadPoolExecutor() as aside:
        aside.submit(ana.types, "/waterline status")
        assert inbox.is_asked.wait(30)
        aside.submit(door.close)
        try:
            eventually(lambda: slack.connected == 0, 20)
        finally:
            inbox.may_go_on.set()


CLICK = '{"type": "block_actions", "user": {"id": "U0ANA00001", "name": "ana"}, "actions": []}'


@pytest.mark.parametrize(
    ("kind", "payload"),
    [
        ("block_actions", CLICK),
        ("command", '{"text": "note \\"user_id\\": \\"U0BEN00002\\"", "user_id": "U0ANA00001"}'),
    ],
    ids=["no action", "no channel"],
)  # fmt: skip
def test_who_asked_is_told_directly_that_it_went_wrong(ana: Responder, bot: LittleBot, kind: str, payload: str) -> None:
    """With the reference under which the log has the cause."""
    inbox = bot.store.inbox

    inbox.put(Delivery(key="odd", kind=kind, payload=payload, received_at=bot.clock.now()))

    eventually(lambda: direct(ana, TO_ANA))
    assert ["Something went wrong on our side"] == [m.plain.partition(" (")[0] for m in direct(ana, TO_ANA)]


def test_what_asks_for_nothing_is_not_answered(ana: Responder, bot: LittleBot) -> None:
    """A form that was closed is no question."""
    closed = '{"type": "view_closed", "user": {"id": "U0ANA00001"}}'

    bot.store.inbox.put(
        Delivery(key="closed", kind="view_closed", payload=closed, received_at=bot.clock.now(), attempts=99)
    )
    ana.types("/waterline status")
    eventually(lambda: nothing_waits(bot))

    assert direct(ana, TO_ANA) == []


def test_two_commands_the_wrong_way_round_are_both_done(
    collected: SeenMessage, ana: Responder, bot: LittleBot, slack: Workspace
) -> None:
    """The record has them in the order in which they arrived, each once."""
    slack.faults.holds_deliveries()

    ana.types("/waterline note first")
    ana.types("/waterline note second")
    eventually(lambda: notes(bot) == 1)
    slack.faults.lets_through()
    eventually(lambda: notes(bot) >= 2)
    ana.asks("status")

    said = [entry.body.text for entry in bot.services.store.get(WL).entries if entry.body.kind == "note-added"]
    assert ["second", "first"] == said


def test_a_yes_that_a_no_overtook_does_not_count(
    collected: SeenMessage, ana: Responder, ben: Responder, bot: LittleBot, slack: Workspace
) -> None:
    """Ben approves, then Ana withdraws; her word arrives first, and his click hears that it is over."""
    shown = ana.proposes()
    ana.clicks("Reject…", shown)
    slack.faults.holds_deliveries()

    ben.clicks("Approve", shown)
    ana.fills_reason("The bounds are wrong.")
    ana.sees_on_proposal("Rejected")
    heard = ben.answer_to(slack.faults.lets_through)

    assert "was rejected" in heard
    view = next(iter(bot.services.store.get(WL).proposals.values()))
    assert ProposalState.REJECTED is view.state
    assert [] == view.approvals


REFRESHED_SOCKET_WL = IncidentId("wl-1")


@pytest.mark.parametrize("reason", ["warning", "refresh_requested"])
def test_each_command_around_a_refresh_is_done_once(
    collected: SeenMessage, ana: Responder, bot: LittleBot, slack: Workspace, reason: str
) -> None:
    """Before, while the bot opens its next connection, and after. What Slack could not see acknowledged is typed again
    in other words; the bot may have heard it, but nothing of all this twice."""
    taken, numbers = ["before"], count()

    def types_during() -> bool:
        text = f"during {next(numbers)}"
        is_taken = ana.types(f"/waterline note {text}").outcome == "acked"
        taken.extend([text] if is_taken else [])
        return is_taken

    ana.asks("note before")
    slack.faults.sets_rules(ack_s=Rules().ack_s)
    assert 1 == slack.faults.disconnects(reason)
    eventually(types_during)
    slack.faults.redelivers()
    eventually(lambda: len(slack.wire("socket", "hello")) >= 2 and slack.connected == 1)
    ana.asks("note after")
    eventually(lambda: {*taken, "after"} <= said(bot).keys())

    assert {1} == set(said(bot).values())
    assert slack.connected >= 1


@pytest.mark.slow  # half a minute until the client finds its connection dead
def test_a_click_that_comes_again_over_the_next_connection_is_done_once(
    collected: SeenMessage, ana: Responder, ben: Responder, bot: LittleBot, slack: Workspace
) -> None:
    """The network dies as it is acknowledged, without a word; Slack sends the same click again."""
    shown = ana.proposes()
    ben.clicks("Approve", shown)
    assert 1 == slack.faults.drops_sockets()
    eventually(lambda: slack.connected > 0)

    again = slack.faults.redelivers()
    ana.asks("note after")

    assert "acked" == again
    [view] = bot.services.store.get(REFRESHED_SOCKET_WL).proposals.values()
    assert [ben.person.id] == [given.by for given in view.approvals]
    assert 2 == clicks_heard(bot)
    assert 0 == ben.was_told("already")


def clicks_heard(bot: LittleBot) -> int:
    """How many clicks the bot has stored, each once however often it came."""
    with closing(sqlite3.connect(bot.folder / "journal.db")) as record:
        return int(record.execute("SELECT count(*) FROM inbox WHERE kind = 'block_actions'").fetchone()[0])


def said(bot: LittleBot) -> Counter[str]:
    """How often the record holds each remark."""
    entries = bot.services.store.get(REFRESHED_SOCKET_WL).entries
    return Counter(entry.body.text for entry in entries if entry.body.kind == "note-added")
