"""While two runs are alive nothing else can be proposed: the living fork is the first that is acted on."""

import bot.diagnosis
from bot.diagnosis._examine import diagnose
from bot.diagnosis._scan import scan
from bot.domain.diagnosis import Remedy
from tests.cases import Tale


def forked_above_a_rollback() -> Tale:
    """Main went back to 3 under run a (F6), and run c, begun from 8, commits beside it (F13)."""
    tale = Tale().flink_runs("a").commits("a", *range(1, 9)).rolls_back_to("a", 3).commits("a", 9)
    return tale.flink_runs("c", restored=8).commits("c", 9).commits("a", 10).commits("c", 10)


def test_a_living_fork_is_resolved_before_a_rewind_that_it_would_refuse() -> None:
    """Both contain the damage; the number of the mode does not decide."""
    diagnosis = diagnose(forked_above_a_rollback().looked_at(duplicates=30, missing=50), scan(bot.diagnosis))

    told = [(mode.code, match.remedy) for mode, match in diagnosis.to_act_on[:2]]
    assert told == [("F13", Remedy.RESOLVE_FORK), ("F6", Remedy.REWIND_TABLE_AND_JOB)]
    assert diagnosis.decisive is not None
    assert diagnosis.decisive[0].code == "F13"


def test_a_fork_that_stands_still_leaves_the_order_as_it_is() -> None:
    """Then one rewind below both takes both back."""
    tale = forked_above_a_rollback().becomes("c", "CANCELED")

    diagnosis = diagnose(tale.looked_at(duplicates=30, missing=50), scan(bot.diagnosis))

    assert [mode.code for mode, _ in diagnosis.to_act_on][:2] == ["F6", "F13"]
