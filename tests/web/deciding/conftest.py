"""A proposal on a page, and people who come to it."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from bot.domain.approval import ApprovalPolicy
from tests.web.deciding.world import POLICY, Person, World


@pytest.fixture
def policy() -> ApprovalPolicy:
    """Ben or Cleo; Dana may veto, Eve may break the glass. A test may say another."""
    return POLICY


@pytest.fixture
def is_private() -> bool:
    """Whether the incident is; a test may say so."""
    return False


@pytest.fixture
def world(tmp_path: Path, policy: ApprovalPolicy, is_private: bool) -> Iterator[World]:
    """Ana has proposed the rewind."""
    with ExitStack() as stack:
        yield World(tmp_path, stack, policy, is_private=is_private)


@pytest.fixture
def address(world: World) -> Iterator[str]:
    """Where its pages are."""
    with world.serves() as found:
        yield found


@pytest.fixture
def ana(address: str) -> Person:
    """The proposer."""
    return Person(address, "ana@acme.example")


@pytest.fixture
def ben(address: str) -> Person:
    """An approver."""
    return Person(address, "ben@acme.example")


@pytest.fixture
def cleo(address: str) -> Person:
    """Another one."""
    return Person(address, "cleo@acme.example")
