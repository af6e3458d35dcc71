"""Files come and go without a commit: a look at storage says nothing of checkpoints that completed after it."""

from collections.abc import Callable
from contextlib import nullcontext
from datetime import timedelta
from typing import Any, cast

import pytest

from bot.diagnosis import no_snapshot_advanced, recovered_by_itself
from bot.domain.diagnosis import HEALTHY, CannotTell, Case, Matches
from bot.domain.evidence import Evidence, Verdict
from bot.domain.ids import EvidenceId
from bot.service.evidence_desk import EvidenceDesk
from tests.cases import Tale
from tests.diagnosis.little_evidence import Looked, case_of, look
from tests.diagnosis.little_world import World
from tests.diagnosis.one_incident import OneIncident
from tests.diagnosis.test_asked_for import TASKS, WL_1, diagnosed
from tests.diagnosis.test_asked_for import World as Asked
from tests.found import leaks

MINUTE = timedelta(minutes=1)


def quiet() -> World:
    """Three commits, and a checkpoint without rows."""
    world = World()
    for rows in (2, 2, 2, 0):
        world.reads(rows)
    world.tale.now += MINUTE
    return world


def completes_in_vain(world: World) -> None:
    """Eight checkpoints with rows complete, a minute each, and none is committed."""
    for _ in range(8):
        world.tale.now += MINUTE
        world.reads(2, commits=False)


def loses_a_commit(world: World) -> None:
    """A commit comes, and main's pointer is set back to what it was before."""
    world.tale.now += 5 * MINUTE
    world.reads(2)
    world.erases(world.chain()[-1].snapshot_id)


def is_idle(world: World) -> None:
    """Checkpoints complete, and there was nothing to commit."""
    for _ in range(5):
        world.tale.now += MINUTE
        world.reads(0)


def goes_on(world: World) -> None:
    """Each checkpoint has its commit."""
    for _ in range(5):
        world.tale.now += MINUTE
        world.reads(2)


def later(then: Callable[[World], object], *, dies: bool = False) -> tuple[World, Looked, Case]:
    """All was looked at; then this happens, and a minute passes."""
    world = quiet()
    looked = look(world)
    then(world)
    world.tale.now += MINUTE
    if dies:
        world.tale.becomes("a", "FAILED")
    return world, looked, case_of(world, looked)


@pytest.mark.parametrize("dies", [False, True])
@pytest.mark.parametrize(("then", "asked"), [(completes_in_vain, "leaked_manifests"), (loses_a_commit, "orphan_files")])
def test_what_completed_after_the_look_is_looked_for_once_more(
    then: Callable[[World], object], asked: str, dies: bool
) -> None:
    """Rows that never came were covered by a listing from before they were written."""
    world, _looked, case = later(then, dies=dies)
    mode = no_snapshot_advanced if dies else recovered_by_itself

    old, new = mode.examine(case), mode.examine(case_of(world, look(world)))

    assert world.never_arrived(world.finished)
    assert isinstance(old, CannotTell)
    assert any(each.startswith(f"{asked}, once more") for each in old.missing)
    assert not isinstance(new, Matches)


def test_only_the_files_tell_where_no_manifest_is_left() -> None:
    """Somebody has removed the manifests, and the files that they list: the folder is listed once more."""
    world, _looked, case = later(completes_in_vain)
    bare = case.observation.flink_manifests.model_copy(update={"values": ()})
    without = case.observation.model_copy(update={"flink_manifests": bare})

    found = recovered_by_itself.examine(case.model_copy(update={"observation": without}))

    assert world.never_arrived(world.finished)
    assert isinstance(found, CannotTell)
    assert ("orphan_files",) == found.asks


@pytest.mark.parametrize(
    ("idle", "told"),
    [
        (1, "before checkpoint 6 of run aaaaaa could have its commit"),
        (2, "before checkpoints 6 and 7 of run aaaaaa could have their commit"),
    ],
)
def test_it_says_when_it_was_looked_at_and_what_came_later(idle: int, told: str) -> None:
    """In one clause: a sentence in brackets stood in the middle of it."""
    world = quiet()
    world.reads(2)
    looked = look(world)
    for _ in range(idle):
        world.tale.now += MINUTE
        world.reads(0)
    world.tale.now += MINUTE

    found = recovered_by_itself.examine(case_of(world, looked))

    assert isinstance(found, CannotTell)
    assert f"orphan_files, once more: it was looked at 12:02 UTC, {told}; none is there" in found.missing[0]


@pytest.mark.parametrize(("then", "expected"), [(is_idle, CannotTell), (goes_on, Matches)])
def test_a_job_that_is_well_is_healthy_by_a_new_look(then: Callable[[World], object], expected: type) -> None:
    """Where every checkpoint has its commit, nothing is looked at again; a job without rows needs one look."""
    world, _looked, case = later(then)

    again = recovered_by_itself.examine(case_of(world, look(world)))

    assert isinstance(recovered_by_itself.examine(case), expected)
    assert isinstance(again, Matches)


def test_a_look_that_has_just_ended_is_one_of_now() -> None:
    """With checkpoints every few seconds one completes while the folder is listed."""
    world = quiet()
    looked = look(world)
    world.reads(0)
    world.tale.now += timedelta(seconds=19)

    assert isinstance(recovered_by_itself.examine(case_of(world, looked)), Matches)


class Anew(Asked):
    """Runs each task when asked, of the case as it is then."""

    def collect(self, task: str, *_: object, **__: object) -> Evidence:
        self.asked.append(task)
        return self.evidence(task)


def test_an_idle_table_is_listed_once_a_diagnosis() -> None:
    """What came since the look is asked for, and that settles it."""
    asked = Anew()
    asked.case = Tale().flink_runs("a").commits("a", 1, 2, 3).looked_at()
    asked.looks()
    idle = Tale().flink_runs("a").commits("a", 1, 2, 3)
    idle.now += 2 * MINUTE
    idle.completes("a", 4, 5)
    idle.now += MINUTE
    asked.case = idle.looked_at()

    diagnosis = diagnosed(asked)

    assert ["orphan_files"] == asked.asked
    assert HEALTHY in diagnosis.codes


class Desk(OneIncident):
    """An incident whose only first task is `leaked_manifests`, and the world that it looks at."""

    def __init__(self, tale: Tale) -> None:
        super().__init__(tale)
        self.desk = EvidenceDesk(
            cast(Any, self), cast(Any, self), cast(Any, self), lambda _work: nullcontext(True), ("leaked_manifests",)
        )

    # ------------------------------------------------------------------ as the observer

    def observe(self, *_: object, **__: object) -> object:
        return self.tale.case().observation

    # ------------------------------------------------------------------ as the collector

    def task(self, name: str) -> object:
        return TASKS[name]

    def collect(self, task: str, ask: Any, *, run: EvidenceId, **_: object) -> Evidence:
        table = ask.observation.table
        return Evidence(
            id=run, task=task, task_version=1, question="Is it?", headline="It is not.", verdict=Verdict.RULED_OUT,
            finding=leaks(*ask.observation.flink_manifests.values), metadata_location=table.metadata_location,
            head=table.head, window=ask.window, at=table.read_at, took_ms=1, bytes_read=0,
        )  # fmt: skip


def test_a_first_look_is_taken_again_where_manifests_came_without_a_commit() -> None:
    """The table has not moved, so that its first look passed for one of now; once taken, it holds."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3)
    desk = Desk(tale)
    desk.desk.look_first(WL_1)
    desk.desk.look_first(WL_1)
    before = len(desk.runs)
    tale.now += 2 * MINUTE
    tale.completes("a", 4).leaves_manifest("a", 4)
    tale.now += MINUTE

    desk.desk.look_first(WL_1)
    after = len(desk.runs)
    desk.desk.look_first(WL_1)

    assert (1, 2, 2) == (before, after, len(desk.runs))


def test_a_manifest_on_its_way_needs_no_look() -> None:
    """A job that is well always has one or two for a moment."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3)
    desk = Desk(tale)
    desk.desk.look_first(WL_1)
    tale.now += 2 * MINUTE
    tale.completes("a", 4).leaves_manifest("a", 4)

    desk.desk.look_first(WL_1)

    assert 1 == len(desk.runs)
