"""Every way: what arrives, how it is signed or encrypted, and what is on record."""

import base64
import hashlib
import hmac
import json

import pytest

from bot.adapters.notify import Security, Smtp
from bot.domain.notice import Address, sending_key
from tests.telling.conftest import SECRETS, Scene


def test_a_mail_says_in_text_and_html_what_slack_says(scene: Scene) -> None:
    """One multipart message; people and channels become links, what others wrote stays text."""
    key = scene.queues(scene.mail())

    scene.delivers()

    [mail] = scene.box.mails
    text, page = mail.get_body(("plain",)), mail.get_body(("html",))
    assert text is not None
    assert page is not None
    assert mail["Subject"] == f"[{scene.story.id}] sales.orders is under review: do not rely on its newest rows."
    assert mail["Message-ID"] == f"<{sending_key(key, 'email:revenue@acme.example')}@acme.example>"
    for part in (text.get_content(), page.get_content()):
        assert "5130840912223377421" in part
        assert "https://slack.com/app_redirect?channel=C0ORDERS01" in part
    assert "A <b> & [link](https://x.example)" in text.get_content()
    assert "A &lt;b&gt; &amp; [link](https://x.example)" in page.get_content()
    assert "<strong>What to do now</strong>" in page.get_content()
    assert page.get_content().count("<li>") == 2


def test_what_arrived_is_on_record_and_not_sent_again(scene: Scene) -> None:
    """Each way once, whoever looks again."""
    key = scene.queues(
        scene.mail(), Address(by="webhook", to=scene.hook.url), Address(by="file", to=str(scene.folder / "told"))
    )

    first, again = scene.delivers(), scene.delivers()

    view = scene.story.incident.notices[key]
    assert (first, again) == (None, None)
    assert [d.ended.how for d in view.deliveries.values() if d.ended] == ["delivered"] * 3
    assert (len(scene.box.mails), len(scene.hook.requests)) == (1, 1)
    [file] = (scene.folder / "told").iterdir()
    assert "**sales.orders is under review: do not rely on its newest rows.**" in file.read_text(encoding="utf-8")


def test_a_webhook_is_signed_with_every_secret(scene: Scene) -> None:
    """As Standard Webhooks has it: over id, timestamp and the very body."""
    key = scene.queues(Address(by="webhook", to=scene.hook.url))

    scene.delivers()

    [(headers, body)] = scene.hook.requests
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    digests = [hmac.new(secret, signed, hashlib.sha256).digest() for secret in SECRETS]
    assert headers["webhook-signature"] == " ".join(f"v1,{base64.b64encode(d).decode()}" for d in digests)
    assert headers["webhook-id"] == headers["idempotency-key"] == sending_key(key, f"webhook:{scene.hook.url}")
    assert int(headers["webhook-timestamp"]) == int(scene.clock.at.timestamp())
    assert json.loads(body)["data"]["trusted_snapshot"] == "5130840912223377421"


@pytest.mark.parametrize("status", [302, 307, 308])
def test_a_webhook_is_not_led_elsewhere(scene: Scene, status: int) -> None:
    """A redirect is no delivery: what is signed for one address goes to no other."""
    key = scene.queues(Address(by="webhook", to=scene.hook.url))
    scene.hook.answers = [(status, {})]

    scene.delivers()

    delayed = scene.story.incident.notices[key].deliveries[f"webhook:{scene.hook.url}"].delayed
    assert len(scene.hook.requests) == 1
    assert delayed is not None
    assert f"HTTP {status}" in delayed.problem


@pytest.mark.parametrize("security", ["starttls", "tls"])
def test_no_password_is_sent_without_encryption(scene: Scene, security: Security) -> None:
    """A mail server that cannot encrypt, or somebody in its place, gets neither password nor notice."""
    key = scene.queues(scene.mail())
    courier = scene.courier()
    courier._carriers = {
        "email": Smtp(
            "127.0.0.1", scene.box.port, "w@acme.example", security=security, login=("w", "hunter22"), limit_s=60
        )
    }

    courier.deliver_due(scene.story.id)

    delayed = scene.story.incident.notices[key].deliveries[scene.mail().key].delayed
    assert (scene.box.mails, scene.box.logins) == ([], [])
    assert delayed is not None
    assert "did not take it" in delayed.problem
    assert "hunter22" not in delayed.problem


def test_a_way_that_is_not_set_up_is_said_at_once(scene: Scene) -> None:
    """Nothing waits in silence for a server that nobody configured."""
    key = scene.queues(scene.mail())
    courier = scene.courier()
    courier._carriers = {}

    courier.deliver_due(scene.story.id)

    [lost] = scene.story.incident.notices[key].unreached
    assert lost.ended is not None
    assert "Nothing is configured" in lost.ended.detail
