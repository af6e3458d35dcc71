"""Of a long history the watch judges the newest part, and all of it where a part is not enough. Nothing is timed."""

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from bot.bootstrap import failure_modes
from bot.diagnosis._support.examine import ModeModule
from bot.history.case import Case
from bot.incident.diagnosis import Examined
from bot.observation.flink import Restored
from bot.observation.ids import CheckpointId, JobId, SnapshotId
from bot.observation.listed import Listed
from bot.observation.looked import Seen
from bot.service.watching.look import KEPT, Eye, Look, TableSeen, goes_on_from, tail_of
from tests.adapters.flink_wire import Wire
from tests.watch.conftest import OverRecorded
from tests.watch.earlier import Page
from tests.watch.recorded import Recorded
from tests.watch.watched import TERMS, Watched

pytestmark = pytest.mark.smoke

SECOND = timedelta(seconds=1)
HEALTHY = "compacted-by-spark-v2"


def with_history(name: str, commits: int) -> Recorded:
    """The same, on top of so many commits of somebody who is long gone."""
    world = Recorded(name)

    def below(told: Page) -> None:
        first = next(each for each in told["snapshots"] if "parent-snapshot-id" not in each)
        summary = {"operation": "append", "added-records": "1"}
        start = first["timestamp-ms"] - commits * 1000
        made = [
            {**first, "snapshot-id": number, "parent-snapshot-id": number - 1, "sequence-number": 0,
             "timestamp-ms": start + number * 1000 - 1000, "summary": summary}
            for number in range(1, commits + 1)
        ]  # fmt: skip
        del made[0]["parent-snapshot-id"]
        first["parent-snapshot-id"] = commits
        told["snapshots"][:0] = made
        told["snapshot-log"][:0] = [
            {"snapshot-id": each["snapshot-id"], "timestamp-ms": each["timestamp-ms"]} for each in made
        ]

    return world.metadata(below)


class Looking:
    """An eye that counts how many snapshots a failure mode gets to see in each quick look."""

    def __init__(self, watched: Watched) -> None:
        self.counted: list[int] = []
        modes = dict(failure_modes())
        real = modes["F5"]

        def examine(case: Case) -> Examined:
            if not case.evidence:
                self.counted.append(len(case.observation.table.snapshots))
            return real.examine(case)

        modes["F5"] = ModeModule(mode=real.mode, examine=examine)
        self._watched, self._seen = watched, TableSeen()
        self._eye = Eye(watched.observer, watched.examiner, modes, watched.clock, TERMS)

    def looks(self) -> Look:
        """Once, a second later."""
        self._watched.clock.at += SECOND
        look = self._eye.look(self._watched.table, self._seen)
        assert look is not None
        return look


@pytest.mark.parametrize("commits", [1_200, 4_000])
def test_a_healthy_table_is_judged_by_its_newest_commits(over_recorded: OverRecorded, commits: int) -> None:
    """The first time all of it; from then on as many as in a table that is a third as old."""
    looking = Looking(over_recorded(with_history(HEALTHY, commits)))

    signs = [sign for _ in range(3) for sign in looking.looks().signs]

    assert signs == []
    assert looking.counted[0] > commits
    assert looking.counted[1:] == [KEPT, KEPT]


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("restored-from-older-savepoint-v2", "F2"),
        ("forked-from-a-savepoint-v2", "F13"),
        ("rolled-back-while-running-v2", "F6"),
    ],
)
def test_a_fault_is_found_in_a_long_history(
    over_recorded: OverRecorded, wire: Wire, tmp_path: Path, name: str, code: str
) -> None:
    """Seen in the newest part; what a look names is named by all of the history, and has one name while it lasts."""
    world = with_history(name, 1_200)
    after = dict(world.raw)
    world.until(before_the_fault(world))
    watched = over_recorded(world)
    looking = Looking(watched)
    before = [looking.looks().signs for _ in range(2)]
    world.raw, world.is_cut, world.now = after, False, world.case.observation.table.read_at
    world.told_by(wire)
    world.catalog_in(tmp_path / name)
    watched.clock.at = world.now
    looking.counted.clear()

    found = [{(sign.code, sign.subject) for sign in looking.looks().signs} for _ in range(2)]

    assert before == [(), ()]
    assert {code for code, _subject in found[0]} == {code}
    assert found[0] == found[1]
    assert looking.counted[0] == KEPT


def before_the_fault(world: Recorded) -> datetime:
    """Before main went back, or the newest run began."""
    table = world.case.observation.table
    back = next((move.at for move in table.head_moves if move.at > table.by_id[move.snapshot_id].committed_at), None)
    return (back or world.runs[0].started_at) - SECOND


def test_a_part_is_not_enough(over_recorded: OverRecorded) -> None:
    """For a short history; where nobody knows whether what lies below was ever judged; where main went back to it; and
    where a run was restored from there just now."""
    watched = over_recorded(with_history(HEALTHY, 1_200))
    table = watched.observer.table(watched.table)
    jobs = watched.observer.runs(watched.observer.setup(watched.table))
    tail = tail_of(table, jobs)
    assert tail is not None
    point = Restored(checkpoint_id=CheckpointId(0), path="s-0", at=table.read_at, is_savepoint=True)
    deep = Seen(source="Flink", values=tuple(run.model_copy(update={"restored": point}) for run in jobs.values))

    assert goes_on_from(tail, table.head)
    assert not goes_on_from(tail, None)
    assert not goes_on_from(tail, SnapshotId(900))
    assert tail_of(table.model_copy(update={"head": SnapshotId(900)}), jobs) is None
    assert tail_of(table, jobs, kept=len(table.snapshots)) is None
    assert tail_of(table, deep) is None


def test_a_living_run_that_wrote_below_is_judged_by_all(over_recorded: OverRecorded) -> None:
    """Its last commit would look expired: others have committed since, more often than a part is long."""
    watched = over_recorded(with_history(HEALTHY, 1_200))
    table = watched.observer.table(watched.table)
    jobs = watched.observer.runs(watched.observer.setup(watched.table))
    assert isinstance(table.snapshots, Listed)
    table.snapshots.writers = (*table.snapshots.writers, (JobId("f" * 32), None))
    silent = jobs.values[0].model_copy(update={"job_id": JobId("f" * 32), "state": "RUNNING"})

    assert tail_of(table, jobs) is not None
    assert tail_of(table, Seen(source="Flink", values=(*jobs.values, silent))) is None


def test_a_silent_run_is_judged_by_all_where_a_part_does_not_show_what_it_went_on_from(
    over_recorded: OverRecorded,
) -> None:
    """It was restored before the part begins, or the part has no commit by a run of the job: only another job's, whose
    checkpoint ids say nothing of it."""
    watched = over_recorded(with_history(HEALTHY, 1_200))
    table = watched.observer.table(watched.table)
    jobs = watched.observer.runs(watched.observer.setup(watched.table))
    ended = [run.model_copy(update={"state": "FINISHED"}) for run in jobs.values]
    newest = max(s.checkpoint_id or 0 for s in table.of_flink)
    point = Restored(checkpoint_id=CheckpointId(newest), path=None, at=table.read_at, is_savepoint=True)
    silent = jobs.values[0].model_copy(update={"job_id": JobId("f" * 32), "state": "RUNNING", "restored": point})
    long_ago = point.model_copy(update={"at": table.snapshots[0].committed_at})
    of_old = silent.model_copy(update={"restored": long_ago})

    assert tail_of(table, Seen(source="Flink", values=(silent, *ended))) is not None
    assert tail_of(table, Seen(source="Flink", values=(of_old, *ended))) is None
    assert tail_of(table, Seen(source="Flink", values=(silent,))) is None
