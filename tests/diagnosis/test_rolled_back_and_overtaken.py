"""A rollback is explained by a run that was restored at its target, and by no other."""

import pytest

from bot.diagnosis import recovered_by_itself, rolled_back_while_running, source_positions_skipped
from bot.domain.diagnosis import CannotTell, Excluded, Matches, Remedy
from bot.domain.findings import PositionGap
from bot.domain.rollbacks import Sequel, rollbacks
from tests.cases import Tale, job_id
from tests.found import hole


def test_the_newest_commit_that_main_lost_is_named() -> None:
    """It stays the same while the run goes on over the hole, and when the run ends."""
    tale = Tale().flink_runs("a").commits("a", *range(1, 9)).rolls_back_to("a", 6)
    found = [rolled_back_while_running.examine(tale.looked_at())]
    tale.commits("a", 9, 10)
    found.append(rolled_back_while_running.examine(tale.looked_at(missing=20)))
    tale.becomes("a", "CANCELED")
    found.append(rolled_back_while_running.examine(tale.looked_at(missing=20)))

    assert [tale.at("a", 8)] * 3 == [each.newest_wrong for each in found if isinstance(each, Matches)]


def restored_at(checkpoint: int, first: int) -> Tale:
    """Main went from 8 back to 3 while the job was down; the next run was restored and first commits this."""
    tale = Tale().flink_runs("a").commits("a", *range(1, 9)).completes("a", *range(1, 9)).becomes("a", "CANCELED")
    tale.rolls_back_to("a", 3).flink_runs("b", restored=checkpoint)
    return tale.commits("b", first, first + 1).completes("b", first + 1)


def test_a_run_from_beyond_the_target_leaves_a_hole() -> None:
    """Restored from 8 over a table at 3: what 4 to 8 had brought is not read again."""
    tale = restored_at(8, 9)
    case = tale.looked_at(missing=50)

    found, skipped = rolled_back_while_running.examine(case), source_positions_skipped.examine(case)

    assert isinstance(found, Matches)
    assert found.headline.endswith(", and run bbbbbb went on from beyond it.")
    assert (tale.at("a", 3), job_id("b"), Remedy.REWIND_TABLE_AND_JOB) == (
        found.last_good,
        found.wrong_run,
        found.remedy,
    )
    assert any("restored it last from checkpoint 8" in reason for reason in found.reasons)
    assert isinstance(skipped, Excluded)
    assert "(F6)" in skipped.reason
    assert isinstance(recovered_by_itself.examine(tale.looked_at(gaps=None)), Excluded | CannotTell)


@pytest.mark.parametrize(
    ("checkpoint", "first", "sequel"),
    [
        (3, 4, Sequel.OTHER_RUN),
        (3, 9, Sequel.OTHER_RUN),
        (2, 3, Sequel.OTHER_RUN),
        (5, 6, Sequel.WENT_ON),
        (8, 9, Sequel.WENT_ON),
    ],
    ids=["at the target", "at the target, then quiet", "below it", "between", "at the end"],
)
def test_where_flink_restored_the_run_tells_it(checkpoint: int, first: int, sequel: Sequel) -> None:
    """Whatever checkpoint id its first commit has."""
    tale = restored_at(checkpoint, first)

    (found,) = rollbacks(tale.table, tale.jobs.values)

    assert sequel is found.sequel


def silent(checkpoint: int, run: str) -> Tale:
    """Main went from 8 back to 3; then this run was restored, under the old job id or a new one, and is silent."""
    tale = Tale().flink_runs("a").commits("a", *range(1, 9))
    tale = tale.becomes("a", "CANCELED") if run != "a" else tale
    return tale.rolls_back_to("a", 3).flink_runs(run, restored=checkpoint)


@pytest.mark.parametrize("run", ["a", "b"])
@pytest.mark.parametrize("checkpoint", [4, 6, 8])
def test_a_silent_run_from_beyond_the_target_will_leave_a_hole(run: str, checkpoint: int) -> None:
    """Its state holds rows that main lost: to be stopped before it commits, and nothing is healthy meanwhile."""
    tale = silent(checkpoint, run)

    found = rolled_back_while_running.examine(tale.looked_at())

    assert isinstance(found, Matches)
    assert (job_id(run), tale.at("a", 3)) == (found.wrong_run, found.last_good)
    assert any(f"restored it last from checkpoint {checkpoint}" in reason for reason in found.reasons)
    assert isinstance(recovered_by_itself.examine(tale.looked_at()), Excluded)


@pytest.mark.parametrize("run", ["a", "b"])
@pytest.mark.parametrize("checkpoint", [2, 3])
def test_a_silent_run_from_the_target_was_rewound_with_the_table(run: str, checkpoint: int) -> None:
    """It reads again what main lost, under whichever job id."""
    found = rolled_back_while_running.examine(silent(checkpoint, run).looked_at())

    assert isinstance(found, Excluded)
    assert "reads again what main lost" in found.reason


def test_without_flink_the_ids_tell_what_they_can() -> None:
    """Above all that was lost: a hole. Within it, nobody knows where the run was restored."""
    above, within = restored_at(8, 9).flink_is_down(), restored_at(3, 4).flink_is_down()

    assert isinstance(rolled_back_while_running.examine(above.looked_at(missing=50)), Matches)
    assert isinstance(rolled_back_while_running.examine(within.looked_at(missing=50)), CannotTell)


def test_the_same_job_id_restored_between_leaves_a_hole_too() -> None:
    """Main at 3, and the job goes on from 6: it commits 7 again, but nothing brings 4 to 6."""
    tale = Tale().flink_runs("a").commits("a", *range(1, 9)).rolls_back_to("a", 3)
    tale.flink_runs("a", restored=6).commits("a", 7, 8)

    (found,) = rollbacks(tale.table, tale.jobs.values)

    assert Sequel.WENT_ON is found.sequel


def test_commits_that_were_expired_may_have_held_the_rows() -> None:
    """Their sequence numbers are missing; nobody can say that nobody ever wrote them."""
    tale = Tale().flink_runs("a").commits("a", *range(1, 9)).rolls_back_to("a", 3).commits("a", 9, 10)
    tale.expires("a", 4, 5, 6, 7, 8)

    found = source_positions_skipped.examine(tale.looked_at(missing=50))

    assert isinstance(found, Matches)
    assert "never written" not in found.headline
    assert "5 commits between those on main are not listed any more" in found.reasons[-1]


def test_what_a_rolled_back_commit_had_brought_was_not_skipped() -> None:
    """Also where table and job were rewound together, and the run then left these rows out."""
    tale = restored_at(3, 4)
    case = tale.looked_at(missing=50)
    assert case.ledger is not None
    bounds = {"on_main": False, "position_from": 0, "position_until": 99}
    rows = (*case.ledger.rows, case.ledger.rows[0].model_copy(update=bounds))
    ledger = case.ledger.model_copy(update={"rows": rows})
    gaps = hole(50).model_copy(update={"gaps": (PositionGap(first=40, last=89),)})

    found = source_positions_skipped.examine(case.model_copy(update={"ledger": ledger, "gaps": gaps}))

    assert isinstance(found, Excluded)
    assert "was rolled back" in found.reason
