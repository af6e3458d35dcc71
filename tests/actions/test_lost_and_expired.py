"""Commits that main has lost and of which no trace is left: no start goes on above them."""

from pathlib import Path

import pytest

from bot.actions import restore_job_only, take_savepoint
from bot.actions._effects import checks
from bot.domain.errors import Refused
from bot.domain.execution import ProposalState
from tests.actions.owing import extent, owes_the_next_checkpoint, with_extent
from tests.actions.scene import Scene
from tests.little_flink import open_catalog
from tests.tables import ORDERS, job


def loses_for_good(scene: Scene, *checkpoints: int) -> None:
    """Main goes back to 3, and maintenance expires what it has lost."""
    lost = [scene.snapshot("a", each) for each in checkpoints]
    scene.rolls_back(to=scene.snapshot("a", 3))
    catalog = open_catalog(scene.folder)
    catalog.load_table(ORDERS).maintenance.expire_snapshots().by_ids(lost).commit()
    catalog.close()


@pytest.mark.parametrize("newest", [7, 18])
def test_an_empty_savepoint_above_them_is_not_started_from(tmp_path: Path, newest: int) -> None:
    """The job would go on after rows that the table does not have any more."""
    scene = Scene.made_in(tmp_path, newest)
    scene.flink.stands_at(job("a"), newest + 2)
    scene.flink.ends(job("a"), "FAILED")
    scene.flink.savepoint(job("a"))
    loses_for_good(scene, *range(4, newest + 1))

    with pytest.raises(Refused, match="may have been lost and expired"):
        restore_job_only.propose(scene.plan())


@pytest.mark.parametrize("newest", [7, 18])
def test_nor_is_a_point_that_owes_only_what_came_after_them(tmp_path: Path, newest: int) -> None:
    """It brings its own checkpoint, and none of what was lost below."""
    scene = Scene.made_in(tmp_path, newest)
    owes_the_next_checkpoint(scene, "a", newest + 1)
    loses_for_good(scene, *range(4, newest + 1))
    plan = scene.plan()

    with pytest.raises(Refused):
        restore_job_only.propose(with_extent(plan, extent(plan)))


def test_nor_is_any_after_the_catalog_was_set_back(tmp_path: Path) -> None:
    """The older metadata file has the older sequence number, and no line of what came after it."""
    scene = Scene.made_in(tmp_path)
    older = scene.table.metadata_location
    scene.flink.checkpoints(job("a"), 17)
    scene.flink.stands_at(job("a"), 21)
    scene.flink.savepoint(job("a"))
    scene.flink.ends(job("a"), "FAILED")
    catalog = open_catalog(scene.folder)
    catalog.drop_table(ORDERS)
    catalog.register_table(ORDERS, older)
    catalog.close()

    with pytest.raises(Refused, match="gone as the catalog was set back"):
        restore_job_only.propose(scene.plan())


def test_the_savepoint_of_a_sink_that_may_be_silent_for_long_is_kept(tmp_path: Path) -> None:
    """DynamicIcebergSink commits nothing while no row comes; the proof afterwards knows it too."""
    scene = Scene.made_in(tmp_path)
    scene.flink.sink = "orders Pre Commit"
    scene.flink.stands_at(job("a"), 21)
    plan = scene.plan()

    view = scene.carries_out(take_savepoint.propose(plan), plan)

    assert view.state is ProposalState.APPLIED, view.result
    assert all(check.passed for check in checks(scene.observer.hands, view))
