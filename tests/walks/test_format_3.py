"""Tables of format 3 under a real Flink job: rewound with it, and repaired by their rows and files."""

from pathlib import Path

import pytest

from tests.lab_fixtures import FreshLab
from tests.walks.world import Incident, incident

pytestmark = [pytest.mark.long, pytest.mark.timeout(1200)]


def _everything_once(world: Incident) -> None:
    positions = world.positions()
    assert positions == list(range(1, len(positions) + 1))
    assert len(world.checkpoints_of_the_last_run()) >= 2


def _proposed_and_proven(world: Incident) -> list[str]:
    proven = [each["passed"] for each in world.journal("verified")]
    assert proven == [True] * len(proven)
    return [each["proposal"]["action"] for each in world.journal("proposal-made")]  # type: ignore[index]


def test_table_and_job_go_back_together(fresh_lab: FreshLab, tmp_path: Path) -> None:
    """Flink goes on upon metadata that the bot wrote, and the ids of its checkpoints follow."""
    lab = fresh_lab("v2", format_version=3)
    lab.tell("restored-from-older-savepoint")
    with incident(lab, tmp_path) as world, world.bot():
        broken = world.positions()

        world.walk("restored-from-older-savepoint")

        assert broken != list(range(1, len(broken) + 1)), "the story has to damage the table"
        assert _proposed_and_proven(world) == ["roll_back_table_and_restore_job"]
        _everything_once(world)
        assert world.properties()["waterline.status"] == "trusted"


def test_copies_are_deleted_by_vectors_and_the_job_goes_on(fresh_lab: FreshLab, tmp_path: Path) -> None:
    """The newer run stays; what it had copied goes on a branch, is proven there, and published."""
    lab = fresh_lab("v2", format_version=3)
    lab.tell("restored-from-older-savepoint")
    with incident(lab, tmp_path) as world, world.bot():
        top = max(world.positions())
        world.until(lambda: max(world.positions()) > top and world.positions().count(max(world.positions())) == 1, 180)
        world.opens("duplicate-rows")

        world.asks_for("/waterline propose deduplicate_rows The newer run is right")
        world.carries_out(1)
        world.carries_out(2)

        assert _proposed_and_proven(world) == ["deduplicate_rows", "publish_repair"]
        _everything_once(world)


def test_a_hole_is_replayed_from_the_source(fresh_lab: FreshLab, tmp_path: Path) -> None:
    """Main was rolled back under the running job: what was lost is made once more, on a branch, and published."""
    lab = fresh_lab("v2", format_version=3)
    lab.tell("rolled-back-while-running")
    with incident(lab, tmp_path) as world, world.bot():
        broken = world.positions()
        world.opens("missing-rows")

        world.asks_for("/waterline propose replay_source_range The rollback was a mistake")
        world.carries_out(1)
        world.carries_out(2)

        assert broken != list(range(1, len(broken) + 1)), "the story has to damage the table"
        assert _proposed_and_proven(world) == ["replay_source_range", "publish_repair"]
        _everything_once(world)
