"""The review judges whether checkpoints reach the table as the table's own properties allow."""

import pytest

from bot.domain.contract import TableContract
from bot.domain.contract_terms import observed_terms
from tests.cases import Tale

ARRIVAL = "What a checkpoint completes reaches the table."


@pytest.mark.parametrize(("allowed", "holds"), [(None, False), ("50", None), ("5", False)])
def test_how_long_a_commit_may_be_missing_is_the_tables_own_to_say(allowed: str | None, holds: bool | None) -> None:
    """Seventeen checkpoints without a commit: too many for ten, and nothing is known where fifty may be empty."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).completes("a", *range(3, 20))
    if allowed is not None:
        tale.properties["flink.max-continuous-empty-commits"] = allowed

    told = {each.term: each for each in observed_terms(tale.case().observation, TableContract(), None)}

    assert told[ARRIVAL].holds is holds
