"""A run that Flink restored while its source, under another operator id, began anew: what names it."""

import pytest

from bot.diagnosis import restarted_from_empty
from bot.history.source_starts import source_starts, went_back
from bot.incident.diagnosis import CannotTell, Excluded, Matches, Remedy
from bot.observation.flink import SourcePosition
from bot.observation.ids import OperatorId
from tests.cases import Tale, job_id
from tests.history.test_proof import upgraded

OLD, NEW = OperatorId("c" * 32), OperatorId("d" * 32)


def reads(operator: OperatorId, following: int, topic: str = "orders") -> SourcePosition:
    return SourcePosition(operator_id=operator, topic=topic, partition=0, following=following)


def with_positions(tale: Tale, *positions: SourcePosition) -> Tale:
    """The newest restore point says where its source goes on."""
    tale.points[-1] = tale.points[-1].model_copy(update={"source_positions": positions})
    return tale


def restored() -> Tale:
    """Run b was restored from checkpoint 3 of run a, whose source goes on with position 30."""
    return with_positions(upgraded().keeps_point("a", 3), reads(OLD, 30))


def went_on(*positions: SourcePosition) -> Tale:
    """It has committed checkpoint 4, whose state says this of its source."""
    return with_positions(restored().commits("b", 4, rows=40).keeps_point("b", 4), *positions)


def test_a_source_under_another_id_began_anew() -> None:
    """The run is wrong from its first commit on, and table and job go back together. Its source gets its uid back."""
    tale = went_on(reads(NEW, 40))

    found = restarted_from_empty.examine(tale.looked_at(duplicates=30))

    assert isinstance(found, Matches)
    assert (found.wrong_run, found.last_good) == (job_id("b"), tale.at("a", 3))
    assert found.remedy is Remedy.ROLL_BACK_TABLE_AND_RESTORE_JOB
    assert any("former uid" in reason for reason in found.reasons)


def test_a_source_that_went_back_began_anew_where_rows_came_twice() -> None:
    """The topic was made anew. With the same records it doubles rows; with others only their offsets come again."""
    tale = went_on(reads(OLD, 12))

    found = restarted_from_empty.examine(tale.looked_at(duplicates=12))
    others = restarted_from_empty.examine(tale.looked_at())

    assert isinstance(found, Matches)
    assert "offset 30 of orders, partition 0, and it came to 12" in " ".join(found.reasons)
    assert not any("former uid" in reason for reason in found.reasons)
    assert not isinstance(others, Matches)
    hidden = tale.looked_at(duplicates=12)
    hidden = hidden.model_copy(update={"contract": hidden.contract.model_copy(update={"redacted": ("pos",)})})
    told = restarted_from_empty.examine(hidden)
    assert isinstance(told, Matches)
    assert "offset 30" not in " ".join(told.reasons)
    assert "came to 12" in (went_back(tale.looked_at().observation, tale.looked_at().contract) or "")


OTHERS = {
    "it kept its id": went_on(reads(OLD, 40)),
    "it reads another topic now": went_on(reads(NEW, 40, "returns")),
    "another source came beside it": went_on(reads(OLD, 40), reads(NEW, 5)),
    "its point is gone": upgraded().commits("b", 4),
}


@pytest.mark.parametrize("tale", OTHERS.values(), ids=OTHERS)
def test_no_other_start_is_one(tale: Tale) -> None:
    """Whatever else is said of it."""
    case = tale.looked_at()

    assert source_starts(case) == ()
    assert isinstance(restarted_from_empty.examine(case), Excluded | CannotTell)


def test_before_its_first_checkpoint_the_graph_leaves_it_open() -> None:
    """The operator that held the offsets is gone; which topic the new one reads is not known yet."""
    found = restarted_from_empty.examine(restored().looked_at())

    assert isinstance(found, CannotTell)
    assert "began anew" in found.missing[0]


def test_one_below_the_window_is_none_of_this_incident() -> None:
    """Its first commit lies below."""
    tale = went_on(reads(NEW, 40)).commits("b", 5)

    assert source_starts(tale.looked_at()) != ()
    assert not isinstance(restarted_from_empty.examine(tale.looked_at(since=tale.at("b", 4))), Matches)
