"""A finding whose channel is shut when it is found is told when the channel is back, as long as it lasts."""

from datetime import timedelta

import pytest

from bot.workspace import Workspace
from tests.slack.people import ONCALL, Responder, eventually
from tests.slack.test_lost_room import opened_again, shut
from tests.tables import ORDERS
from tests.watch.watching_bot import WatchingBot


@pytest.mark.parametrize("how", ["archived", "removed"])
def test_what_was_found_meanwhile_is_told(ana: Responder, bot: WatchingBot, slack: Workspace, how: str) -> None:
    """Archived by mistake, or nobody had invited the bot yet."""
    bot.looks()
    shut(slack, how)
    bot.is_restored_from_an_older_savepoint()
    bot.looks(2)
    [sighted] = bot.sightings.memory(ORDERS).sighted.values()

    def waits() -> bool:
        post = bot.store.outbox.find(f"watch/{sighted.id}")
        return post is not None and post.state == "queued" and post.problem in {"is_archived", "not_in_channel"}

    eventually(waits)
    opened_again(slack, how)
    bot.clock.advances(timedelta(minutes=1))

    def is_told() -> bool:
        return any("was restored" in m.plain for m in ana.messages(ONCALL) if not m.is_ephemeral)

    eventually(is_told)
