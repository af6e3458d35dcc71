"""A healthy table, its little Flink, and the bot that watches both, in a local workspace."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from bot.workspace import Workspace
from tests.hanging_up import HangUp, hang_up
from tests.slack.conftest import slack
from tests.slack.people import Responder
from tests.tables import OrdersTable, job
from tests.watch.watching_bot import WatchingBot

__all__ = ["hang_up", "slack"]


@pytest.fixture
def bot(slack: Workspace, tmp_path: Path, hang_up: HangUp) -> Iterator[WatchingBot]:
    """Run A has committed checkpoints 1 to 5, and goes on."""
    OrdersTable(tmp_path).close()
    little = WatchingBot(tmp_path, slack.api_url, (slack.bot_token, slack.app_token))
    little.flink.submit(job("a"), at_checkpoint=0)
    little.flink.checkpoints(job("a"), 5)
    little.hang_up = partial(hang_up, slack)
    little.start()
    yield little
    little.watch.close()
    little.close()


@pytest.fixture
def ana(slack: Workspace, bot: WatchingBot) -> Responder:
    """On call for the table."""
    return Responder(slack.url, slack.person("ana").person)
