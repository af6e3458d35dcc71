"""What was held and not sent is asked for once more, word for word: each time with messages of its own."""

from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from bot.adapters.clock import SystemClock
from bot.adapters.journal_sql import open_store
from bot.domain.approval import ApprovalPolicy
from bot.domain.entries import (
    Finding,
    NoticesDecided,
    NoticesExpired,
    NoticesHeld,
    NoticesPreviewed,
    NoticesReminded,
    ReviewOpened,
)
from bot.domain.ids import IncidentId
from bot.domain.notice import Notice
from bot.ports import Post
from bot.service.incident_store import IncidentStore
from bot.slack.held_posts import asked_then
from bot.slack.projection import Projection
from tests.decisions import ANA, BEN
from tests.incidents import Story
from tests.slack.little_bot import LittleBot
from tests.slack.people import Responder

WL = IncidentId("wl-1")
REVENUE = "revenue-analytics"


@pytest.fixture
def review(ana: Responder, bot: LittleBot) -> None:
    """Its review is open, and told only with somebody else's yes: its notices are the same whenever they are asked."""
    setup = next(iter(bot.services.observer.tables.values()))
    policies = {**setup.policies, "notice:review_published": ApprovalPolicy(groups=("S0APPROVE1",))}
    bot.services.observer.tables = {setup.name: setup.model_copy(update={"policies": policies})}
    finding = Finding(contract="table", term="The key is unique.", observed="220 live twice.", holds=False, action="")
    ana.opens()
    bot.services.store.write(WL, by=ana.person.id, decide=lambda _now: [ReviewOpened(findings=(finding,))])


def sends(ana: Responder) -> str:
    """What Ana is told when she submits the newest form."""
    ana.reads_form()
    return ana.answer_to(ana.submits)


@pytest.mark.usefixtures("review")
@pytest.mark.parametrize("how", ["expired", "turned down"])
def test_what_was_not_sent_is_asked_for_again_and_sent(
    ana: Responder, ben: Responder, dana: Responder, bot: LittleBot, how: str
) -> None:
    """The very same texts: nobody is told that they were sent, the first message stays as it ended, and the second one
    takes a yes."""
    ana.opens_form("tell review_published")
    first = sends(ana)
    [name] = bot.services.store.get(WL).held
    waiting = ana.sees("asks to send this")
    if how == "expired":
        bot.clock.advances(timedelta(minutes=31))
        bot.services.holding.settle(WL)
        ana.clicks("Preview it again…", ana.sees("and what it says may not be so any more"))
    else:
        ben.clicks("Turn down…", waiting)
        ben.fills_reason("Not before noon.")
        ana.sees("Turned down: Not before noon.")
        ana.opens_form("tell review_published")

    again = sends(ana)
    asked = ben.waits_for(lambda m: "Approve and send" in m.buttons and m.ts != waiting.ts, timeout=45)
    ben.clicks("Approve and send", asked)
    dana.sees("220 live twice", REVENUE)
    ana.opens_form("tell review_published")
    after = sends(ana)

    assert [True, True] == ["asks for approval" in answer for answer in (first, again)]
    assert "were sent before" in after
    assert [name] == list(bot.services.store.get(WL).held)
    ended = next(m for m in ana.messages() if m.ts == waiting.ts)
    assert ("It was not sent." if how == "expired" else "Turned down: Not before noon.") in ended.plain
    assert sum("220 live twice" in m.plain for m in dana.messages(REVENUE)) == 1


def test_each_asking_has_posts_of_its_own(tmp_path: Path) -> None:
    """The first keeps the keys that records of before have, so that an upgrade posts nothing twice; the second bears
    the number of its entry, and what is rendered late of the first shows the end of the first."""
    notice = Notice(kind="review_published", revision=1, consumer="revenue_daily", channel="C0REVENUE1", text="Told.")
    held = NoticesHeld(name="seen", policy=ApprovalPolicy(users=(BEN,)), step=None)
    previewed, reminded = NoticesPreviewed(name="seen", notices=(notice,)), NoticesReminded(name="seen", number=1)
    with closing(open_store(f"sqlite:///{tmp_path / 'record.db'}")) as store:
        story = Story(store.journal).opens().says(previewed).says(held, by=ANA).says(reminded)
        first = ["wl-1/held/seen", "wl-1/held-reminder/seen/1"]
        before = [Post(key=key, incident=WL, channel="C0ORDERS01", ts="1.1", shown=1, state="sent") for key in first]
        for post in before:
            store.outbox.put(post)
        story.says(NoticesExpired(name="seen", asks=ANA)).says(previewed).says(held, by=ANA)
        seq = story.incident.seq
        story.says(reminded).says(NoticesDecided(name="seen", yes=False, complete=True, reason="No."), by=BEN)
        projection = Projection(IncidentStore(story.journal, SystemClock()), store.outbox, store.cursor)

        projection.catch_up_all()
        store.cursor.set("slack", WL, 0)
        projection.catch_up_all()

        second = [f"wl-1/held/seen@{seq}", f"wl-1/held-reminder/seen@{seq}/1"]
        found = [store.outbox.find(key) for key in (*first, *second, "wl-1/held-expired/seen")]
        ends = [asked_then(story.incident, post)[1] for post in ("seen", f"seen@{seq}")]
        assert all(found)
        assert ["1.1", "1.1", None, None, None] == [post.ts for post in found if post is not None]
        assert [second[0]] == [post.thread_of for post in found[3:4] if post is not None]
        assert [(True, False), (False, True)] == [(view.expired is not None, view.decided is not None) for view in ends]
