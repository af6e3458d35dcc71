"""The bot posts the record's seal at milestones, and reads back only what it posted itself."""

from slack_sdk import WebClient

from bot.domain.seal import seal_fault, seal_of
from bot.slack.seals import posted_seals
from bot.workspace import Workspace
from tests.slack.little_bot import LittleBot
from tests.slack.people import Responder


def test_seals_are_posted_at_opening_and_close_and_fit_the_record(
    ana: Responder, bot: LittleBot, slack: Workspace
) -> None:
    """Each stands in the incident's thread once, a restart posts none again, and what people post counts nothing."""
    card = ana.opens()
    ana.says(f"wl-1/1/{'0' * 64}", thread_ts=card.ts)
    ana.asks("close It was planned.")
    ana.sees("Seal of the record up to entry 1:")
    bot.restart()
    ana.sees("is closed")
    record = bot.services.store.get(bot.services.store.all()[0].id).entries
    ana.sees(str(seal_of(record[-1])))

    found = posted_seals(WebClient(slack.bot_token, base_url=slack.api_url))

    assert [seal.seq for seal in found] == [1, record[-1].seq]
    assert [seal_fault(seal, record) for seal in found] == [None, None]
