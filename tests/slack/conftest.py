"""A local workspace on loopback, a table that was written twice, and the whole bot between them."""

import shutil
import sqlite3
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from bot.incident.approval import ApprovalPolicy
from bot.observation.readers import Consumer
from bot.workspace import SeenMessage, Workspace
from tests.ended_aside import ended_aside
from tests.hanging_up import HangUp, hang_up
from tests.patient_slack import PATIENT
from tests.rewound import Damaged
from tests.slack.little_bot import APPROVERS, CONSUMERS, Cluster, LittleBot
from tests.slack.orders import Orders
from tests.slack.people import Responder

__all__ = ["hang_up"]


@pytest.fixture
def slack() -> Iterator[Workspace]:
    """A fresh workspace."""
    with ended_aside(Workspace(rules=PATIENT).serve()) as served:
        yield served


@pytest.fixture(scope="session")
def stages(tmp_path_factory: pytest.TempPathFactory, hang_up: HangUp) -> tuple[Path, Path, Path]:
    """(where it stands, damaged, collected): a table knows its own place, so each test gets it back at the same one."""
    root = tmp_path_factory.mktemp("orders")
    here, damaged, collected = root / "here", root / "damaged", root / "collected"
    here.mkdir()
    Damaged.made_in(here)
    (here / "lineage.jsonl").touch()
    shutil.copytree(here, damaged)
    with Workspace(rules=PATIENT).serve() as slack:
        little = LittleBot(here, slack.api_url, (slack.bot_token, slack.app_token))
        little.hang_up = partial(hang_up, slack)
        little.start()
        try:
            ana = Responder(slack.url, slack.person("ana").person)
            ana.opens()
            ana.collects_evidence()
        finally:
            little.close()
    with sqlite3.connect(here / "journal.db") as record:
        for table in ("inbox", "outbox", "cursors"):
            record.execute(f"DELETE FROM {table}")  # noqa: S608 - three names from the line above
    record.close()
    shutil.copytree(here, collected)
    return here, damaged, collected


@pytest.fixture
def folder(request: pytest.FixtureRequest, stages: tuple[Path, Path, Path]) -> Path:
    """Where run A has committed checkpoints 1 to 5, and run B 4, 5, 6 again; nobody has read yet.

    With `collected` in the test's arguments, wl-1 is open there and its evidence is collected.
    """
    here, damaged, collected = stages
    shutil.rmtree(here)
    shutil.copytree(collected if "collected" in request.fixturenames else damaged, here)
    return here


@pytest.fixture
def orders(folder: Path) -> Iterator[Orders]:
    """The damaged table, and others who write or read it."""
    table = Orders(folder)
    yield table
    table.close()


@pytest.fixture
def policy() -> ApprovalPolicy:
    """One of the group of approvers; a scenario may say another."""
    return APPROVERS


@pytest.fixture
def consumers() -> tuple[Consumer, ...]:
    """Two declared consumers; a scenario may say others."""
    return CONSUMERS


@pytest.fixture
def looks_first() -> bool:
    """Only what somebody asks for is collected; scenarios of the first look say otherwise."""
    return False


@pytest.fixture
def bot(
    slack: Workspace,
    folder: Path,
    policy: ApprovalPolicy,
    consumers: tuple[Consumer, ...],
    hang_up: HangUp,
    looks_first: bool,
) -> Iterator[LittleBot]:
    """The bot, connected; a scenario may close it and start it again."""
    little = LittleBot(folder, slack.api_url, (slack.bot_token, slack.app_token))
    little.policy, little.consumers = policy, consumers
    little.looks_first = looks_first
    little.hang_up = partial(hang_up, slack)
    little.start()
    yield little
    little.close()


@pytest.fixture
def flink(bot: LittleBot) -> Cluster:
    """The job's cluster."""
    return bot.flink


def _person(name: str) -> Any:
    def responder(slack: Workspace, bot: LittleBot) -> Responder:
        return Responder(slack.url, slack.person(name).person)

    return pytest.fixture(responder)


ana, ben, cleo, dana, eli, finn = map(_person, ("ana", "ben", "cleo", "dana", "eli", "finn"))
"""Who proposes; two approvers; those who answer for the two consumers, in their channels; one who may not approve."""


@pytest.fixture
def collected(ana: Responder) -> SeenMessage:
    """The card of an incident whose evidence is collected: the walk is at the proposal."""
    return ana.sees_on_card("Propose")
