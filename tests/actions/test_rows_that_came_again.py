"""Rows of a Flink manifest that are in the table already, by a later reading, are not appended: they would be twice."""

from types import SimpleNamespace
from typing import Any

import pytest

from bot.actions.recover_leaked_manifests import ACTION, propose
from bot.diagnosis._leaks import can_be_appended
from bot.domain.errors import Refused
from bot.domain.file_changes import FileSurvey
from bot.domain.findings import GapsFinding, LeakStanding, PositionGap
from bot.domain.unread_points import some_are_live
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
        ((50, 60), lacking((50, 50), (55, 55), missing=12), True),
        ((50, 59), lacking(*((place, place) for place in range(100, 300, 10)), missing=50), True),
    ],
)
def test_a_position_that_is_not_missing_is_live(
    positions: tuple[int, int] | None, gaps: GapsFinding | None, expected: bool
) -> None:
    """Gaps that are not named lie above those that are, and beside what was counted nothing tells."""
    tale = skipped()
    (leak,) = leaks(*tale.manifests, positions=positions).manifests

    assert some_are_live(leak, gaps, tale.looked_at().contract) is expected


def test_another_checkpoints_rows_may_lie_between_those_of_a_manifest() -> None:
    """With unaligned checkpoints a row in flight comes with the next one: 50 and 60 to 69 are missing, 51 to 59 not."""
    (leak,) = leaks(*skipped().manifests, positions=(50, 69), rows=11).manifests
    contract = skipped().looked_at().contract

    assert not some_are_live(leak, lacking((50, 50), (60, 69)), contract)
    assert some_are_live(leak, lacking((50, 50), (60, 68)), contract)
    assert some_are_live(leak, lacking((50, 50), (61, 69)), contract)


def test_bounds_of_several_source_partitions_tell_nothing() -> None:
    """They are of all of them together."""
    tale = skipped()
    (leak,) = leaks(*tale.manifests, positions=(50, 59)).manifests
    contract = tale.looked_at().contract.model_copy(update={"position_partition": "source_partition"})

    assert not some_are_live(leak, lacking(), contract)


@pytest.mark.parametrize(
    ("missing", "refused"), [((50, 59), "do not fit the table"), ((55, 59), "already has some of the rows")]
)
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


@pytest.mark.parametrize(
    ("gaps", "instead"),
    [
        (lacking((55, 59)), "Replay the positions that missing_positions reports"),
        (lacking(), "nothing needs to be recovered"),
        (lacking((10, 19), missing=15), "Replay the positions that missing_positions reports"),
    ],
    ids=["a part is missing", "nothing is", "who knows"],
)
def test_the_words_say_where_and_what_to_do(gaps: GapsFinding, instead: str) -> None:
    """At three in the morning: which checkpoint, which positions, what instead."""
    tale = skipped()
    case = tale.looked_at(leaked=leaks(*tale.manifests, standing=LeakStanding.DROPPED, positions=(50, 59)), gaps=gaps)
    plan: Any = SimpleNamespace(case=case, survey=lambda *_: UNFIT)

    with pytest.raises(Refused) as refused:
        propose(plan)

    assert "50 to 59, those of checkpoint 3 of run aaaaaa" in refused.value.found
    assert instead in refused.value.remedy


def test_beside_one_that_came_again_the_others_can_be_had() -> None:
    """Nothing of it is missing, so nothing of it is to be replayed: it stands in the way, and can be put aside."""
    tale = Tale().flink_runs("a").commits("a", 5).leaves_manifest("a", 3)
    tale.flink_runs("b").commits("b", 9).leaves_manifest("b", 7)
    both = leaks(*tale.manifests, standing=LeakStanding.DROPPED)
    placed = zip(both.manifests, ((20, 29), (50, 59)), strict=True)
    each = tuple(m.model_copy(update={"position_from": low, "position_until": high}) for m, (low, high) in placed)
    case = tale.looked_at(leaked=both.model_copy(update={"manifests": each}), gaps=lacking((50, 59)))
    plan: Any = SimpleNamespace(case=case, survey=lambda *_: UNFIT)

    with pytest.raises(Refused) as refused:
        propose(plan)

    assert f"move {each[0].path} aside" in refused.value.remedy


def test_it_is_proposed_on_a_fresh_count_of_positions() -> None:
    """Else rows that came after the count would be there twice."""
    assert "missing_positions" in ACTION.needs
    assert "missing_positions" in ACTION.looks
