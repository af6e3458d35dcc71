"""Fixtures that folders share: one real cluster a session, one PostgreSQL server a session."""

from collections.abc import Iterator

import pytest
from hypothesis import settings

from tests.lab_fixtures import fresh_lab, lab_cluster
from tests.postgres import Postgres, postgres_server

__all__ = ["fresh_lab", "lab_cluster", "postgres"]

settings.register_profile("waterline", deadline=None)  # no test measures time
settings.load_profile("waterline")


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A server of this session's own."""
    with postgres_server() as server:
        yield server
