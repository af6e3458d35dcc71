"""A manifest of a V1 sink that goes on from a drained job and commits nothing: lost, unless its rows came again."""

from bot.domain.findings import LeakStanding
from bot.domain.ids import DRAINED
from tests.cases import Tale
from tests.evidence.test_standing_after_new_starts import chk, stand
from tests.evidence.test_standing_of_two_jobs import NEW


def drained() -> Tale:
    """Run z was drained after its checkpoint 3; run a went on from there, and dropped its checkpoints 4 and 5."""
    tale = Tale().flink_runs("z", v1=True).commits("z", 3, DRAINED).becomes("z", "FINISHED")
    tale.flink_runs("a", v1=True).came_from("a", 3, chk("z", 3))
    return tale.completes("a", 4).leaves_manifest("a", 4).completes("a", 5).leaves_manifest("a", 5)


def under_a_new_uid(point: str, checkpoint: int) -> Tale:
    """Run b came next, from this point and with a sink that measures by itself (F4, F5)."""
    tale = drained().becomes("a", "CANCELED").flink_runs("b").came_from("b", checkpoint, point)
    return tale.commits("b", checkpoint + 1).by_sink(NEW).commits("b", checkpoint + 2).by_sink(NEW)


def test_what_it_dropped_is_lost_while_nobody_goes_on_from_before_it() -> None:
    """Also once it is stopped."""
    assert stand(drained()) == [LeakStanding.DROPPED] * 2
    assert stand(drained().becomes("a", "CANCELED")) == [LeakStanding.DROPPED] * 2


def test_a_failover_does_not_unmake_the_loss_of_what_was_completed() -> None:
    """Flink lists both checkpoints still."""
    assert stand(drained().fails("a").came_from("a", 5, chk("a", 5))) == [LeakStanding.DROPPED] * 2


def test_a_second_failover_makes_no_loss_of_what_may_have_been_in_flight() -> None:
    """Flink has forgotten whether checkpoint 4 was completed, and shows only the newest restore."""
    tale = drained().remembers("a", 5, 6).fails("a").came_from("a", 6, chk("a", 6))

    assert stand(tale) == [LeakStanding.UNTOLD, LeakStanding.DROPPED]


def test_the_next_run_reads_again_what_lies_after_its_start() -> None:
    """The way out of F5 is a start from a point before, under a new uid."""
    assert stand(under_a_new_uid(chk("z", 3), 3)) == [LeakStanding.GIVEN_UP] * 2
    assert stand(under_a_new_uid(chk("a", 4), 4)) == [LeakStanding.DROPPED, LeakStanding.GIVEN_UP]


def test_a_next_run_of_which_too_little_is_seen_leaves_it_open() -> None:
    """It failed over since, or Flink lists it nowhere."""
    tale = under_a_new_uid(chk("z", 3), 3).completes("b", 5).came_from("b", 5, chk("b", 5))

    assert stand(tale) == [LeakStanding.UNTOLD] * 2
    assert stand(tale.forgets("b")) == [LeakStanding.UNTOLD] * 2
