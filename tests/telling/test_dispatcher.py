"""Every way: what arrives, how it is signed, what is on record, and what was killed or retried."""

import base64
import hashlib
import hmac
import json
from pathlib import Path

import pytest

from bot.adapters.notify import Smtp
from bot.incident.delivery import DeliveryView
from bot.incident.entries import IncidentClosed, NoticeEnded, NoticeQueued, NoticeRetried, WaterlineMoved
from bot.incident.notice import Notice, sending_key
from bot.observation.errors import Refused
from bot.observation.readers import Address
from bot.service.notices.dispatcher import Deliveries
from tests import orders_table as orders
from tests.decisions import ANA, BEN
from tests.telling.conftest import SECRETS, Scene, deliveries_of
from tests.telling.killed_dispatcher import is_killed_while_it_delivers
from tests.telling.receivers import mail_server


def test_a_mail_says_in_text_and_html_what_slack_says(scene: Scene) -> None:
    """One multipart message; people and channels become links, what others wrote stays text."""
    key = scene.queues(scene.mail())

    scene.delivers()

    [mail] = scene.box.mails
    text, page = mail.get_body(("plain",)), mail.get_body(("html",))
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
    assert f"HTTP {status}" in delayed.problem


@pytest.mark.parametrize("security", ["starttls", "tls"])
def test_no_password_is_sent_without_encryption(scene: Scene, security: str) -> None:
    """A mail server that cannot encrypt, or somebody in its place, gets neither password nor notice."""
    key = scene.queues(scene.mail())
    dispatcher = scene.dispatcher()
    dispatcher._carriers = {
        "email": Smtp(mail_server(scene.box.port).model_copy(update={"security": security, "user": "w"}), "hunter22")
    }

    dispatcher.deliver_due(scene.story.id)

    delayed = scene.story.incident.notices[key].deliveries[scene.mail().key].delayed
    assert (scene.box.mails, scene.box.logins) == ([], [])
    assert "did not take it" in delayed.problem
    assert "hunter22" not in delayed.problem


def test_a_way_that_is_not_set_up_is_said_at_once(scene: Scene) -> None:
    """Nothing waits in silence for a server that nobody configured."""
    key = scene.queues(scene.mail())
    dispatcher = scene.dispatcher()
    dispatcher._carriers = {}

    dispatcher.deliver_due(scene.story.id)

    [lost] = scene.story.incident.notices[key].unreached
    assert "Nothing is configured" in lost.ended.detail


BEFORE, AFTER = 1, -2
"""Right after the intent is on record, before anything is sent; right after it was sent, before that is on record."""


def dies(scene: Scene, cut: int) -> None:
    """A dispatcher of its own process delivers, and is killed at this append."""
    url = f"sqlite:///{scene.folder / 'record.db'}"
    assert is_killed_while_it_delivers(url, scene.box.port, scene.story.id, scene.clock.at, cut)


def is_delivered(scene: Scene, key: str) -> bool:
    """Whether the record says so of each way, once."""
    ends = [delivery.ended for delivery in scene.story.incident.notices[key].deliveries.values()]
    return all(end is not None and end.how == "delivered" for end in ends)


@pytest.mark.parametrize(("cut", "mails"), [(BEFORE, 1), (AFTER, 2)])
def test_a_mail_comes_and_twice_only_under_one_id_and_marked(scene: Scene, cut: int, mails: int) -> None:
    """Mailboxes that know the Message-ID keep one."""
    key = scene.queues(scene.mail())
    dies(scene, cut)

    scene.delivers()
    scene.delivers()

    assert is_delivered(scene, key)
    assert (len(scene.box.mails), len({mail["Message-ID"] for mail in scene.box.mails})) == (mails, 1)
    assert "may have come twice" in str(scene.box.mails[-1])


@pytest.mark.parametrize(("cut", "posts"), [(BEFORE, 1), (AFTER, 2)])
def test_a_webhook_is_called_and_twice_only_under_one_id_and_marked(scene: Scene, cut: int, posts: int) -> None:
    """A receiver that counts each `webhook-id` once acts once; the body says that it may be a repetition."""
    address = Address(by="webhook", to=scene.hook.url)
    key = scene.queues(address)
    dies(scene, cut)

    scene.delivers()
    scene.delivers()

    ids = {headers["webhook-id"] for headers, _body in scene.hook.requests}
    bodies = [json.loads(body) for _headers, body in scene.hook.requests]
    assert is_delivered(scene, key)
    assert (len(scene.hook.requests), ids) == (posts, {sending_key(key, address.key)})
    assert [body["may_be_repeated"] for body in bodies] == [False, True][-posts:]
    assert {body["id"] for body in bodies} == ids
    assert len({body["markdown"] for body in bodies}) == 1


@pytest.mark.parametrize("cut", [BEFORE, AFTER])
def test_a_file_is_there_once_and_whole(scene: Scene, cut: int) -> None:
    """Written again it is the same file; nothing unfinished is left beside it."""
    folder = scene.folder / "told"
    key = scene.queues(Address(by="file", to=str(folder)))
    dies(scene, cut)
    left = texts(folder)

    scene.delivers()
    scene.delivers()

    assert is_delivered(scene, key)
    assert len(left) == (0 if cut == BEFORE else 1)
    [text] = texts(folder)
    assert "sales.orders is under review" in text
    assert left in ([], [text])


def texts(folder: Path) -> list[str]:
    """Of every file there, hidden ones too."""
    return [file.read_text(encoding="utf-8") for file in folder.iterdir()] if folder.exists() else []


@pytest.mark.parametrize(("cut", "posts"), [(BEFORE, 1), (AFTER, 2)])
def test_what_is_tried_again_is_as_safe_as_the_first_time(scene: Scene, cut: int, posts: int) -> None:
    """It had failed for good, somebody mended it and asked, and the power was cut."""
    scene.story.says(WaterlineMoved(snapshot=orders.GOOD, status="trusted"))
    key = scene.queues(Address(by="webhook", to=scene.hook.url))
    scene.hook.answers = [(410, {})]
    scene.delivers()
    scene.hook.answers, refused = [(200, {})], len(scene.hook.requests)
    retrying = deliveries_of(scene)
    retrying.retry(scene.story.id, scene.story.incident.notices[key].seq, 0, by=ANA)
    dies(scene, cut)

    scene.delivers()
    scene.delivers()

    ids = {headers["webhook-id"] for headers, _body in scene.hook.requests}
    assert is_delivered(scene, key)
    assert (refused, len(scene.hook.requests) - refused, len(ids)) == (1, posts, 1)


def test_of_several_ways_those_that_were_told_are_not_told_again(scene: Scene) -> None:
    """Killed while the second is being told: the first stays as it was, the third is told after the start."""
    key = scene.queues(
        scene.mail(), Address(by="webhook", to=scene.hook.url), Address(by="file", to=str(scene.folder / "told"))
    )
    dies(scene, 3)

    scene.delivers()

    assert is_delivered(scene, key)
    assert (len(scene.box.mails), len(scene.hook.requests), len(texts(scene.folder / "told"))) == (1, 1, 1)


@pytest.fixture
def retrying(scene: Scene) -> Deliveries:
    """Over the scene's record; the table was proven, or nobody could have been told that it recovered."""
    scene.story.says(WaterlineMoved(snapshot=orders.GOOD, status="trusted"))
    return deliveries_of(scene)


def failing(scene: Scene, kind: str = "recovered", revision: int = 1) -> int:
    """A notice whose mailbox is not there; returns the number of its entry."""
    notice = Notice(
        kind=kind, revision=revision, consumer="revenue_daily", channel="", text=f"{kind} {revision}",
        ways=(scene.mail(),),
    )  # fmt: skip
    key = notice.key(scene.story.id)
    scene.story.says(NoticeQueued(notice=notice))
    scene.story.says(NoticeEnded(key=key, how="failed", detail="550 no such mailbox.", to=scene.mail().key))
    return scene.story.incident.notices[key].seq


def delivery(scene: Scene, key: str) -> DeliveryView:
    return scene.story.incident.notices[key].deliveries[scene.mail().key]


def test_a_mended_mailbox_gets_the_same_mail_once(scene: Scene, retrying: Deliveries) -> None:
    """After a refusal for good somebody mends the address' mailbox and says so; the record has who asked."""
    key = scene.queues(scene.mail(), Address(by="webhook", to=scene.hook.url))
    scene.box.refuses = "550 no such mailbox"
    scene.delivers()
    scene.box.refuses = None
    view = scene.story.incident.notices[key]

    address = retrying.retry(scene.story.id, view.seq, 0, by=ANA)
    scene.delivers()
    scene.delivers()

    [mail] = scene.box.mails
    [asked] = [entry for entry in scene.story.incident.entries if isinstance(entry.body, NoticeRetried)]
    ended = delivery(scene, key).ended
    assert str(address) == "by e-mail (revenue@acme.example)"
    assert asked.by == ANA
    assert mail["Message-ID"] == f"<{sending_key(key, scene.mail().key)}@acme.example>"
    assert "may have come twice" not in str(mail)
    assert (ended.how if ended else None, len(scene.hook.requests)) == ("delivered", 1)


def test_what_may_have_arrived_before_it_failed_says_so(scene: Scene, retrying: Deliveries) -> None:
    """An answer was lost, then it was refused: the receiver may have it."""
    key = scene.queues(scene.mail())
    lost = NoticeEnded(key=key, how="failed", detail="Gone.", to=scene.mail().key, may_be_there=True)
    scene.story.says(lost)

    retrying.retry(scene.story.id, scene.story.incident.notices[key].seq, 0, by=ANA)
    scene.delivers()

    [mail] = scene.box.mails
    assert "may have come twice" in str(mail)


def test_a_second_click_and_a_late_one_change_nothing(scene: Scene, retrying: Deliveries) -> None:
    """While it is on its way, and when it has arrived."""
    seq = failing(scene)
    retrying.retry(scene.story.id, seq, 0, by=ANA)

    with pytest.raises(Refused, match=f"already on its way. <@{ANA}> asked for it"):
        retrying.retry(scene.story.id, seq, 0, by=BEN)
    scene.delivers()
    with pytest.raises(Refused, match="has this notice already"):
        retrying.retry(scene.story.id, seq, 0, by=BEN)

    assert scene.delivers() is None
    assert len(scene.box.mails) == 1


@pytest.mark.parametrize(
    ("older", "newer", "is_refused"),
    [
        ("warning", "update", True),
        ("warning", "recovered", True),
        ("recovered", "update", False),
        ("recovered", "correction", True),
        ("recovered", "review", False),
        ("correction", "no_action", True),
        ("correction", "update", False),
        ("review", "update", False),
        ("review", "review", True),
        ("all_quiet", "all_quiet", True),
        ("all_quiet", "update", False),
    ],
)
def test_what_was_overtaken_is_not_sent(
    scene: Scene, retrying: Deliveries, older: str, newer: str, is_refused: bool
) -> None:
    """Nobody hears of a warning after the all-clear; the review does not take the place of an all-clear."""
    seq = failing(scene, older)
    failing(scene, newer, revision=2)

    if is_refused:
        with pytest.raises(Refused, match="something newer"):
            retrying.retry(scene.story.id, seq, 0, by=ANA)
    else:
        retrying.retry(scene.story.id, seq, 0, by=ANA)


def test_an_all_clear_that_was_taken_back_is_not_sent(scene: Scene, retrying: Deliveries) -> None:
    """Neither while the table is under review again, nor after the next proof: it names what is trusted no more."""
    trusted = WaterlineMoved(snapshot=orders.GOOD, status="trusted")
    scene.story.says(trusted)
    seq = failing(scene)
    scene.story.says(WaterlineMoved(snapshot=orders.GOOD, status="under-review"))
    with pytest.raises(Refused, match="You cannot send an all-clear"):
        retrying.retry(scene.story.id, seq, 0, by=ANA)
    scene.story.says(trusted)

    with pytest.raises(Refused, match="This all-clear is out of date"):
        retrying.retry(scene.story.id, seq, 0, by=ANA)


def test_an_all_clear_is_sent_also_when_the_incident_has_ended_and_a_warning_is_not(
    scene: Scene, retrying: Deliveries
) -> None:
    """Who could not be reached has to know that it is over, and not how it stood."""
    warning = failing(scene, "warning")
    scene.story.says(IncidentClosed(reason="done"))
    with pytest.raises(Refused, match="is closed"):
        retrying.retry(scene.story.id, warning, 0, by=ANA)


def test_everybody_is_tried_at_once_and_who_is_left_out_is_named(scene: Scene, retrying: Deliveries) -> None:
    """By command, where the cause was the same for all."""
    failing(scene, "warning")
    seq = failing(scene)

    found, refused = retrying.retry_all(scene.story.id, "", by=ANA)
    with pytest.raises(Refused, match="Nothing to send again"):
        retrying.retry_all(scene.story.id, "nobody_here", by=ANA)

    assert [view.seq for view in found] == [seq]
    assert refused == {}


def test_the_only_notice_that_failed_and_holds_no_more_says_why(scene: Scene, retrying: Deliveries) -> None:
    """Nothing is sent, and the consumer is named."""
    failing(scene, "warning")
    scene.story.says(IncidentClosed(reason="done"))

    found, refused = retrying.retry_all(scene.story.id, "revenue_daily", by=ANA)

    assert found == []
    assert "is closed" in str(refused["revenue_daily"])
