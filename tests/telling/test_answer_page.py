"""Who is told by e-mail or webhook answers on a page: over real HTTP, into the same record as Slack's buttons."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import httpx
import pytest
import structlog
from pydantic import SecretStr

from bot.domain.entries import IncidentClosed, NoticeEnded, NoticeQueued
from bot.domain.errors import BadConfiguration
from bot.domain.notice import Notice
from bot.service.answer_desk import AnswerDesk
from bot.service.answering import MOST_CALLS, Answering
from bot.service.incident_store import IncidentStore
from bot.service.record import Records
from bot.settings import WebSettings, refuse_open_house
from bot.web.access import Access
from bot.web.app import web_app
from bot.web.consumer_answers import ConsumerAnswers
from bot.web.server import serving
from tests.decisions import ANA
from tests.telling.conftest import BASE, links
from tests.web.scene import Scene

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


def queues(scene: Scene, consumer: str = "revenue_daily", kind: str = "recovered", revision: int = 1) -> None:
    """A notice is on its way."""
    notice = Notice(
        kind=kind, revision=revision, consumer=consumer, channel="", text=TEXT, title="Recovered",
        answers=("acknowledged", "re-ran", "needs-help"),
    )  # fmt: skip
    scene.incidents.write(scene.id, by=ANA, decide=lambda _now: [NoticeQueued(notice=notice)])


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


def test_following_the_link_answers_nothing(told: Told) -> None:
    """Mail scanners follow every link, more than once; they see the page, and the record stays as it is."""
    seen = [told.web.request(method, told.path) for method in ("GET", "HEAD", "GET")]

    assert [200] * 3 == [answer.status_code for answer in seen]
    assert [] == told.answers
    assert 1 == seen[0].text.count("<h1>sales.orders is proven again.</h1>")
    assert 2 == seen[0].text.count("sales.orders is proven again.")
    assert "One &lt;b&gt;commit&lt;/b&gt;" in seen[0].text


def test_an_answer_is_the_one_that_slack_takes_and_twice_is_once(told: Told) -> None:
    """By the consumer, by link; the browser looks again, and finds it said."""
    first, again = told.says("re-ran", notice=told.seq), told.says("re-ran", notice=told.seq)

    page = told.web.get(told.path).text
    assert [("re-ran", "", "revenue_daily", "link")] == told.answers
    assert [(303, told.path)] * 2 == [
        (each.status_code, each.url.join(each.headers["location"]).path) for each in (first, again)
    ]
    assert "You ran it again" in page
    assert 'value="re-ran"' not in page
    assert 'value="acknowledged"' in page


def test_behind_a_proxy_with_a_path_the_browser_stays_below_it(told: Told) -> None:
    """Where `web.public_url` has a path, which the proxy takes away before it asks."""
    outside = httpx.URL(f"https://acme.example/waterline{told.path}")

    taken = told.says("acknowledged", notice=told.seq)

    assert (303, outside) == (taken.status_code, outside.join(taken.headers["location"]))


def test_a_call_for_help_needs_words_and_asks_the_responder(told: Told) -> None:
    """Without words nothing is noted and the page says so; the same words twice are one call."""
    empty = told.says("needs-help", "  ")
    calls = [told.says("needs-help", "The board report <stands> still, call 5511.") for _ in range(2)]

    assert (422, True) == (empty.status_code, "cannot see what you need" in empty.text)
    assert [303, 303] == [call.status_code for call in calls]
    assert [("needs-help", "The board report <stands> still, call 5511.", "revenue_daily", "link")] == told.answers
    assert "board report &lt;stands&gt; still" in told.web.get(told.path).text


def test_calls_for_help_have_an_end_for_who_calls(told: Told) -> None:
    """A link that leaked floods no channel, and takes no call from the people in Slack; what was typed is not lost."""
    for number in range(MOST_CALLS):
        told.says("needs-help", f"call {number}")

    refused = told.says("needs-help", "one more")

    assert refused.status_code == 422
    assert "was not added" in refused.text
    assert ">one more</textarea>" in refused.text
    assert len(told.answers) == MOST_CALLS
    Answering(told.scene.incidents).answer(told.scene.id, told.seq, "needs-help", by=ANA, text="The board waits.")
    assert ("needs-help", "The board waits.", ANA, "slack") == told.answers[-1]


@pytest.mark.parametrize("cut", [slice(0, -1), slice(0, 40), slice(5, None)])
def test_a_forged_link_tells_nothing_and_answers_nothing(told: Told, cut: slice) -> None:
    """In three parts, and the same whether there is such an incident or not."""
    path = f"/answer/{told.link.token[cut]}"

    seen, said = told.web.get(path), told.web.post(path, data={"answer": "acknowledged"})

    assert (404, 404) == (seen.status_code, said.status_code)
    for part in ("This link cannot be used.", "cut short or changed", "Copy the whole address"):
        assert part in seen.text
    assert "sales.orders" not in seen.text + said.text
    assert [] == told.answers


def test_an_expired_link_answers_nothing(told: Told) -> None:
    """Two weeks later it says until when it was taken, and where to go."""
    told.scene.clock.at += timedelta(days=14)

    seen, said = told.web.get(told.path), told.says("acknowledged")

    assert (410, 410) == (seen.status_code, said.status_code)
    assert "This link has expired." in said.text
    assert "in the incident&#39;s channel" in said.text
    assert [] == told.answers


def test_a_link_answers_for_its_consumer_only(told: Told) -> None:
    """Somebody else's notice is neither shown nor answered by it."""
    queues(told.scene, consumer="fraud_agent")

    refused = told.says("acknowledged", notice=told.seq)

    assert (422, "This notice was not for you." in refused.text) == (refused.status_code, True)
    assert [] == told.answers
    assert "fraud_agent" not in told.web.get(told.path).text


def test_what_was_shown_is_what_is_answered(told: Told) -> None:
    """A notice that comes while the page is open is not acknowledged unseen."""
    shown = told.seq
    queues(told.scene, kind="correction")

    told.says("acknowledged", notice=shown)

    views = told.scene.incidents.get(told.scene.id).notices.values()
    assert [("recovered", 1), ("correction", 0)] == [(view.notice.kind, len(view.answers)) for view in views]


def test_answers_still_arrive_when_the_incident_has_ended(told: Told) -> None:
    """People come back in the morning."""
    told.scene.incidents.write(told.scene.id, by=ANA, decide=lambda _now: [IncidentClosed(reason="done")])

    told.says("acknowledged")

    assert [("acknowledged", "", "revenue_daily", "link")] == told.answers


def test_what_another_replica_took_is_shown_at_once(told: Told) -> None:
    """The one that shows the page had put the incident away as ended."""
    [key] = told.scene.incidents.get(told.scene.id).notices
    ends = [NoticeEnded(key=key, how="delivered", detail="Taken."), IncidentClosed(reason="done")]
    told.scene.incidents.write(told.scene.id, by=ANA, decide=lambda _now: ends)
    before = told.web.get(told.path).text
    other = Answering(IncidentStore(told.scene.store.journal, told.scene.clock))
    other.answer(told.scene.id, told.seq, "re-ran", by="revenue_daily", via="link")

    after = told.web.get(told.path).text

    assert (False, True) == tuple("You ran it again" in page for page in (before, after))


def test_a_program_answers_later_with_the_same_json(told: Told) -> None:
    """It has the address from the webhook; refusals come as problems."""
    taken = told.web.post(told.path, json={"answer": "re-ran", "text": "3 runs"})
    odd = told.web.post(told.path, json={"answer": "perhaps"})

    assert {"noted": True, "detail": "Thank you: it is on record that you have run again."} == taken.json()
    assert (422, "application/problem+json") == (odd.status_code, odd.headers["content-type"])
    assert [("re-ran", "3 runs", "revenue_daily", "link")] == told.answers


def test_a_program_that_tries_again_late_answers_what_it_was_sent(told: Told) -> None:
    """The address that it was sent names the notice; a newer one is not answered unseen, and a number wins that the
    program says itself."""
    sent = told.link.to_notice(told.seq).removeprefix(BASE)
    queues(told.scene, kind="correction")

    told.web.post(sent, json={"answer": "re-ran"})
    told.web.post(sent, json={"answer": "acknowledged", "notice": told.seq})

    views = told.scene.incidents.get(told.scene.id).notices.values()
    assert [["re-ran"], ["acknowledged"]] == [[each.answer for each in view.answers] for view in views]


@pytest.mark.parametrize("number", ["", "seven", "0", "99999"])
def test_an_address_with_another_number_answers_nothing(told: Told, number: str) -> None:
    """Neither the newest notice nor any other is taken for the one that was meant."""
    refused = told.web.post(f"{told.path}?notice={number}", json={"answer": "acknowledged"})

    assert (422, "application/problem+json") == (refused.status_code, refused.headers["content-type"])
    assert [] == told.answers


def test_the_link_opens_this_page_only_and_is_kept_nowhere(told: Told) -> None:
    """No token is needed here and one is everywhere else; neither page, record nor log holds the link."""
    told.says("needs-help", f"My link is {told.link.url}")
    page, elsewhere = told.web.get(told.path), told.web.get("/")
    with structlog.testing.capture_logs() as logs:
        told.desk._clock = Broken()
        broken = told.web.get(told.path)

    stored = "".join(entry.model_dump_json() for entry in told.scene.incidents.get(told.scene.id).entries)
    assert (200, 401, 500) == (page.status_code, elsewhere.status_code, broken.status_code)
    assert [] == [told.link.token[:16] for text in (page.text, broken.text, stored, str(logs))
                  if told.link.token[:16] in text]  # fmt: skip
    assert [{"/answer/"}] == [{log["path"]} for log in logs]
    assert ("no-store", "no-referrer") == (page.headers["cache-control"], page.headers["referrer-policy"])
    assert "form-action 'self'" in page.headers["content-security-policy"]


class Broken:
    """A clock that has stopped."""

    def now(self) -> datetime:
        """See the port."""
        raise RuntimeError("no time")


def test_an_answer_of_any_size_is_not_read_to_its_end(told: Told) -> None:
    """Nobody fills the memory of the bot, or the record."""
    huge, long = told.says("needs-help", "x" * 20_000), told.says("needs-help", "x" * 1_001)

    assert (413, 422) == (huge.status_code, long.status_code)
    assert [] == told.answers


def test_a_public_address_opens_no_other_page() -> None:
    """Where consumers come from outside, whoever else comes has to be known: else nothing is served."""
    web = WebSettings(public_url="https://waterline.acme.example")

    with pytest.raises(BadConfiguration, match=r"anybody who reaches https://waterline\.acme\.example could read"):
        refuse_open_house(web, None)

    refuse_open_house(web, SecretStr("t0"))
    refuse_open_house(WebSettings(public_url="http://127.0.0.1:8370"), None)
