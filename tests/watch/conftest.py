"""A healthy table, its little Flink, and the bot that watches both, in a local workspace."""

from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Protocol

import pytest

from bot.adapters.flink_rest import FlinkRest
from bot.adapters.iceberg import PyIcebergCatalog
from bot.ports import ReadEvents
from bot.workspace import Workspace
from tests.adapters.conftest import wire, wire_server
from tests.adapters.flink_wire import Wire
from tests.hanging_up import HangUp, hang_up
from tests.slack.conftest import slack
from tests.slack.people import Responder
from tests.tables import OrdersTable, job
from tests.watch.recorded import Recorded
from tests.watch.watched import Watched, World
from tests.watch.watching_bot import WatchingBot
from tests.web.scene import StandingClock

__all__ = ["hang_up", "slack", "wire", "wire_server"]


class OverRecorded(Protocol):
    """The watch over a world of the lab; `lineage` tells who reads, otherwise nobody does."""

    def __call__(self, world: Recorded, lineage: ReadEvents | None = None) -> Watched:
        """At the moment at which the world was recorded or cut."""


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


@pytest.fixture
def over_recorded(tmp_path: Path, wire: Wire) -> Iterator[OverRecorded]:
    """The watch over a world of the lab, at the moment at which it was recorded or cut."""
    with ExitStack() as closing:

        def over(world: Recorded, lineage: ReadEvents | None = None) -> Watched:
            folder = tmp_path / world.name
            folder.mkdir()
            clock = StandingClock()
            clock.at = world.now
            world.told_by(wire)
            catalog, flink = PyIcebergCatalog("lake", world.catalog_in(folder), clock), FlinkRest(wire.url)
            closing.callback(catalog.close)
            closing.callback(flink.close)
            made = Watched(
                folder, World(catalog, flink, world, world.files, lineage or world, world), clock, world.contract
            )
            closing.callback(made.close)
            return made

        yield over
