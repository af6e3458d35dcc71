"""Table and job were rewound together, and the job was taken over or upgraded since: what Flink shows of its later
starts accuses nobody."""

from datetime import timedelta

import pytest

from bot.diagnosis import rolled_back_while_running
from bot.domain.diagnosis import Excluded
from bot.domain.suspicion import propose_window
from tests.cases import Tale, job_id
from tests.found import hole


def is_right(tale: Tale) -> bool:
    """Whether F6 is excluded while rows are still to come, and no rollback is suspected."""
    case = tale.looked_at(gaps=hole(0).model_copy(update={"to_come": 10}))
    excluded = isinstance(rolled_back_while_running.examine(case), Excluded)
    return excluded and "rolled back" not in propose_window(tale.table, tale.jobs).because


@pytest.mark.parametrize("committed", [(2,), (2, 3, 4)])
@pytest.mark.parametrize("after", [0, 3])
def test_a_takeover_accuses_no_right_rewind(committed: tuple[int, ...], after: int) -> None:
    """Another JobManager starts the run anew from its own newest checkpoint: that tells nothing of where it began."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).becomes("a", "CANCELED").rolls_back_to("a", 1)
    tale.flink_runs("b", restored=1).commits("b", *committed).forgets("b")
    last = committed[-1]
    tale.now += timedelta(seconds=30)
    tale.flink_runs("b").came_from("b", last, f"s3://state/{job_id('b')}/chk-{last}")
    if after:
        tale.remembers("b", *range(last + 1, last + 1 + after)).commits("b", *range(last + 1, last + 1 + after))

    assert is_right(tale)
