"""The record on each database that it may live on."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.adapters.journal_sql import Store, open_store
from tests.postgres import Postgres


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest) -> str:
    """Each test of this folder is run on both, unless it names one."""
    return str(request.param)


@pytest.fixture
def url(database: str, request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where this test's record lives."""
    if database == "sqlite":
        return f"sqlite:///{tmp_path / 'record.db'}"
    server: Postgres = request.getfixturevalue("postgres")
    return server.new_database()


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    """The record, opened and migrated."""
    opened = open_store(url)
    yield opened
    opened.close()
