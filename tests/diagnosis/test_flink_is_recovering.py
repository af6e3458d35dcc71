"""`wait` beside a rewind of table and job: rows that are still to come are waited for, and not called healthy."""

import pytest

from bot.diagnosis import flink_is_recovering, recovered_by_itself
from bot.domain.diagnosis import Case, Excluded, Matches, Remedy
from tests.cases import Tale
from tests.found import hole


def rewound(to_come: int) -> Case:
    """Table and job went back to checkpoint 2 together; so many positions are not written again yet."""
    tale = Tale().flink_runs("a").commits("a", *range(1, 6)).becomes("a", "FINISHED").rolls_back_to("a", 2)
    gaps = hole(0).model_copy(update={"to_come": to_come})
    return tale.flink_runs("b", restored=2).commits("b", 3).looked_at(gaps=gaps)


def test_a_rewound_job_is_waited_for_until_it_has_caught_up() -> None:
    """Nothing is wrong and nothing is whole: the rows come by themselves."""
    case = rewound(to_come=20)

    wait, healthy = flink_is_recovering.examine(case), recovered_by_itself.examine(case)

    assert isinstance(wait, Matches)
    assert (Remedy.WAIT, None) == (wait.remedy, wait.last_good)
    assert isinstance(healthy, Excluded)


def test_a_rewound_job_that_has_caught_up_is_healthy() -> None:
    """No position is missing and none is to come."""
    case = rewound(to_come=0)

    wait, healthy = flink_is_recovering.examine(case), recovered_by_itself.examine(case)

    assert [Excluded, Matches] == [type(wait), type(healthy)]


@pytest.mark.parametrize("goes_on", [True, False])
def test_rows_below_a_running_job_do_not_come_again(goes_on: bool) -> None:
    """A rollback under a run that goes on is a hole (F6): waiting does not fill it."""
    tale = Tale().flink_runs("a", restored=0).commits("a", *range(1, 6)).rolls_back_to("a", 2)
    if goes_on:
        tale.commits("a", 6)
    case = tale.looked_at(gaps=hole(0).model_copy(update={"to_come": 20}))

    found = flink_is_recovering.examine(case)

    assert isinstance(found, Excluded)
