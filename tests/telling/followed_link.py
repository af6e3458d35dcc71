"""One consumer's link to the page that takes answers, and somebody who follows it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import httpx
import pytest

from bot.domain.entries import Body, NoticeEnded, NoticeQueued
from bot.domain.notice import Notice
from bot.service.answer_desk import AnswerDesk
from bot.service.answering import Answering
from bot.service.record import Records
from bot.settings import WebSettings
from bot.web.access import Access
from bot.web.app import web_app
from bot.web.consumer_answers import ConsumerAnswers
from bot.web.server import serving
from tests.decisions import ANA
from tests.telling.conftest import BASE, links
from tests.web.scene import Scene

Ending = Literal["delivered", "failed", "overtaken"]
CONTENT = Path(__file__).parents[2] / "messages" / "record"
TEXT = "*sales.orders is proven again.*\nRun `r-7` again &amp; see.\n\n*What happened*\n• One <b>commit</b>."


class Told:
    """One consumer's link, and somebody who follows it without any other right."""

    def __init__(self, scene: Scene, desk: AnswerDesk, web: httpx.Client) -> None:
        self.scene = scene
        self.desk = desk
        self.web = web
        self.link = links().of(scene.id, "revenue_daily", scene.clock.at)
        self.path = self.link.url.removeprefix(BASE)

    @property
    def answers(self) -> list[tuple[str, str, str, str]]:
        """What is on record, of every notice in turn."""
        views = self.scene.incidents.get(self.scene.id).notices.values()
        return [(each.answer, each.text, each.by, each.via) for view in views for each in view.answers]

    @property
    def seq(self) -> int:
        """Of the newest notice."""
        return list(self.scene.incidents.get(self.scene.id).notices.values())[-1].seq

    def says(self, answer: str, text: str = "", **more: str | int) -> httpx.Response:
        """The page's form, as a browser sends it."""
        return self.web.post(self.path, data={"answer": answer, "text": text, **more})


def queues(
    scene: Scene, consumer: str = "revenue_daily", kind: str = "recovered", how: Ending | None = "delivered"
) -> None:
    """A notice was sent; what became of it, None: it waits still."""
    notice = Notice(
        kind=kind, revision=1, consumer=consumer, channel="", text=TEXT, title="Recovered",
        answers=("acknowledged", "re-ran", "needs-help"),
    )  # fmt: skip
    bodies: list[Body] = [NoticeQueued(notice=notice)]
    if how is not None:
        bodies.append(NoticeEnded(key=notice.key(scene.id), how=how, detail="So it went."))
    scene.incidents.write(scene.id, by=ANA, decide=lambda _now: bodies)


@pytest.fixture
def told(tmp_path: Path) -> Iterator[Told]:
    """Ana's incident; revenue_daily was told. The house asks everybody else for a token."""
    scene = Scene(tmp_path)
    scene.opens()
    queues(scene)
    desk = AnswerDesk(scene.incidents, Answering(scene.incidents), links(), scene.clock)
    access = Access(WebSettings(public_url=BASE), "t0")
    consumers = ConsumerAnswers(desk, CONTENT)
    app = web_app(scene.desk(), Records(CONTENT), CONTENT, access, lambda _users: {}, None, consumers)
    with serving(app, "127.0.0.1", 0) as address, httpx.Client(base_url=address) as web:
        yield Told(scene, desk, web)
    scene.close()
