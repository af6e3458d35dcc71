"""What people have declared as planned: a match says so, and no wrong row becomes a right one by it."""

from typing import Any

import pytest

import bot.diagnosis
from bot.diagnosis._support.examine import diagnose, scan
from bot.history.case import Case, PlannedChange
from bot.incident.diagnosis import Diagnosis, Matches, Remedy
from bot.incident.doubt import rows_are_right
from bot.observation.ids import UserId
from tests.cases import Tale

MODES = scan(bot.diagnosis)
ANA = UserId("U0ANA")


def match_of(told: Diagnosis, code: str) -> Matches:
    return next(match for mode, match in told.matches if mode.code == code)


def declared(case: Case, code: str) -> Case:
    """Ana says of the match of this mode that it was planned."""
    match = match_of(diagnose(case, MODES), code)
    plan = PlannedChange(
        code=code,
        what=MODES[code].mode.planned_as[0],
        reason="Ticket 4711",
        by=ANA,
        run=match.wrong_run,
        last_good=match.last_good,
        newest_wrong=match.newest_wrong,
        commits=match.rows,
    )
    return case.model_copy(update={"planned": (plan,)})


def another_writer(**found: Any) -> Case:
    """Spark added rows between two commits of the job."""
    return Tale().flink_runs("a").commits("a", 1, 2).commits(None).commits("a", 3).looked_at(**found)


def replay() -> Tale:
    """Run b was restored from below what run a had committed, and has committed nothing so far."""
    return Tale().flink_runs("a").commits("a", 1, 2, 3).becomes("a", "FINISHED").flink_runs("b", 1)


def test_a_planned_change_whose_rows_are_right_is_verified_and_not_stopped() -> None:
    """It is still said what was seen, who planned it and why. The table is not called right by that."""
    case = another_writer()

    before, after = (diagnose(each, MODES) for each in (case, declared(case, "F21")))

    found = match_of(after, "F21")
    assert Remedy.STOP_CULPRIT is match_of(before, "F21").remedy
    assert Remedy.VERIFY_CURRENT_STATE is found.remedy
    assert "Planned by <@U0ANA> (Announced deletion or correction): Ticket 4711." == found.reasons[0]
    assert found.reasons[-len(match_of(before, "F21").reasons) :] == match_of(before, "F21").reasons
    assert "healthy" not in after.codes
    assert not rows_are_right(found)


@pytest.mark.parametrize("found", [{"duplicates": 3}, {"missing": 3}], ids=["doubled", "missing"])
def test_wrong_rows_stay_wrong_whoever_planned_them(found: dict[str, int]) -> None:
    """What is asked for stays the same, and the reason says why."""
    case = another_writer(**found)

    told = match_of(diagnose(declared(case, "F21"), MODES), "F21")

    assert Remedy.STOP_CULPRIT is told.remedy
    assert told.how is None
    assert told.reasons[1].startswith("A plan does not make rows right: 3 ")


def test_rows_that_nobody_counted_are_counted_first() -> None:
    """Until then what is asked for stays, and the bot collects what is missing by itself."""
    case = another_writer(duplicate_commits=None)

    told = match_of(diagnose(declared(case, "F21"), MODES), "F21")

    assert Remedy.STOP_CULPRIT is told.remedy
    assert "duplicate_commits" in told.asks
    assert told.reasons[1].startswith("Whether its rows are right is not known yet: duplicate_commits")


def test_a_plan_covers_no_later_change() -> None:
    """Spark writes once more after it was declared: nobody has spoken of that commit."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).commits(None)
    plans = declared(tale.looked_at(), "F21").planned
    later = tale.commits("a", 3).commits(None).looked_at().model_copy(update={"planned": plans})

    told = match_of(diagnose(later, MODES), "F21")

    assert Remedy.STOP_CULPRIT is told.remedy
    assert told.reasons[0].endswith("not this one.")


def test_a_plan_goes_on_for_the_commits_of_its_run() -> None:
    """An announced replay commits on: each commit brings what was planned, and its copies are told as before."""
    tale = replay().commits("b", 2)
    plans = declared(tale.looked_at(duplicates=1), "F2").planned
    later = tale.commits("b", 3).looked_at(duplicates=2).model_copy(update={"planned": plans})

    told = match_of(diagnose(later, MODES), "F2")

    assert Remedy.ROLL_BACK_TABLE_AND_RESTORE_JOB is told.remedy
    assert "A plan does not make rows right: 2 rows too many." == told.reasons[1]


def test_a_planned_replay_without_a_wrong_row_asks_for_no_recovery_yet() -> None:
    """The run has not come to where the other stood, so nothing is proven: it is looked at again, and not undone."""
    told = match_of(diagnose(declared(replay().looked_at(), "F2"), MODES), "F2")

    assert told.what_to_do.startswith("change nothing; count the rows again")
    assert not rows_are_right(told)


@pytest.mark.parametrize("code", [code for code, each in MODES.items() if each.mode.planned_as])
def test_kinds_of_plans_can_be_chosen_in_slack(code: str) -> None:
    """Each is its own, and short enough for a menu."""
    kinds = MODES[code].mode.planned_as

    assert len(set(kinds)) == len(kinds)
    assert [kind for kind in kinds if len(kind) > 75 or kind.endswith(".")] == []
