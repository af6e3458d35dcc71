"""F5 of a run that a drain kept out, and that was replaced before anybody saw it."""

import pytest

from bot.diagnosis import job_was_drained as mode
from bot.domain.diagnosis import CannotTell, Excluded, Matches, Remedy
from bot.domain.findings import GapsFinding, LeakStanding, PositionGap
from bot.domain.ids import DRAINED
from tests.cases import Tale
from tests.found import leaks


def replaced(v1: bool = True) -> Tale:
    """Run b came after the drained commit and completed checkpoint 4; run c has committed since."""
    tale = Tale().flink_runs("a", v1=True).commits("a", 1, 2, DRAINED).becomes("a", "FINISHED")
    tale.flink_runs("b", restored=3, v1=v1).completes("b", 4).leaves_manifest("b", 4).becomes("b", "CANCELED")
    return tale.flink_runs("c", v1=True).commits("c", 1)


@pytest.mark.parametrize(
    ("standing", "expected"),
    [
        (LeakStanding.DROPPED, Matches),
        (LeakStanding.UNTOLD, CannotTell),
        (LeakStanding.GIVEN_UP, Excluded),
        (LeakStanding.LEFT_OVER, Excluded),
    ],
)
def test_its_manifests_tell_what_became_of_its_rows(standing: LeakStanding, expected: type) -> None:
    """Read again or in the table: nothing is lost."""
    tale = replaced()

    assert isinstance(mode.examine(tale.looked_at(leaked=leaks(*tale.manifests, standing=standing))), expected)


def test_before_anybody_looked_for_manifests_it_is_open() -> None:
    """That further checkpoints were committed says nothing of what it read."""
    found = mode.examine(replaced().looked_at(leaked=None))

    assert isinstance(found, CannotTell)
    assert ("leaked_manifests",) == found.missing


def test_a_v2_sink_under_a_new_id_was_not_kept_out() -> None:
    """It asks for its own job id, which has no mark."""
    assert isinstance(mode.examine(replaced(v1=False).looked_at(leaked=None)), Excluded)


def test_what_it_says_names_both_commits_and_appends_the_rows() -> None:
    """Unless some of them came again; where all did, nothing is left to be done."""
    tale = replaced()
    dropped = leaks(*tale.manifests, standing=LeakStanding.DROPPED, positions=(20, 29))
    part = GapsFinding(lowest=0, highest=99, positions=95, missing=5, gaps=(PositionGap(first=25, last=29),))
    whole = GapsFinding(lowest=0, highest=99, positions=100, missing=0, gaps=())

    found, there, mended = (mode.examine(tale.looked_at(leaked=dropped, gaps=gaps)) for gaps in (None, part, whole))

    assert isinstance(found, Matches)
    assert isinstance(there, Matches)
    assert isinstance(mended, Excluded)
    assert (found.rows, found.last_good) == ((tale.at("a", DRAINED), tale.at("c", 1)), tale.at("a", DRAINED))
    assert "the sink of a run that was restored from a state of that job" in found.reasons[0]
    assert (found.remedy, there.remedy) == (Remedy.RECOVER_LEAKED_MANIFESTS, Remedy.REPLAY_SOURCE_RANGE)


def test_of_a_start_without_state_it_does_not_say_that_it_was_restored() -> None:
    """The V2 sink finds the mark under its own job id."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, DRAINED).starts_again("a").leaves_manifest("a", 1)
    tale.becomes("a", "CANCELED").flink_runs("c").commits("c", 1)

    found = mode.examine(tale.looked_at(leaked=leaks(*tale.manifests, standing=LeakStanding.DROPPED)))

    assert isinstance(found, Matches)
    assert "has the same job id" in found.reasons[0]


def test_where_nobody_could_look_it_is_open() -> None:
    """Flink is down, or tells neither the run's operators nor what it was restored from."""
    tale = Tale().flink_runs("a", v1=True).commits("a", 1, 2, DRAINED).becomes("a", "FINISHED")
    tale.flink_runs("b", vertices=False).completes("b", 4).leaves_manifest("b", 4).becomes("b", "CANCELED")
    tale.flink_runs("c", v1=True).commits("c", 1)

    assert isinstance(mode.examine(replaced().flink_is_down().looked_at(leaked=None)), CannotTell)
    assert isinstance(mode.examine(tale.looked_at(leaked=None)), CannotTell)


def test_a_failover_of_its_own_does_not_make_it_come_later() -> None:
    """It failed over once more after its successor had committed."""
    tale = Tale().flink_runs("a", v1=True).commits("a", 1, 2, DRAINED).becomes("a", "FINISHED")
    tale.flink_runs("b", restored=3, v1=True).completes("b", 4).leaves_manifest("b", 4)
    tale.flink_runs("c", v1=True).commits("c", 1).flink_runs("b", restored=4, v1=True).becomes("b", "CANCELED")

    found = mode.examine(tale.looked_at(leaked=leaks(*tale.manifests, standing=LeakStanding.DROPPED)))

    assert isinstance(found, Matches)
