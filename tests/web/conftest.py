"""A table through an incident, and all that can be read of it, served on loopback."""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import httpx
import pytest

from bot.service.record import Records
from bot.service.trust import TrustService
from bot.settings import WebSettings
from bot.web.access import Access
from bot.web.app import serving, web_app
from tests.web.scene import Scene

CONTENT = Path(__file__).parents[2] / "messages" / "record"

_TOKEN = "kept-by-those-who-may-read"


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    """Nothing is opened yet."""
    made = Scene(tmp_path)
    yield made
    made.close()


@pytest.fixture
def access() -> Access:
    """Only this machine can connect, so nothing is asked; a test may say otherwise."""
    return Access(WebSettings(), None)


def served(scene: Scene, access: Access, desk: TrustService | None = None, **more: Any) -> AbstractContextManager[str]:
    """All that can be read of the scene, at an address on loopback."""
    app = web_app(
        desk or scene.desk(),
        scene.restores(),
        Records(CONTENT),
        CONTENT,
        access,
        lambda users: dict.fromkeys(users, "Ana Ribeiro"),
        **more,
    )
    return serving(app, "127.0.0.1", 0)


@pytest.fixture
def address(scene: Scene, access: Access) -> Iterator[str]:
    """Where it is served."""
    with served(scene, access) as found:
        yield found


@pytest.fixture
def guarded(scene: Scene) -> Iterator[httpx.Client]:
    """Somebody whose browser sends the token as the password."""
    access = Access(WebSettings(), _TOKEN)
    with served(scene, access) as found, httpx.Client(base_url=found, auth=("ana", _TOKEN)) as client:
        yield client


@pytest.fixture
def web(address: str) -> Iterator[httpx.Client]:
    """Somebody who asks."""
    with httpx.Client(base_url=address) as client:
        yield client
