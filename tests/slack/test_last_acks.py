"""A bot that is stopped acknowledges what it has received: nobody is warned of a click that was kept."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import closing
from pathlib import Path

import pytest
from slack_sdk import WebClient

from bot.adapters.clock import SystemClock
from bot.adapters.journal_sql.inbox import SqlInbox
from bot.adapters.journal_sql.store import Store, open_store
from bot.ports import Delivery
from bot.slack.front_door import FrontDoor
from bot.workspace import Actor, Workspace
from tests.slack.people import eventually


class _Busy(SqlInbox):
    """One whose database takes its time."""

    def __init__(self, store: Store) -> None:
        super().__init__(store.engine, store.presence)
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
def door(inbox: _Busy, slack: Workspace, tmp_path: Path) -> Iterator[FrontDoor]:
    """Connected, and leading nowhere yet."""
    client = WebClient(slack.bot_token, base_url=slack.api_url)
    with closing(open_store(f"sqlite:///{tmp_path / 'record.db'}")) as store:
        opened = FrontDoor(client, inbox, store.outbox, SystemClock(), signing_secret=None)
        opened.connect(slack.app_token, slack.api_url)
        yield opened
        opened.close()


def test_what_is_being_kept_while_the_bot_stops_is_acknowledged(
    door: FrontDoor, inbox: _Busy, slack: Workspace
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
    door: FrontDoor, inbox: _Busy, slack: Workspace
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
