"""A restore is only known to pair with the table when it is known whose checkpoint it was."""

import pytest

from bot.diagnosis import recovered_by_itself
from bot.domain.diagnosis import CannotTell, Matches
from bot.domain.ids import OperatorId
from tests.cases import Tale, job_id
from tests.diagnosis.little_evidence import case_of, look
from tests.diagnosis.little_world import Point, World


def test_a_checkpoint_id_that_two_runs_have_is_no_proof_of_a_pair() -> None:
    """Found by the property test: the restore was of another run's checkpoint 1, and a row of it is lost."""
    world = World(keeps_keys=False)
    world.reads(2)
    world.restarts(Point(0, 0))
    world.reads(1)
    world.restarts(Point(1, 2))
    world.erases(world.chain()[0].snapshot_id)

    looked = look(world)
    found = recovered_by_itself.examine(case_of(world, looked, []))

    assert {1} == world.lost(looked.finished)
    assert isinstance(found, CannotTell)
    assert any("no path, and run" in each for each in found.missing)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("file:/state/savepoints/savepoint-bbbbbb-91f0", Matches),
        ("file:/state/" + "b" * 32 + "/chk-1", Matches),
        ("file:/state/savepoints/savepoint-aaaaaa-77c2", CannotTell),
    ],
)
def test_the_path_of_the_restore_says_whose_it_was(path: str, expected: type) -> None:
    """Flink writes the job id into the path of both kinds of restore point."""
    world = World(keeps_keys=False)
    world.reads(2)
    world.restarts(Point(0, 0))
    world.reads(1)
    world.restarts(Point(1, 1))
    world.erases(world.chain()[0].snapshot_id)
    world.reads(1)
    run = world.tale.runs[world.run]
    assert run.restored is not None
    restored = run.restored.model_copy(update={"path": path})
    world.tale.runs[world.run] = run.model_copy(update={"restored": restored})

    found = recovered_by_itself.examine(case_of(world, look(world), []))

    assert isinstance(found, expected)


def test_a_run_that_had_ended_before_raises_no_doubt() -> None:
    """Found in CI: runs that wrote the table before it was made anew; a commit after their end is not their origin."""
    before = World(keeps_keys=False)
    before.reads(2)
    before.restarts(before.points[-1])
    before.reads(1)
    world = World(keeps_keys=False)
    world.tale.runs.clear()
    world.tale.runs |= before.tale.runs
    world.tale.becomes(before.run, "CANCELED")
    world.run = "c"
    world.tale.flink_runs("c")
    world.reads(2)
    world.reads(1)

    found = recovered_by_itself.examine(case_of(world, look(world), []))

    assert isinstance(found, Matches), found


def test_a_guest_that_reaches_the_same_id_raises_no_doubt() -> None:
    """Run b goes on from run a's savepoint 5, as its path says; another job counts its own checkpoints beside."""
    tale = Tale().flink_runs("a").remembers("a", 1, 2, 3, 4, 5).commits("a", 1, 2, 3, 4, 5).becomes("a", "FINISHED")
    tale.flink_runs("b").came_from("b", 5, f"s3://saves/savepoint-{job_id('a')[:6]}-0123456789ab").commits("b", 6, 7)
    for checkpoint in (4, 5):
        tale.commits("z", checkpoint).by_sink(OperatorId("ee" * 16))
    tale.commits("b", 8).completes("b", 8)

    found = recovered_by_itself.examine(tale.looked_at())

    assert isinstance(found, Matches), found
