"""A Flink manifest that came after evidence had looked is no proof that nothing is owed."""

from bot.diagnosis import sink_lost_its_state
from bot.domain.diagnosis import CannotTell, Case, Excluded
from tests.cases import Tale
from tests.found import leaks


def looked_before(tale: Tale) -> Case:
    """`leaked_manifests` had found nothing."""
    return tale.looked_at(leaked=leaks())


def test_an_ended_runs_manifest_is_looked_at_first() -> None:
    """Whether it was owed is not known yet."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).becomes("a", "FINISHED").leaves_manifest("a", 3)
    tale.flink_runs("b", restored=2, of="a")

    found = sink_lost_its_state.examine(looked_before(tale))

    assert isinstance(found, CannotTell)
    assert ("leaked_manifests",) == found.asks
    assert "checkpoint 3 of run aaaaaa came since" in found.missing[0]


def test_those_of_a_living_run_come_and_go() -> None:
    """Its sink deletes each with its commit."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).leaves_manifest("a", 3)

    assert isinstance(sink_lost_its_state.examine(looked_before(tale)), Excluded)
