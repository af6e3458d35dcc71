"""What does not arrive is tried again by rule; channels that nothing reaches; webhooks kept quiet."""

import time
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from pydantic import ValidationError

from bot.adapters.contracts import announced_to
from bot.adapters.notify import Smtp, Webhook
from bot.bootstrap import setups_of
from bot.bootstrap.content import CONTENT
from bot.incident.approval import ApprovalPolicy
from bot.incident.delivery import MOST_TRIES
from bot.incident.entries import DeliveryTried, NoticesHeld, NoticesPreviewed, ReadersNoted
from bot.incident.notice import Notice
from bot.observation.readers import Address, Consumer, Untold
from bot.service.record import Records
from bot.service.timeline import sentence
from bot.settings import Settings
from bot.slack.blocks.card import card_message
from bot.slack.blocks.texts import held_message, place, sending_view
from tests.decisions import ANA, BEN
from tests.telling.conftest import SECRETS, Scene
from tests.telling.receivers import dripping, mail_server


def test_what_does_not_arrive_is_tried_again_later_under_the_same_id(scene: Scene) -> None:
    """Busy now, taken later; the other ways do not wait for it."""
    key = scene.queues(scene.mail(), Address(by="webhook", to=scene.hook.url))
    scene.hook.answers = [(503, {}), (200, {})]

    due = scene.delivers()
    assert due == scene.clock.at + timedelta(seconds=10)
    delayed = scene.story.incident.notices[key].deliveries[f"webhook:{scene.hook.url}"].delayed
    assert "HTTP 503" in delayed.problem
    assert len(scene.box.mails) == 1
    scene.clock.at = due
    scene.delivers()

    ids = {headers["webhook-id"] for headers, _body in scene.hook.requests}
    assert (len(scene.hook.requests), len(ids)) == (2, 1)
    assert scene.story.incident.notices[key].unreached == ()


def test_after_the_last_try_the_responder_is_asked_to_call(scene: Scene) -> None:
    """A mail server that stays away is given up by rule, aloud."""
    key = scene.queues(scene.mail())
    tries = 0

    while (due := scene.delivers(is_up=False)) is not None:
        tries += 1
        scene.clock.at = due

    [lost] = scene.story.incident.notices[key].unreached
    assert tries + 1 == MOST_TRIES
    assert lost.ended.asks == ANA
    assert f"Tried {MOST_TRIES} times" in lost.ended.detail


@pytest.mark.parametrize(("said", "is_final"), [("550 no such mailbox", True), ("451 come back later", False)])
def test_a_refusal_for_good_is_not_tried_again(scene: Scene, said: str, is_final: bool) -> None:
    """A mailbox that is not there will not be there in a minute."""
    key = scene.queues(scene.mail())
    scene.box.refuses = said

    due = scene.delivers()

    assert (due is None) is is_final
    assert (len(scene.story.incident.notices[key].unreached) == 1) is is_final


def test_a_defect_of_ours_is_tried_again_by_rule_and_said(scene: Scene) -> None:
    """An error that nobody foresaw waits like any other, and is not repeated at each look."""
    key = scene.queues(scene.mail("revenue@acme.example\nBcc: all@acme.example"))

    due = scene.delivers()
    again = scene.delivers()

    [delivery] = scene.story.incident.notices[key].deliveries.values()
    assert due == again == scene.clock.at + timedelta(seconds=10)
    assert "A defect of ours: ValueError" in delivery.delayed.problem
    assert scene.box.mails == []


def test_a_try_that_was_cut_short_may_have_arrived(scene: Scene) -> None:
    """The intent without an end is all that a crash leaves; it is not taken for a failure."""
    key = scene.queues(scene.mail())
    scene.story.says(DeliveryTried(key=key, to=scene.mail().key, number=1))

    scene.delivers()

    [mail] = scene.box.mails
    ended = scene.story.incident.notices[key].deliveries[scene.mail().key].ended
    assert "may have come twice" in str(mail)
    assert "It may have arrived twice" in ended.detail


@pytest.mark.parametrize(
    ("begins", "has_arrived"), [(b"HTTP/1.1 200 OK\r\n\r\n", True), (b"HTTP/1.1 200 OK\r\nX-Slow: ", False)]
)
def test_a_receiver_that_drips_its_answer_holds_nothing_up(scene: Scene, begins: bytes, has_arrived: bool) -> None:
    """The status code is enough; where the headers have no end, the whole try has one."""
    scene.webhook = Webhook(SECRETS, limit_s=0.4)
    with dripping(begins) as url:
        key = scene.queues(Address(by="webhook", to=url))
        began = time.monotonic()
        scene.delivers()

    [way] = scene.story.incident.notices[key].deliveries.values()
    assert time.monotonic() - began < 10
    assert has_arrived is (way.ended is not None)
    assert has_arrived is not way.may_be_there


def test_a_mail_server_that_drips_its_greeting_holds_nothing_up(scene: Scene) -> None:
    """Its time limit is one of the whole try, not of each byte."""
    key = scene.queues(scene.mail())
    dispatcher = scene.dispatcher()
    with dripping(b"220-", is_first=True) as url:
        port = urlsplit(url).port or 0
        dispatcher._carriers = {"email": Smtp(mail_server(port, limit_s=0.4))}
        began = time.monotonic()
        dispatcher.deliver_due(scene.story.id)

    assert time.monotonic() - began < 10
    assert scene.story.incident.notices[key].deliveries[scene.mail().key].delayed is not None


def test_consumers_whose_names_look_alike_have_a_file_each(scene: Scene) -> None:
    """Characters that a file's name must not have are replaced; the second one must not take the first one's place."""
    to_folder = Address(by="file", to=str(scene.folder / "told"))
    for consumer in ("orders daily", "orders-daily"):
        scene.queues(to_folder, consumer=consumer)

    scene.delivers()
    scene.delivers()

    assert 2 == len(list((scene.folder / "told").iterdir()))


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


CONTRACT = (
    "apiVersion: v3.1.0\nkind: DataContract\nid: orders\nversion: 1.0.0\nstatus: active\n"
    "schema: [{name: orders, physicalName: sales.orders}]\nsupport:\n"
    "  - {channel: Orders, tool: teams, scope: announcements, url: 'https://teams.example/x'}\n"
    "  - {channel: '#orders-news', tool: slack}\n"
    "  - {channel: orders-list, tool: email}\n"
    "  - {channel: report@acme.example, tool: email}\n"
    "  - {channel: '#orders-help', tool: discord, scope: interactive}\n"
)
TEAMS = Untold(name="Orders", why="Waterline has no way to teams")
"""A channel without an adapter."""


@pytest.fixture
def contract(tmp_path: Path) -> Path:
    """It names channels of four kinds for announcements, and one where people ask."""
    file = tmp_path / "orders.odcs.yaml"
    file.write_text(CONTRACT, encoding="utf-8")
    return file


def test_each_channel_that_cannot_be_told_says_why(contract: Path) -> None:
    """No way to its tool, no address, no mail server; where people only ask, nobody expects to be told."""
    told, untold = announced_to(contract, has_mail=False)

    assert told == ()
    assert untold == (
        TEAMS,
        Untold(name="#orders-news", why="the contract gives no Slack channel id for it"),
        Untold(name="orders-list", why="the contract gives no e-mail address for it"),
        Untold(name="report@acme.example", why="it is notified by e-mail, and no mail server is configured"),
    )


def test_a_contracts_mail_address_does_not_stop_a_bot_without_a_mail_server(contract: Path) -> None:
    """Whoever writes the contract need not know how Waterline is set up: the table's setup carries who is not told."""
    config = contract.parent / "waterline.yaml"
    config.write_text(
        "catalog: {name: lake, properties: {type: sql}}\n"
        "tables:\n"
        "  sales.orders:\n"
        "    contract_file: orders.odcs.yaml\n"
        "    policies: {default: {users: [U0BEN00001]}}\n",
        encoding="utf-8",
    )

    [setup] = setups_of(Settings.load(config)).values()

    assert setup.consumers == ()
    assert [each.name for each in setup.untold] == ["Orders", "#orders-news", "orders-list", "report@acme.example"]


NOTICE = Notice(kind="warning", revision=1, consumer="revenue_daily", channel="C0X", text="Do not rely on it.")


def test_a_preview_says_on_each_page_who_is_not_told() -> None:
    """Before anybody believes that all were told; the others are counted."""
    untold = tuple(Untold(name=f"Orders {n}", why="Waterline has no way to teams") for n in range(7))

    shown = str(sending_view(("wl-1", "", "p", "C0X"), [NOTICE], 0, untold).to_dict())

    assert "7 channels of the data contract cannot be notified" in shown
    assert "Orders 0" in shown
    assert "and 2 more" in shown


def test_what_waits_for_a_second_person_says_who_is_not_told(scene: Scene) -> None:
    """They decide about who is told, too."""
    scene.story.says(NoticesPreviewed(name="seen", notices=(NOTICE,)))
    scene.story.says(NoticesHeld(name="seen", policy=ApprovalPolicy(users=(BEN,)), step=None), by=ANA)
    scene.story.says(ReadersNoted(observed=(), unknown=None, untold=(TEAMS,)))

    incident = scene.story.incident
    [view] = incident.held.values()

    assert "`Orders` (Waterline has no way to teams)" in str([b.to_dict() for b in held_message(incident, view)[1]])


def test_the_card_and_the_record_say_who_is_not_told(scene: Scene) -> None:
    """From the setup before anything was previewed, and from the record where the table is configured no more."""
    before = scene.story.incident
    scene.story.says(ReadersNoted(observed=(), unknown=None, untold=(TEAMS,)))

    after = str([block.to_dict() for block in card_message(scene.story.incident, {}, {}.get, None)[1]])

    assert before.readers is None
    assert "1 channel of the data contract cannot be notified: `Orders` (Waterline has no way to teams)" in after
