"""What a look asks of others does not grow with the history of table and lineage; nothing here is timed."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.routing import Route

from bot.adapters.lineage import Marquez
from bot.bootstrap import failure_modes
from bot.diagnosis._support.examine import ModeModule
from bot.evidence import Collector
from bot.history.case import Case
from bot.incident.diagnosis import Examined
from bot.observation.ids import TableName
from bot.service.examining import Examination, Examiner
from bot.service.watching.check import TableMonitor, TableStatus
from tests.adapters.serving import served
from tests.adapters.test_lineage_marquez import LittleMarquez
from tests.watch.conftest import OverRecorded
from tests.watch.earlier import Page
from tests.watch.recorded import Recorded
from tests.watch.watched import TERMS

DAYS = 300
SECOND = timedelta(seconds=1)


@pytest.fixture
def marquez() -> Iterator[LittleMarquez]:
    """Somebody has read something each hour since the table was made."""
    little = LittleMarquez()
    with served(Starlette(routes=[Route("/api/v1/events/lineage", little.answer)])) as url:
        little.url = url
        yield little


def with_history(days: int) -> Recorded:
    """A healthy table whose first commits are so many days older."""
    world = Recorded("compacted-by-spark-v2")

    def older(told: Page) -> None:
        for log in ("snapshots", "snapshot-log"):
            for each in told[log][:-21]:
                each["timestamp-ms"] -= days * 86_400_000

    def twice(told: Page) -> None:
        """More commits below than a window is long, by whoever filled the table before the job began."""
        first = told["snapshots"][0]
        loaded = {key: value for key, value in first["summary"].items() if not key.startswith("flink.")}
        for number in range(1, 31):
            below = {**first, "snapshot-id": number, "sequence-number": 0, "parent-snapshot-id": number - 1 or None}
            below["summary"] = loaded
            below["timestamp-ms"] = first["timestamp-ms"] - 31 + number
            told["snapshots"].insert(number - 1, {k: v for k, v in below.items() if v is not None})
            told["snapshot-log"].insert(number - 1, {"snapshot-id": number, "timestamp-ms": below["timestamp-ms"]})
        first["parent-snapshot-id"] = 30

    return world.metadata(twice).metadata(older)


def read_each_hour(marquez: LittleMarquez, world: Recorded, days: int) -> None:
    """Of another table; Marquez knows no filter."""
    marquez.asked.clear()
    marquez.events = [_event(world.now - timedelta(hours=hour), hour) for hour in range(days * 24)]


def _event(at: datetime, number: int) -> dict[str, Any]:
    return {
        "eventTime": at.isoformat(),
        "eventType": "COMPLETE",
        "run": {"runId": f"r-{number}", "facets": {}},
        "job": {"namespace": "analytics", "name": "another"},
        "inputs": [],
        "outputs": [],
    }


@pytest.mark.parametrize("days", [1, DAYS])
def test_a_diagnosis_reads_lineage_no_further_back_than_its_window(
    marquez: LittleMarquez, over_recorded: OverRecorded, days: int
) -> None:
    """Twenty commits of seconds: one page, whether Marquez holds a day or three hundred."""
    world = with_history(days)
    watched = over_recorded(world, Marquez(marquez.url, "lake"))
    read_each_hour(marquez, world, days)

    examined = watched.examiner.examine(watched.table)

    asked = marquez.asked[0]["after"]
    assert len(examined.case.observation.table.snapshots) == 50
    assert len(marquez.asked) == 1
    assert asked > (world.now - timedelta(minutes=10)).isoformat()[:19]


def test_the_watch_asks_no_lineage(marquez: LittleMarquez, over_recorded: OverRecorded) -> None:
    """No failure mode needs a reader, and the events of a platform are many."""
    world = Recorded("compacted-by-spark-v2")
    watched = over_recorded(world, Marquez(marquez.url, "lake"))
    read_each_hour(marquez, world, 1)

    watched.looks(6, apart=SECOND)

    assert world.asked
    assert marquez.asked == []
    assert watched.seen == ()


def test_a_table_that_takes_long_to_judge_is_judged_less_often(over_recorded: OverRecorded) -> None:
    """For at most a twentieth of the time: ten seconds of thought, two hundred of rest."""
    world = Recorded("compacted-by-spark-v2").promises(commit_every=timedelta(hours=1))
    watched = over_recorded(world)
    modes = dict(failure_modes())
    slow = modes["F5"]
    judged = []

    def examine(case: Case) -> Examined:
        if not case.evidence:
            judged.append(watched.clock.at)
            watched.clock.at += timedelta(seconds=10)
        return slow.examine(case)

    modes["F5"] = ModeModule(mode=slow.mode, examine=examine)
    monitor, seen = TableMonitor(watched.observer, watched.examiner, modes, watched.clock, TERMS), TableStatus()

    for _ in range(20):
        monitor.look(watched.table, seen)
        watched.clock.at += timedelta(seconds=30)

    gaps = [(after - before).total_seconds() for before, after in pairwise(judged)]
    assert gaps
    assert min(gaps) >= 200


def test_a_closer_look_that_takes_long_is_taken_less_often(over_recorded: OverRecorded) -> None:
    """For at most a twentieth of the time, as where a folder of many files has to be listed. What was recorded stands
    still meanwhile: the run is set to a checkpoint each nine hours, else it would be told that none completes."""

    def seldom(page: Page) -> None:
        page["interval"] = 9 * 3_600_000

    world = Recorded("compacted-by-spark-v2").promises(commit_every=timedelta(hours=9))
    world.pages("/checkpoints/config", seldom)
    watched = over_recorded(world)
    looked: list[datetime] = []

    class Slow(Examiner):
        def examine(self, table: TableName, *_asked: object, **_told: object) -> Examination:
            looked.append(watched.clock.at)
            watched.clock.at += timedelta(minutes=2)
            return watched.examiner.examine(table, without_rows=True)

    slow = Slow(watched.observer, Collector({}, None, watched.clock), failure_modes())  # type: ignore[arg-type]
    monitor, seen = TableMonitor(watched.observer, slow, failure_modes(), watched.clock, TERMS), TableStatus()

    for _ in range(240):
        monitor.look(watched.table, seen)
        watched.clock.at += timedelta(seconds=30)

    gaps = [(after - before).total_seconds() for before, after in pairwise(looked)]
    assert gaps
    assert min(gaps) >= 40 * 60


def with_a_leak(name: str) -> Recorded:
    """A world whose evidence found what another real one had left: a manifest that nothing remembers."""
    leak = next(
        each for each in Recorded("restored-under-another-uid-v2").case.evidence if each.task == "leaked_manifests"
    )
    world = Recorded(name).promises(commit_every=timedelta(hours=1))
    world.case = world.case.model_copy(update={"evidence": (*world.case.evidence, leak)})
    return world


@pytest.mark.parametrize(
    ("world", "code", "looks"),
    [(with_a_leak("planned-restart-v2"), "leaked", 2), (Recorded("data-file-removed-v2"), "F9", 6)],
    ids=["leaked", "urgent"],
)
def test_damage_that_wakes_nobody_is_not_looked_at_each_minute(
    over_recorded: OverRecorded, world: Recorded, code: str, looks: int
) -> None:
    """In five minutes: it stays until somebody mends it, perhaps for months; what is urgent is followed."""
    watched = over_recorded(world.promises(commit_every=timedelta(hours=1)))

    watched.looks(11, apart=timedelta(seconds=30))

    assert [each.code for each in watched.told] == [code]
    assert world.asked.count("ledger") == looks
