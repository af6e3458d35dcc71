"""Fixtures that folders share: one real cluster a session, one PostgreSQL server, one Spark."""

import gc
import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import structlog
from hypothesis import settings

from tests.in_memory import keep_in_memory
from tests.lab_fixtures import fresh_lab, lab_cluster
from tests.longest_first import put_longest_first
from tests.made_up import BASE, EXAMPLES, IS_HUNTING
from tests.postgres import Postgres, postgres_server
from tests.spark_fixtures import embedded, runner, server
from tests.tiers import DAY, is_left, mark_full, rotate

if TYPE_CHECKING:
    from bot.adapters.journal_sql import Store

__all__ = ["embedded", "fresh_lab", "lab_cluster", "postgres", "runner", "server"]

settings.register_profile("waterline", deadline=None, derandomize=not IS_HUNTING)  # no test measures time
settings.load_profile("waterline")


def pytest_configure() -> None:
    """Before the first folder is made, and before xdist starts its workers, which take the environment over."""
    keep_in_memory()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """What would only be deselected is not even imported."""
    return True if config.option.markexpr == "not full" and is_left(collection_path) else None


def pytest_report_header() -> str:
    """By which the run is done once more."""
    return f"made up: {EXAMPLES} histories, WATERLINE_DAY={DAY}, WATERLINE_SEED={BASE}"


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Iterator[None]:
    """Marks come before pytest selects by them, the order after pytest-randomly, which shuffles files and tests."""
    rotate(items)
    mark_full(items)
    yield
    if hasattr(config, "workerinput"):
        put_longest_first(items)


def pytest_collection_finish() -> None:
    """Ten thousand tests and all modules stay to the end: Python need not look through them again and again."""
    gc.freeze()


@pytest.fixture(autouse=True)
def _ctrl_c() -> Iterator[None]:
    """What a shell starts in the background ignores Ctrl-C, and so would every process that a test starts. A command
    that runs in the tests' own process leaves its handler behind."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session", autouse=True)
def _remembered_schema() -> Iterator[None]:
    """A few thousand records are opened, each in a database of its own."""
    from tests.remembered_schema import remembered_schema

    with remembered_schema():
        yield


@pytest.fixture
def record(tmp_path: Path) -> Iterator["Store"]:
    """An empty record on disk."""
    from bot.adapters.journal_sql import open_store

    with closing(open_store(f"sqlite:///{tmp_path}/journal.db")) as store:
        yield store


@pytest.fixture(autouse=True)
def _usual_log() -> Iterator[None]:
    """A command sets up the log of its whole process, which here goes on with the next test."""
    yield
    structlog.reset_defaults()


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A server of this session's own."""
    with postgres_server() as server:
        yield server
