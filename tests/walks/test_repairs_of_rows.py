"""Rows repaired on a real cluster because a responder asks for it: replayed from the source, or deleted by place."""

from collections.abc import Callable
from pathlib import Path

import pytest

from bot.lab.orders import again_in_spark
from bot.lab.world import World
from tests.lab_fixtures import FreshLab
from tests.walks.world import Incident, incident

pytestmark = [pytest.mark.long, pytest.mark.timeout(1200)]


def test_a_hole_is_replayed_from_the_source_and_the_job_goes_on(fresh_lab: FreshLab, tmp_path: Path) -> None:
    """Nothing leaves main; what is written is, value for value, what the job would have written."""
    lab = fresh_lab("v2")
    lab.tell("rolled-back-while-running")
    with incident(lab, tmp_path) as world, world.bot():
        broken = world.positions()
        world.opens("missing-rows")

        world.asks_for("/waterline propose replay_source_range The rollback was a mistake")
        seen_meanwhile: list[int] = []
        world.carries_out(1)
        seen_meanwhile += world.positions()
        world.carries_out(2)

        made = [each["proposal"]["action"] for each in world.journal("proposal-made")]  # type: ignore[index]
        assert made == ["replay_source_range", "publish_repair"]
        assert [each["passed"] for each in world.journal("verified")] == [True, True]
        assert set(broken) < set(range(1, max(broken) + 1)), "the story has to damage the table"
        assert len(seen_meanwhile) < max(seen_meanwhile), "main is untouched while it is rehearsed"
        _everything_once(world)
        assert _differing_rows(world) == 0


def test_copies_are_deleted_by_place_and_the_job_goes_on(fresh_lab: FreshLab, tmp_path: Path) -> None:
    """The newer run stays, with its new rows; its copies of older ones go."""
    lab = fresh_lab("v2")
    lab.tell("restored-from-older-savepoint")
    with incident(lab, tmp_path) as world, world.bot():
        _once_nothing_is_read_again(world)
        world.opens("duplicate-rows")

        world.asks_for("/waterline propose deduplicate_rows The newer run is right")
        world.carries_out(1)
        world.carries_out(2)

        made = [each["proposal"]["action"] for each in world.journal("proposal-made")]  # type: ignore[index]
        assert made == ["deduplicate_rows", "publish_repair"]
        assert [each["passed"] for each in world.journal("verified")] == [True, True]
        _everything_once(world)


def _once_nothing_is_read_again(world: Incident) -> None:
    """Until the newer run is beyond what the older one had written."""
    top = max(world.positions())
    world.until(lambda: world.positions().count(max(world.positions())) == 1 and max(world.positions()) > top, 180)


def _everything_once(world: Incident) -> None:
    positions = world.positions()
    assert positions == list(range(1, len(positions) + 1))
    assert len(world.checkpoints_of_the_last_run()) >= 2


def _differing_rows(world: Incident) -> int:
    """Rows of the table that the source would make differently, and the other way round."""
    made = again_in_spark(world.lab.state.start_statements[-1], max(world.positions()))
    top = max(world.positions())
    there = (
        f"SELECT order_id, event_time, customer, amount, source_position FROM {{table}} WHERE source_position <= {top}"  # noqa: S608
    )
    made = f"SELECT * FROM ({made}) WHERE source_position <= {top}"  # noqa: S608 - numbers of ours
    ask: Callable[[str, str], str] = "SELECT count(*) AS rows FROM (({}) EXCEPT ALL ({}))".format
    with World(world.lab.home, print) as hands:
        (one,) = hands.hands.sql(ask(made, there))
        (other,) = hands.hands.sql(ask(there, made))
    return int(str(one["rows"])) + int(str(other["rows"]))
