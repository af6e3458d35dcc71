"""Channels that a data contract names for announcements and that no notice reaches: a responder sees them where it is
decided who is told, not only in `waterline doctor`."""

from pathlib import Path

import pytest

from bot.adapters.contracts import announced_to
from bot.bootstrap import setups_of
from bot.domain.approval import ApprovalPolicy
from bot.domain.entries import NoticesHeld, NoticesPreviewed, ReadersNoted
from bot.domain.notice import Notice
from bot.domain.reads import Untold
from bot.settings import Settings
from bot.slack.blocks.card import card_message
from bot.slack.blocks.texts import held_message, sending_view
from tests.decisions import ANA, BEN
from tests.telling.conftest import Scene

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


NOTICE = Notice(kind="first_warning", revision=1, consumer="revenue_daily", channel="C0X", text="Do not rely on it.")


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

    after = str([block.to_dict() for block in card_message(scene.story.incident, {}, None, None)[1]])

    assert before.readers is None
    assert "1 channel of the data contract cannot be notified: `Orders` (Waterline has no way to teams)" in after
