"""Rows of a Flink manifest that are in the table already, by a later reading, are not appended: they would be twice."""

from types import SimpleNamespace
from typing import Any

import pytest

from bot.actions.recover_leaked_manifests import propose
from bot.diagnosis._leaks import can_be_appended
from bot.domain.errors import Refused
from bot.domain.file_changes import FileSurvey
from bot.domain.findings import GapsFinding, LeakStanding, PositionGap
from bot.domain.rows_there import some_are_live
from tests.cases import Tale
from tests.found import leaks

UNFIT = FileSurvey(add=None, remove=None, unfit=("the survey was asked",))


def lacking(*gaps: tuple[int, int], missing: int | None = None) -> GapsFinding:
    """Of positions 0 to 99 these are missing; `missing`: more than are named."""
    named = tuple(PositionGap(first=first, last=last) for first, last in gaps)
    count = sum(gap.size for gap in named) if missing is None else missing
    return GapsFinding(lowest=0, highest=99, positions=100 - count, missing=count, gaps=named)


def skipped() -> Tale:
    """Checkpoint 3 of run a lies below what its run has committed."""
    return Tale().flink_runs("a").commits("a", 5).leaves_manifest("a", 3)


@pytest.mark.parametrize(
    ("positions", "gaps", "expected"),
    [
        ((50, 59), lacking((50, 59)), False),
        ((50, 59), lacking((40, 69)), False),
        ((50, 59), lacking((50, 58)), True),
        ((50, 59), lacking(), True),
        ((50, 59), lacking((50, 53), (55, 59)), True),
        ((50, 59), lacking((10, 19), missing=20), False),
        ((50, 59), lacking((10, 19), missing=19), True),
        ((95, 120), lacking((95, 99)), False),
        ((95, 120), lacking(), True),
        ((100, 120), lacking(), False),
        ((-9, -1), lacking(), False),
        (None, lacking(), False),
        ((50, 59), None, False),
    ],
)
def test_a_position_that_is_not_missing_is_live(
    positions: tuple[int, int] | None, gaps: GapsFinding | None, expected: bool
) -> None:
    """Gaps that are not named may be any, and beside what was counted nothing tells."""
    tale = skipped()
    (leak,) = leaks(*tale.manifests, positions=positions).manifests

    assert some_are_live(leak, gaps, tale.looked_at().contract) is expected


def test_bounds_of_several_source_partitions_tell_nothing() -> None:
    """They are of all of them together."""
    tale = skipped()
    (leak,) = leaks(*tale.manifests, positions=(50, 59)).manifests
    contract = tale.looked_at().contract.model_copy(update={"position_partition": "source_partition"})

    assert not some_are_live(leak, lacking(), contract)


@pytest.mark.parametrize(("missing", "refused"), [((50, 59), "written for the table"), ((55, 59), "are in the table")])
def test_only_what_is_missing_as_a_whole_is_appended(missing: tuple[int, int], refused: str) -> None:
    """Where a part of it is there, the source gives the rest by key."""
    tale = skipped()
    case = tale.looked_at(
        leaked=leaks(*tale.manifests, standing=LeakStanding.DROPPED, positions=(50, 59)), gaps=lacking(missing)
    )
    plan: Any = SimpleNamespace(case=case, survey=lambda *_: UNFIT)

    with pytest.raises(Refused, match=refused):
        propose(plan)

    assert can_be_appended(case, case.leaked.manifests if case.leaked else ()) is (missing == (50, 59))


def test_the_words_say_where_and_what_to_do() -> None:
    """At three in the morning: which checkpoint, which positions, what instead."""
    tale = skipped()
    case = tale.looked_at(
        leaked=leaks(*tale.manifests, standing=LeakStanding.DROPPED, positions=(50, 59)), gaps=lacking()
    )
    plan: Any = SimpleNamespace(case=case, survey=lambda *_: UNFIT)

    with pytest.raises(Refused) as refused:
        propose(plan)

    assert "50 to 59, those of checkpoint 3 of run aaaaaa" in refused.value.found
    assert "Replay what missing_positions calls missing" in refused.value.remedy
