"""Every task, on Spark, asked of a table that is well and of one whose job was restored from an older savepoint."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

import spark_tasks
from bot.domain.evidence import Ask, Verdict
from bot.domain.table import Window
from bot.evidence import find_tasks
from tests.actions.worlds import closed, made
from tests.evidence.conftest import Asks
from tests.tables import CONTRACT, ORDERS

CONFIRMED = {
    "checkpoint_health", "checkpoint_pairing", "contract_agreement", "duplicate_commits", "duplicate_rows",
    "extra_copies", "late_rows", "ledger", "recovery_extent", "replayed_rows",
}  # fmt: skip
"""Where run b repeats a checkpoint of run a; nothing is on the table that is well."""
INCONCLUSIVE = {"freshness", "reads_above_waterline", "replayable_rows"}
"""Nothing is promised, trusted or declared."""


@dataclass(frozen=True)
class Asked:
    """One table."""

    ask: Ask
    inconclusive: set[str]
    confirmed: set[str]

    def expected(self, task: str) -> Verdict:
        """Of this task."""
        if task in self.inconclusive:
            return Verdict.INCONCLUSIVE
        return Verdict.CONFIRMED if task in self.confirmed else Verdict.RULED_OUT


@pytest.fixture(scope="module", params=["well", pytest.param("rewound", marks=pytest.mark.smoke)])
def asked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    """All that can be seen of the table, and a window that begins after its first commit."""
    scene, _plan = made(tmp_path_factory.mktemp(request.param), request.param)
    seen = scene.observer.observe(ORDERS)
    assert seen.table.head is not None
    window = Window(since=scene.snapshot("a", 1), until=seen.table.head)
    ask = Ask(observation=seen, window=window, contract=CONTRACT)
    if request.param == "well":  # its checkpoints lie on a local disk, of which nobody knows whether it lasts
        yield Asked(ask, INCONCLUSIVE | {"checkpoint_health"}, set())
    else:
        yield Asked(ask, INCONCLUSIVE, CONFIRMED)
    closed(scene)


AT_ONCE = {
    "checkpoint_pairing",
    "duplicate_commits",
    "duplicate_rows",
    "ledger",
    "missing_positions",
    "recovery_extent",
}
"""Asked in the inner loop; the others with all tests."""


@pytest.mark.parametrize(
    "task",
    [pytest.param(task, marks=[] if task in AT_ONCE else pytest.mark.full) for task in sorted(find_tasks(spark_tasks))],
)
def test_it_tells_the_two_tables_apart(asked: Asked, asks: Asks, task: str) -> None:
    """The answer is checked as the collector checks it."""
    assert asks(task, asked.ask).verdict is asked.expected(task)
