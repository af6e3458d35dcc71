"""A real cluster for slow tests: one for the whole session, a new table and job for each test.

Use: `from tests.lab_fixtures import fresh_lab, lab_cluster` in a conftest, then `fresh_lab("v1")` in the test.
"""

from collections.abc import Iterator, Sequence
from typing import Protocol

import pytest

from bot.lab.kind import Format, Sink
from bot.lab.lab import Lab


class FreshLab(Protocol):
    """See `fresh_lab`."""

    def __call__(self, sink: Sink, consumers: Sequence[str] = (), format_version: Format = 2) -> Lab:
        """`consumers`: who reads the table; each read takes seconds."""


@pytest.fixture(scope="session")
def lab_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FreshLab]:
    """Starts the lab at the first call; each later call gives it a new table and a new job (about 2 s)."""
    with Lab(tmp_path_factory.mktemp("lab"), consumers=()) as lab:
        is_running = False

        def begin(sink: Sink, consumers: Sequence[str] = (), format_version: Format = 2) -> Lab:
            nonlocal is_running
            if is_running:
                lab.reset(sink, format_version, consumers=consumers)
            else:
                lab.start(sink, format_version, consumers=consumers)
            is_running = True
            return lab

        yield begin


@pytest.fixture
def fresh_lab(lab_cluster: FreshLab) -> FreshLab:
    """A running job with either sink on an otherwise empty table: `lab = fresh_lab("v2")`."""
    return lab_cluster
