"""Who is told by e-mail or webhook answers on a page: over real HTTP, into the same record as Slack's buttons."""

import httpx
import pytest

from bot.domain.entries import IncidentClosed, NoticeEnded
from bot.service.answering import Answering
from bot.service.incident_store import IncidentStore
from tests.decisions import ANA
from tests.telling.conftest import BASE, links
from tests.telling.followed_link import Ending, Told, queues, told

__all__ = ["told"]


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


def test_what_was_shown_is_what_is_answered(told: Told) -> None:
    """A notice that comes while the page is open is not acknowledged unseen."""
    shown = told.seq
    queues(told.scene, kind="correction")

    told.says("acknowledged", notice=shown)

    views = told.scene.incidents.get(told.scene.id).notices.values()
    assert [("recovered", 1), ("correction", 0)] == [(view.notice.kind, len(view.answers)) for view in views]


@pytest.mark.parametrize("how", [None, "failed", "overtaken"])
def test_what_never_came_is_not_shown_as_told(told: Told, how: Ending | None) -> None:
    """A correction that waits, could not be delivered or was overtaken is no word to them; whoever was sent its number
    all the same, and says so, is heard, and then it has come."""
    queues(told.scene, kind="correction", how=how)
    waiting = told.seq

    before = told.web.get(told.path).text
    told.says("acknowledged")
    told.web.post(told.path, json={"answer": "re-ran", "notice": waiting})
    after = told.web.get(told.path).text

    views = told.scene.incidents.get(told.scene.id).notices.values()
    assert [["acknowledged"], ["re-ran"]] == [[each.answer for each in view.answers] for view in views]
    assert (1, 2) == tuple(page.count("One &lt;b&gt;commit&lt;/b&gt;") for page in (before, after))


def test_whoever_was_told_nothing_is_told_so(told: Told) -> None:
    """The link is genuine; the only notice to them waits."""
    queues(told.scene, consumer="fraud_agent", how=None)
    link = links().of(told.scene.id, "fraud_agent", told.scene.clock.at).url.removeprefix(BASE)

    seen = told.web.get(link)

    assert (404, True) == (seen.status_code, "no notice that has reached you" in seen.text)


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
