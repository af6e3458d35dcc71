"""An address of a webhook may be a password: record, pages and messages have its host, the settings alone have it."""

import pytest
from pydantic import ValidationError

from bot.adapters.notify import Webhook
from bot.bootstrap.content import CONTENT
from bot.domain.notice import Address
from bot.domain.reads import Consumer
from bot.domain.timeline import sentence
from bot.service.record import Records
from bot.slack.blocks.texts import place
from tests.telling.conftest import SECRETS, Scene

RECORDS = Records(CONTENT / "messages" / "record")
PATH = "services/T0/B0/S3CRET?token=AL5O"


def consumer(scene: Scene, path: str = PATH) -> Consumer:
    """Its receiver takes whoever knows the path."""
    return Consumer(name="fraud_agent", webhook=scene.hook.url.replace("hook", path))


def told(scene: Scene, *configured: Consumer, path: str = PATH) -> str:
    """One notice for the consumer, brought by a bot with these settings; everything that is shown and kept of it."""
    key = scene.queues(*consumer(scene, path).ways, consumer="fraud_agent")
    scene.webhook = Webhook(SECRETS, Consumer.hooks_of(configured))
    scene.delivers()
    incident = scene.story.incident
    return "\n".join(
        [
            RECORDS.markdown(incident),
            RECORDS.html(incident),
            *(f"{entry.model_dump_json()}\n{sentence(entry)}" for entry in incident.entries),
            *(place(each.address) + str(each.address) for each in incident.notices[key].deliveries.values()),
        ]
    )


def test_a_notice_arrives_and_only_the_host_is_told(scene: Scene) -> None:
    """In the journal, too, which nobody can change afterwards."""
    shown = told(scene, consumer(scene))

    [(_headers, _body)] = scene.hook.requests
    assert "S3CRET" not in shown
    assert "AL5O" not in shown
    assert f"http://127.0.0.1:{scene.hook.url.split(':')[2].partition('/')[0]}" in shown
    assert "answered HTTP 200" in shown


@pytest.mark.parametrize("status", [404, 503])
def test_a_receiver_that_quotes_its_address_is_not_quoted(scene: Scene, status: int) -> None:
    """As many web servers answer what they do not know."""
    scene.hook.answers = [(status, {"error": f"Cannot POST /{PATH} at {scene.hook.url.replace('hook', PATH)}"})]

    shown = told(scene, consumer(scene))

    assert f"answered HTTP {status}" in shown
    assert "S3CRET" not in shown
    assert "AL5O" not in shown


def test_an_address_that_the_settings_have_no_more_is_said_to_be_gone(scene: Scene) -> None:
    """It was changed since the notice was made: nothing is guessed, and nothing is sent elsewhere."""
    shown = told(scene, Consumer(name="fraud_agent", webhook=f"{scene.hook.url}/new"))

    assert scene.hook.requests == []
    assert "no longer have an address" in shown
    assert "Preview the notice again" in shown


def test_what_an_earlier_version_queued_is_brought_and_shown_without_its_path(scene: Scene) -> None:
    """Its record has the whole address, and cannot be changed."""
    old = Address(by="webhook", to=scene.hook.url.replace("hook", PATH))
    key = scene.queues(old, consumer="fraud_agent")

    scene.delivers()

    incident = scene.story.incident
    ended = incident.notices[key].deliveries[old.key].ended
    assert ended is not None
    assert ended.how == "delivered"
    shown = [
        RECORDS.markdown(incident),
        RECORDS.html(incident),
        place(old),
        str(old),
        ended.detail,
    ]
    shown += [sentence(entry) for entry in incident.entries]
    assert "S3CRET" not in "".join(shown)


def test_two_addresses_at_one_host_are_two(scene: Scene) -> None:
    """And one is the same in each process."""
    ways = [Consumer(name=name, webhook=f"https://hooks.acme.example/{path}").ways for name, path in ("aa", "ba", "cb")]

    assert ways[0] == ways[1]
    assert ways[0] != ways[2]


@pytest.mark.parametrize("url", ["https://hook:pa55word@hooks.acme.example/x", "https://token@hooks.acme.example"])
def test_an_address_with_a_password_is_refused_at_the_start(url: str) -> None:
    """With what to do, and without the password."""
    with pytest.raises(ValidationError, match="without user and password") as refused:
        Consumer(name="fraud_agent", webhook=url)

    said = refused.value.errors(include_input=False, include_url=False)[0]["msg"]
    assert "pa55word" not in said
    assert "WATERLINE_WEBHOOK_SECRET" in said
