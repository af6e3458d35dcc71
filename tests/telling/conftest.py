"""An open incident, a notice that is queued for several ways, and a dispatcher over the same record."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from bot.adapters.journal_sql import open_store
from bot.adapters.notify import NoticeFiles, Smtp, Webhook
from bot.incident.entries import NoticeQueued, WaterlineMoved
from bot.incident.notice import Notice, NoticeData
from bot.observation.readers import Address
from bot.ports import Journal
from bot.service.background import Background
from bot.service.diagnosing import OtherDoubts
from bot.service.incident_store import IncidentStore
from bot.service.notices.dispatcher import Deliveries, NotificationDispatcher, waiting
from tests import orders_table as orders
from tests.incidents import Story
from tests.telling.receivers import Hook, Mailbox, hook, mail_server, mailbox

SECRETS = (b"x" * 32, b"y" * 32)
TEXT = (
    "*sales.orders is under review: do not rely on its newest rows.*\n"
    "You are safe on snapshot `5130840912223377421`. A &lt;b&gt; &amp; [link](https://x.example)\n\n"
    "*What to do now*\n• Read the trusted state.\n• Do not re-run yet.\n\n"
    "```\nSELECT * FROM sales.orders VERSION AS OF 'waterline' -- 1 &lt; 2\n```\n"
    "Questions: <#C0ORDERS01>, <@U0ANA00001> is responding."
)


class Hand:
    """A clock that the test sets."""

    def __init__(self) -> None:
        self.at = orders.NINE + timedelta(hours=1)

    def now(self) -> datetime:
        return self.at


class NoReviews:
    """Nothing to look at."""

    def filled(self, _incident: object) -> None:
        return None


class Scene:
    """One incident whose consumers are told."""

    def __init__(self, story: Story, box: Mailbox, taken: Hook, folder: Path) -> None:
        self.story = story
        self.box = box
        self.hook = taken
        self.folder = folder
        self.clock = Hand()
        self.webhook = Webhook(SECRETS)

    def queues(self, *ways: Address, consumer: str = "revenue_daily", channel: str = "") -> str:
        """A first warning is queued; returns its key."""
        notice = Notice(
            kind="recovered", revision=1, consumer=consumer, channel=channel, text=TEXT, title="Recovered", ways=ways,
            answers=("acknowledged", "re-ran", "needs-help"), severity="sev2",
            data=NoticeData(stage="proven", trusted_snapshot=orders.GOOD),
        )  # fmt: skip
        self.story.says(NoticeQueued(notice=notice))
        return notice.key(self.story.id)

    def mail(self, to: str = "revenue@acme.example") -> Address:
        """The way to the mailbox."""
        return Address(by="email", to=to)

    def dispatcher(self, journal: Journal | None = None, *, is_up: bool = True) -> NotificationDispatcher:
        """One process's; `is_up` False: the mail server is not there."""
        store = IncidentStore(journal or self.story.journal, self.clock)
        port = self.box.port if is_up else 9
        smtp = Smtp(mail_server(port))
        carriers = {"email": smtp, "webhook": self.webhook, "file": NoticeFiles()}
        background = Background(store, lambda: True, workers=1)
        background.close()  # a test calls each look itself
        return NotificationDispatcher(store, carriers, self.clock, background, OtherDoubts(store, None))

    def delivers(self, *, is_up: bool = True) -> datetime | None:
        """Whatever is due is tried once; returns when the next try is."""
        self.dispatcher(is_up=is_up).deliver_due(self.story.id)
        return next((at for at, _view, _delivery in waiting(self.story.incident)), None)


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    """Ana responds; the table is proven, nobody is told yet."""
    store = open_store(f"sqlite:///{tmp_path / 'record.db'}")
    with mailbox() as box, hook() as taken:
        found = Scene(Story(store.journal), box, taken, tmp_path)
        found.story.opens().says(WaterlineMoved(snapshot=orders.GOOD, status="trusted"))
        yield found
    store.close()


def deliveries_of(scene: Scene) -> Deliveries:
    """One process's; nothing is watched."""
    store = IncidentStore(scene.story.journal, scene.clock)
    return Deliveries(store, OtherDoubts(store, None))
