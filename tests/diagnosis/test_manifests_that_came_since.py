"""A Flink manifest that came after evidence had looked is no proof that nothing is owed."""

from bot.diagnosis import sink_lost_its_state
from bot.domain.diagnosis import CannotTell, Case, Excluded, Matches
from bot.domain.findings import LeakStanding
from tests.cases import Tale, job_id
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


def test_only_what_the_restored_state_lists_was_owed() -> None:
    """Run b is silent; a savepoint that never knew of the manifest owes nothing of it."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).becomes("a", "FINISHED").leaves_manifest("a", 2)
    tale.manifests[0] = tale.manifests[0].model_copy(update={"checkpoint_id": 3})
    tale.flink_runs("b", restored=3, of="a").keeps_point("a", 2, f"s3://state/{job_id('a')}/chk-3")
    leaked = leaks(*tale.manifests, standing=LeakStanding.LOST_STATE)
    unlisted = sink_lost_its_state.examine(tale.looked_at(leaked=leaked))
    name = tale.manifests[0].path.rsplit("/", 1)[-1]
    tale.points = [tale.points[0].model_copy(update={"pending_manifests": (name,)})]

    assert isinstance(unlisted, Excluded)
    assert isinstance(sink_lost_its_state.examine(tale.looked_at(leaked=leaked)), Matches)
