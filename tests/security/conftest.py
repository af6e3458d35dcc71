"""The whole bot in the local workspace, as in the scenarios of Slack; and a private channel in it."""

from collections.abc import Iterator

import pytest

from bot.workspace import Channel, Workspace, default_cast
from tests.ended_aside import ended_aside
from tests.patient_slack import PATIENT
from tests.slack.conftest import (
    ana,
    ben,
    bot,
    consumers,
    dana,
    finn,
    flink,
    folder,
    hang_up,
    looks_first,
    orders,
    policy,
    stages,
)

__all__ = [
    "ana",
    "ben",
    "bot",
    "consumers",
    "dana",
    "finn",
    "flink",
    "folder",
    "hang_up",
    "looks_first",
    "orders",
    "policy",
    "stages",
]

QUIET = "orders-quiet"
ANA, BEN, BOT = "U0ANA00001", "U0BEN00002", "U0W4T3RL1NE"


@pytest.fixture
def slack() -> Iterator[Workspace]:
    """A fresh workspace in which Ana and Ben have a private channel with the bot."""
    cast = default_cast()
    quiet = Channel(id="C0QUIET001", name=QUIET, members=frozenset({ANA, BEN, BOT}), is_private=True)
    workspace = Workspace(cast.model_copy(update={"channels": (*cast.channels, quiet)}), rules=PATIENT)
    with ended_aside(workspace.serve()) as served:
        yield served
