"""A real cluster for slow tests: one for the whole session, a new table and job for each test.

They are fixtures of the topmost conftest: `fresh_lab("v1")` in a test. One that is imported into another conftest or
into a test file is another fixture to pytest, with a cluster of its own.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from bot.lab.lab import Lab
from bot.lab.orders import Format, Sink


class FreshLab:
    """One lab; its cluster starts at the first call."""

    def __init__(self, home: Path) -> None:
        self._lab = Lab(home, consumers=())
        self._is_started = False

    def __call__(self, sink: Sink, consumers: Sequence[str] = (), format_version: Format = 2) -> Lab:
        """A new table and a new job (about 2 s). `consumers`: who reads the table; each read takes seconds."""
        if self._is_started:
            self._lab.reset(sink, format_version, consumers=consumers)
        else:
            self._lab.start(sink, format_version, consumers=consumers)
        self._is_started = True
        return self._lab

    def rest(self) -> None:
        """The job would commit on, every second and a half, beside all tests that come until the next one of these."""
        if self._is_started:
            self._lab.rest()

    def close(self) -> None:
        """Ends it."""
        self._lab.close()


@pytest.fixture(scope="session")
def lab_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FreshLab]:
    """The one of this session."""
    lab = FreshLab(tmp_path_factory.mktemp("lab"))
    yield lab
    lab.close()


@pytest.fixture
def fresh_lab(lab_cluster: FreshLab) -> Iterator[FreshLab]:
    """A running job with either sink on an otherwise empty table: `lab = fresh_lab("v2")`."""
    yield lab_cluster
    lab_cluster.rest()
