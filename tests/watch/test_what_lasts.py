"""What was told lasts while it holds, also where something graver has come and is told in its stead."""

from datetime import timedelta
from pathlib import Path

import pytest

from tests.adapters.flink_wire import Wire
from tests.watch.conftest import OverRecorded
from tests.watch.recorded import Recorded
from tests.watch.watched import TERMS, Watched

SECOND = timedelta(seconds=1)


def over(watched: Watched) -> tuple[str, ...]:
    """Codes of what was told and is said to be over."""
    memory = watched.sightings.memory(watched.table)
    return tuple(memory.sighted[each].sign.code for each in memory.ended)


@pytest.mark.parametrize(
    ("name", "graver"), [("restored-from-older-savepoint-v2", "F2"), ("forked-from-a-savepoint-v2", "F13")]
)
def test_a_table_that_is_too_old_is_not_over_because_its_job_was_restored_wrongly(
    name: str, graver: str, over_recorded: OverRecorded, wire: Wire, tmp_path: Path
) -> None:
    """Events are as old as before; who reads “it is seen no more” would stop to look at the source."""
    world = Recorded(name).promises(freshness=SECOND / 10)
    world.until(world.runs[0].started_at - SECOND)
    watched = over_recorded(world)
    watched.looks(4, apart=SECOND)
    before = watched.seen
    world.goes_on().told_by(wire)
    world.catalog_in(tmp_path / name)
    watched.clock.at = max(world.now, watched.clock.at + SECOND)

    watched.looks(9, apart=TERMS.patience / 4)

    assert before == ("stale",)
    assert watched.seen == ("stale", graver)
    assert over(watched) == ()


def test_what_holds_no_more_is_over_though_something_graver_lasts(
    over_recorded: OverRecorded, wire: Wire, tmp_path: Path
) -> None:
    """Flink answers again: that it did not is over, whatever it now tells of its job."""
    world = Recorded("restored-from-older-savepoint-v2")
    world.until(world.runs[0].started_at - SECOND)
    watched = over_recorded(world)
    wire.answers.clear()
    watched.looks(6, apart=TERMS.patience / 4)
    before = watched.seen
    world.goes_on().told_by(wire)
    world.catalog_in(tmp_path / world.name)

    watched.looks(9, apart=TERMS.patience / 4)

    assert before == ("blind",)
    assert watched.seen == ("blind", "F2")
    assert over(watched) == ("blind",)
