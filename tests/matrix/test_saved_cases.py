"""What the bot said of a real run, it says again: each saved case is diagnosed anew, without Flink or Spark."""

from pathlib import Path

import pytest

from tests.matrix.asking import CASES, MOST_BYTES, asked_again, name_of
from tests.matrix.plan import RUNS
from tests.matrix.told import kept

BY_NAME = {run.name: run for run in RUNS}
SAVED = sorted(CASES.glob("*.json.gz"))
_OFTEN = 8
"""Each eighth is for `make test`."""
CASE_BY_CASE = [
    pytest.param(case, marks=pytest.mark.full if number % _OFTEN else [], id=name_of(case))
    for number, case in enumerate(SAVED)
]


@pytest.mark.parametrize("case", CASE_BY_CASE)
def test_a_real_case_is_diagnosed_as_expected(case: Path) -> None:
    """A change of a failure mode that loses a real run's diagnosis is a defect, whatever its own tests say."""
    run = BY_NAME[name_of(case)]

    told = asked_again(case, proof="")

    assert told.agrees_with(run) or told.codes == run.wrongly, f"expected {run.expected}, said {told.codes}"


def test_cases_are_small_and_of_runs_that_were_told() -> None:
    """The repository stays small, and no case is left behind whose run is gone."""
    sizes = {name_of(case): case.stat().st_size for case in SAVED}

    too_large = {name: size for name, size in sizes.items() if size > MOST_BYTES}

    assert too_large == {}
    assert sizes.keys() <= kept().keys()
