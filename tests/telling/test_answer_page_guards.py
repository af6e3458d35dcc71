"""What a link does not open: other consumers, other pages, other notices, for ever, or without measure."""

from datetime import datetime, timedelta

import pytest
import structlog
from pydantic import SecretStr

from bot.domain.errors import BadConfiguration
from bot.service.answering import MOST_CALLS, Answering
from bot.settings import WebSettings, refuse_open_house
from tests.decisions import ANA
from tests.telling.followed_link import Told, queues, told

__all__ = ["told"]


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
