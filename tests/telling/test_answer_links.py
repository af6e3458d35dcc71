"""The link in mails and webhooks: whose it is, until when, and where it may stand."""

import html
import json
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.cli.doctor import answers_by_link
from bot.domain.errors import BadConfiguration
from bot.domain.ids import IncidentId
from bot.domain.notice import Address
from bot.notices.answer_link import AnswerLinks, BadLink, OldLink, link_secrets
from bot.notices.forms import TAKES_NO_ANSWER
from bot.settings import Settings
from tests import orders_table as orders
from tests.telling.conftest import BASE, Scene, links

EXAMPLE = Path(__file__).parents[2] / "deploy" / "waterline.example.yaml"
OLD, NEW = b"o" * 32, b"n" * 32
INCIDENT = IncidentId("wl-7")


@given(consumer=st.text(min_size=1, max_size=40).filter(lambda name: name.isprintable() and "/" not in name))
@settings(max_examples=25)
def test_a_link_names_its_consumer_until_its_end(consumer: str) -> None:
    """Any name comes back as it is; at the end itself it is too late."""
    token = links().of(INCIDENT, consumer, orders.NINE).token
    end = orders.NINE + timedelta(days=14)

    claim = links().read(token, end - timedelta(seconds=1))

    assert (INCIDENT, consumer, end) == (claim.incident, claim.consumer, claim.until)
    with pytest.raises(OldLink, match=r"It was taken until 17 Nov 2026"):
        links().read(token, end)


@given(st.data())
@settings(max_examples=60)
def test_no_changed_link_is_taken(data: st.DataObject) -> None:
    """One character more, less or other, anywhere, and it is none of ours: also in the last, where base64 has slack."""
    token = links().of(INCIDENT, "revenue_daily", orders.NINE).token
    place = data.draw(st.integers(0, len(token) - 1))
    other = data.draw(st.sampled_from("AZaz09-_.=%é"))
    changed = data.draw(st.sampled_from([token[:place] + other + token[place + 1 :], token[:place], token + other]))

    if changed != token:
        with pytest.raises(BadLink):
            links().read(changed, orders.NINE)


def test_a_secret_is_changed_without_a_gap() -> None:
    """The first signs, each is taken; the one that was taken back is not."""
    before = AnswerLinks((OLD,), BASE, timedelta(days=1)).of(INCIDENT, "a", orders.NINE).token
    both, after = (AnswerLinks(keys, BASE, timedelta(days=1)) for keys in ((NEW, OLD), (NEW,)))

    taken = both.read(before, orders.NINE), after.read(both.of(INCIDENT, "a", orders.NINE).token, orders.NINE)

    assert taken[0] == taken[1]
    with pytest.raises(BadLink):
        after.read(before, orders.NINE)


@pytest.mark.parametrize("text", ["", "  ", "short", f"{'x' * 40} short"])
def test_a_weak_secret_is_refused_and_not_quoted(text: str) -> None:
    """Each of several has to be long enough."""
    with pytest.raises(BadConfiguration, match="openssl rand") as refused:
        link_secrets(text)

    assert "short" not in str(refused.value)


def test_mails_and_webhooks_carry_the_link_and_files_do_not(scene: Scene) -> None:
    """Text, HTML and JSON lead to the same page, a program to its notice; a file is kept where others read it."""
    key = scene.queues(
        scene.mail(), Address(by="webhook", to=scene.hook.url), Address(by="file", to=str(scene.folder / "told"))
    )

    scene.delivers()

    [mail], [(_headers, body)], [file] = scene.box.mails, scene.hook.requests, (scene.folder / "told").iterdir()
    url = links().of(scene.story.id, "revenue_daily", scene.story.now).url
    assert f"{url}?notice={scene.story.incident.notices[key].seq}" == json.loads(body)["answer_url"]
    for form in ("plain", "html"):
        part = mail.get_body((form,))
        assert part is not None
        assert url in part.get_content()
        assert "?notice=" not in part.get_content()
        assert TAKES_NO_ANSWER not in part.get_content()
    assert "/answer/" not in file.read_text(encoding="utf-8")
    assert TAKES_NO_ANSWER in file.read_text(encoding="utf-8")


def test_each_try_carries_the_same_link(scene: Scene) -> None:
    """What came twice counts once."""
    scene.queues(Address(by="webhook", to=scene.hook.url))
    scene.hook.answers = [(503, {}), (200, {})]

    scene.clock.at = scene.delivers() or scene.clock.at
    scene.delivers()

    urls = {json.loads(body)["answer_url"] for _headers, body in scene.hook.requests}
    assert (2, 1) == (len(scene.hook.requests), len(urls))


def test_without_address_or_secret_there_is_no_link(scene: Scene) -> None:
    """Nothing leads nowhere; the mail says whom to ask."""
    scene.links = None
    scene.queues(scene.mail(), Address(by="webhook", to=scene.hook.url))

    scene.delivers()

    assert json.loads(scene.hook.requests[0][1])["answer_url"] is None
    assert "/answer/" not in str(scene.box.mails[0])
    for form in ("plain", "html"):
        part = scene.box.mails[0].get_body((form,))
        assert part is not None
        assert TAKES_NO_ANSWER in html.unescape(part.get_content())


@pytest.mark.parametrize("status", [200, 400, 503])
def test_no_link_comes_back_into_the_record(scene: Scene, status: int) -> None:
    """A receiver or mail server that quotes what it was sent, whole, cut short or escaped, does not write it down."""
    key = scene.queues(scene.mail(), Address(by="webhook", to=scene.hook.url))
    link = links().of(scene.story.id, "revenue_daily", scene.story.now)
    scene.hook.answers = [(status, {"answer": "needs-help", "text": f"what is {link.url}? and {link.token[:60]}"})]
    scene.box.refuses = f"550 suspicious link {link.url.replace('/', chr(92) + '/')}"

    scene.delivers()

    stored = "".join(entry.model_dump_json() for entry in scene.story.incident.entries)
    assert link.token[:16] not in stored
    assert "550 suspicious link" in stored
    assert bool(scene.story.incident.notices[key].answers) is (status == 200)


@pytest.mark.parametrize(
    ("secret", "url", "is_good", "found"),
    [
        ("k" * 32, BASE, True, f"carry a link to {BASE}/answer/"),
        ("k" * 32, None, False, "web.public_url is not"),
        (None, BASE, False, "WATERLINE_ANSWER_SECRET is not"),
        (None, None, True, "finds no link to answer by"),
        ("short", BASE, False, "cannot be used"),
    ],
)
def test_doctor_says_whether_consumers_can_answer(
    monkeypatch: pytest.MonkeyPatch, secret: str | None, url: str | None, is_good: bool, found: str
) -> None:
    """Neither address nor secret is a choice; one alone was meant otherwise."""
    example = Settings.load(EXAMPLE)
    assert example.web is not None
    web = example.web.model_copy(update={"public_url": url})
    monkeypatch.delenv("WATERLINE_ANSWER_SECRET", raising=False)
    if secret is not None:
        monkeypatch.setenv("WATERLINE_ANSWER_SECRET", secret)

    [line] = answers_by_link(example.model_copy(update={"web": web}))

    assert (is_good, True) == (line[1], found in line[2])
    assert bool(line[3]) is not (is_good and secret is not None)
