"""Who was told that they need not run again is corrected when lineage shows later that they must: once."""

from contextlib import closing

from bot.domain.entries import WaterlineMoved
from bot.domain.journal import WATERLINE
from bot.service.telling_rules import owes_withdrawal
from tests.decisions import ANA
from tests.telling.cleared_readers import Cleared, runs_of, scene, world
from tests.web.scene import Scene

__all__ = ["scene", "world"]


def test_a_run_that_is_seen_late_is_told_once(world: Cleared) -> None:
    """Its event came after the closing message; further looks change nothing."""
    world.late.settle(world.scene.id)
    assert [notice.kind for notice in world.told] == ["recovered"]
    world.reads(world.scene.commits[-1], "late")

    world.late.settle(world.scene.id)
    world.late.settle(world.scene.id)

    assert [notice.kind for notice in world.told] == ["recovered", "correction"]
    correction = world.told[-1]
    assert "a run was seen only now" in correction.text
    assert "Please run again" in correction.text
    assert correction.data is not None
    assert correction.data.rerun is not None
    assert (correction.data.rerun.needed, correction.data.rerun.runs) == (True, ("late",))


def test_a_second_run_that_is_seen_later_is_told_too(world: Cleared) -> None:
    """They have replaced what the first one made, and nothing of the second."""
    world.reads(world.scene.commits[-1], "late")
    world.late.settle(world.scene.id)
    world.reads(world.scene.commits[-2], "later")

    world.late.settle(world.scene.id)
    world.late.settle(world.scene.id)

    assert [notice.kind for notice in world.told] == ["recovered", "correction", "correction"]
    assert runs_of(world.told[-1]) == {"late", "later"}


def test_whoever_had_to_run_again_is_told_of_a_further_run(scene: Scene) -> None:
    """The closing message named one; nothing is said as long as it is the only one."""
    with closing(Cleared(scene, read=scene.commits[-1])) as world:
        assert runs_of(world.told[0]) == {"right"}
        world.late.settle(scene.id)
        assert len(world.told) == 1
        world.reads(scene.commits[-2], "later")

        world.late.settle(scene.id)

        assert runs_of(world.told[-1]) == {"right", "later"}


def test_a_channel_that_was_told_of_nobody_is_told_who_was_seen(scene: Scene) -> None:
    """As the support channels of a data contract are; and again of a further run, once each."""
    with closing(Cleared(scene, is_many=True)) as world:
        assert "lineage shows nobody who read" in world.told[0].text
        for run in ("late", "later"):
            world.reads(scene.commits[-1], run)
            world.late.settle(scene.id)
            world.late.settle(scene.id)

    assert [notice.kind for notice in world.told] == ["recovered", "correction", "correction"]
    assert "`revenue_daily`: 1 run" in world.told[1].text
    assert "`revenue_daily`: 2 runs" in world.told[2].text


def test_whoever_was_corrected_by_a_person_is_not_told_the_same_again(world: Cleared) -> None:
    """Somebody was quicker."""
    world.reads(world.scene.commits[-1], "late")
    preview = world.telling.preview(world.scene.id, "correction", "You have read wrong rows.")
    world.telling.send(world.scene.id, preview, by=ANA, step=None)

    world.late.settle(world.scene.id)

    assert len(world.told) == 2


def test_it_is_told_also_when_the_incident_is_closed(world: Cleared) -> None:
    """Events come when a run has ended, and incidents end sooner."""
    world.scene.closes()
    world.reads(world.scene.commits[-1], "late")

    world.late.settle(world.scene.id)

    assert world.told[-1].kind == "correction"


def test_a_trust_that_is_taken_back_later_is_still_told(world: Cleared) -> None:
    """The correction of one reader says nothing of that."""
    world.reads(world.scene.commits[-1], "late")
    world.late.settle(world.scene.id)
    assert not owes_withdrawal(world.scene.incidents.get(world.scene.id))

    moved = WaterlineMoved(snapshot=world.scene.good, status="under-review")
    world.scene.incidents.write(world.scene.id, by=WATERLINE, decide=lambda _now: [moved])

    assert owes_withdrawal(world.scene.incidents.get(world.scene.id))
