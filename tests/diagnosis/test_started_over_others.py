"""A run that starts without state over rows of runs that Flink does not list: the job's own from before its uid was
changed, or another job's. Its first rows tell."""

import pytest

from bot.diagnosis import recovered_by_itself
from bot.domain.diagnosis import CannotTell, Case, Matches
from bot.domain.ids import OperatorId
from tests.cases import Tale
from tests.found import ruled_out

OTHER = OperatorId("cd" * 16)
TASKS = ("ledger", "duplicate_rows", "missing_positions", "duplicate_commits")


def started() -> Tale:
    """Run z has committed by another sink, and is not listed; run b starts without state."""
    return Tale().commits("z", 1).by_sink(OTHER).commits("z", 2).by_sink(OTHER).flink_runs("b")


def looked(tale: Tale) -> Case:
    """All evidence is of the head as it is."""
    case = tale.looked_at()
    assert tale.head is not None
    return case.model_copy(update={"evidence": tuple(ruled_out(case, task, tale.head) for task in TASKS)})


def test_rows_that_came_after_they_were_counted_are_counted_once_more() -> None:
    """Each task that ends below them is asked for."""
    tale = started()
    old = looked(tale).evidence

    found = recovered_by_itself.examine(tale.commits("b", 1).looked_at(evidence=old))

    assert isinstance(found, CannotTell)
    assert any(
        "began, without state after …002002 of run zzzzzz, which Flink does not list" in e for e in found.missing
    )
    assert set(found.asks) >= {"duplicate_rows", "missing_positions", "duplicate_commits"}


def test_once_its_first_rows_are_counted_nothing_is_open() -> None:
    """No key lives twice and no position is missing."""
    assert isinstance(recovered_by_itself.examine(looked(started().commits("b", 1))), Matches)


@pytest.mark.parametrize("is_listed", [True, False])
def test_a_job_that_flink_lists_under_another_name_is_another_one(is_listed: bool) -> None:
    """What it has brought is none of this job's source; of a run that is not listed nobody knows."""
    tale = Tale().flink_runs("z").commits("z", 1).by_sink(OTHER)
    tale.runs["z"] = tale.runs["z"].model_copy(update={"name": "other"})
    if not is_listed:
        tale.forgets("z")
    old = looked(tale.flink_runs("b")).evidence

    found = recovered_by_itself.examine(tale.commits("b", 1).looked_at(evidence=old))

    said = " ".join(found.missing) if isinstance(found, CannotTell) else ""
    assert ("where run bbbbbb began" in said) is not is_listed


def test_a_window_from_above_its_first_rows_says_nothing_of_them() -> None:
    """It tells of what came since. Of a source in partitions all would have to be counted up to the head for ever."""
    tale = started().commits("b", 1)
    begins = tale.head
    case = tale.commits("b", 2).looked_at(since=begins)
    assert begins is not None
    contract = case.contract.model_copy(update={"position_partition": "split"})
    evidence = tuple(ruled_out(case, task, begins, begins) for task in TASKS)

    found = recovered_by_itself.examine(case.model_copy(update={"contract": contract, "evidence": evidence}))

    assert not (isinstance(found, CannotTell) and any("where run bbbbbb began" in each for each in found.missing))
