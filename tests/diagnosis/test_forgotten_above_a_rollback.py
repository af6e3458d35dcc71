"""Whose commits tell what became of a rollback, where Flink has forgotten who made them: by their checkpoint ids."""

import pytest

from bot.domain.ids import DRAINED, OperatorId
from bot.domain.rollbacks import Sequel, rollbacks
from tests.cases import OPERATOR, Tale
from tests.diagnosis.test_rolled_back_beside_guests import GUEST, NEW_UID, rolled_back


@pytest.mark.parametrize("sink", [OPERATOR, NEW_UID], ids=["the same uid", "a new uid"])
def test_a_drained_commit_is_no_count(sink: OperatorId) -> None:
    """Main was set back to it, and run c goes on from beyond what main lost."""
    tale = Tale().flink_runs("a", v1=True).commits("a", 1, 2, DRAINED).becomes("a", "FINISHED")
    tale.flink_runs("b", restored=3)
    for checkpoint in (5, 6, 7):
        tale.commits("b", checkpoint).by_sink(sink)
    tale.becomes("b", "FINISHED").rolls_back_to("a", DRAINED).flink_runs("c", restored=7)
    tale.commits("c", 8).by_sink(sink)

    [found] = rollbacks(tale.table, tale.looked_at().runs)

    assert found.sequel is Sequel.WENT_ON


@pytest.mark.parametrize(
    ("ids", "restored"),
    [((4, 20), 32), ((4, 5, DRAINED), 5), ((20, 30), 32)],
    ids=["begins at the target", "was drained", "ends where the next began"],
)
def test_a_forgotten_run_whose_ids_lead_on_leaves_it_open(ids: tuple[int, ...], restored: int) -> None:
    """Run b may have gone on from the rewind under a new uid; run c is silent."""
    tale = rolled_back().becomes("a", "FINISHED").flink_runs("b", restored=3)
    for checkpoint in ids:
        tale.commits("b", checkpoint).by_sink(NEW_UID)
    tale.becomes("b", "FINISHED").flink_runs("c", restored=restored).forgets("a").forgets("b")

    [found] = rollbacks(tale.table, tale.looked_at().runs)

    assert found.sequel is Sequel.UNTOLD


def test_a_guest_whose_ids_lie_near_neither_end_is_none_of_the_jobs() -> None:
    """Main had 3, and run b was restored from 100."""
    tale = rolled_back().becomes("a", "FINISHED").commits("z", 50).by_sink(GUEST)
    tale.flink_runs("b", restored=100).commits("b", 101).forgets("a")

    [found] = rollbacks(tale.table, tale.looked_at().runs)

    assert found.sequel is Sequel.WENT_ON
