"""A start without state goes on from nobody's commits but the job's: what another job has on the table, Flink lists
under another name."""

import pytest

from bot.diagnosis import restarted_from_empty
from bot.domain.diagnosis import Excluded, Matches
from bot.domain.ids import OperatorId
from tests.cases import OPERATOR, Tale, job_id

ANOTHER_SINK = OperatorId("ee" * 16)


def another_job(tale: Tale, *checkpoints: int, sink: OperatorId = ANOTHER_SINK) -> Tale:
    """Run z of `backfill` commits beside it."""
    tale.flink_runs("z")
    tale.runs["z"] = tale.runs["z"].model_copy(update={"name": "backfill"})
    for checkpoint in checkpoints:
        tale.commits("z", checkpoint).by_sink(sink)
    return tale


@pytest.mark.parametrize("brought", [(), (1, 2)], ids=["silent", "with commits"])
@pytest.mark.parametrize("sink", [ANOTHER_SINK, OPERATOR], ids=["its own uid", "the same uid"])
def test_a_first_start_beside_another_job_lacks_no_state(sink: OperatorId, brought: tuple[int, ...]) -> None:
    """The table had rows, of a job that goes on."""
    tale = another_job(Tale(), 7, 8, sink=sink).flink_runs("b").commits("b", *brought)

    assert isinstance(restarted_from_empty.examine(tale.looked_at()), Excluded)


def test_a_silent_start_is_held_against_the_commits_of_its_own_sink() -> None:
    """The other job's, which came last and is over, are not what its state should have held."""
    tale = Tale().flink_runs("a").commits("a", *range(1, 6)).becomes("a", "CANCELED")
    another_job(tale, 7, 8).becomes("z", "FINISHED").flink_runs("b")

    found = restarted_from_empty.examine(tale.looked_at())

    assert isinstance(found, Matches)
    assert (tale.at("a", 5), job_id("b")) == (found.last_good, found.wrong_run)


def test_a_job_under_a_new_name_has_the_commits_of_the_old() -> None:
    """That one is over, and the sink kept its uid."""
    tale = another_job(Tale(), 7, 8, sink=OPERATOR).becomes("z", "CANCELED").flink_runs("b")

    found = restarted_from_empty.examine(tale.looked_at())

    assert isinstance(found, Matches)
    assert tale.at("z", 8) == found.last_good
