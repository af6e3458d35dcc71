"""Main has rows that the living run does not hold: nobody calls the table healthy before it has brought its own."""

import pytest

from bot.diagnosis import (
    flink_is_recovering,
    no_snapshot_advanced,
    recovered_by_itself,
    two_jobs_write_the_table,
)
from bot.domain.diagnosis import CannotTell, Case, Excluded, Matches
from bot.domain.findings import GapsFinding
from tests.cases import Tale, job_id
from tests.found import ruled_out

WHOLE = GapsFinding(lowest=0, highest=29, positions=30, missing=0, gaps=())


def _said(case: Case) -> str:
    found = recovered_by_itself.examine(case)
    return found.missing[0] if isinstance(found, CannotTell) else found.verdict


def _placed(case: Case, *ends: tuple[int, int] | None) -> Case:
    """With the source positions of each commit that the ledger lists, oldest first."""
    assert case.ledger is not None
    rows = [
        row.model_copy(update={"position_from": end[0], "position_until": end[1]} if end is not None else {})
        for row, end in zip(case.ledger.rows, ends, strict=True)
    ]
    return case.model_copy(update={"ledger": case.ledger.model_copy(update={"rows": tuple(rows)})})


def submitted_twice() -> Tale:
    """Run a has committed 1 and 2; b is started from 2 beside it, commits 3, and is cancelled."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).flink_runs("b")
    return tale.came_from("b", 2, f"s3://state/{job_id('a')}/chk-2").commits("b", 3).becomes("b", "CANCELED")


def test_rows_of_a_second_run_that_was_cancelled_may_come_again() -> None:
    """The first one has them still before it."""
    assert _said(submitted_twice().looked_at(gaps=WHOLE)).startswith("whether the rows of …003003 come again")


def test_also_where_flink_has_forgotten_it() -> None:
    """It committed by the same sink."""
    case = submitted_twice().forgets("b").looked_at(gaps=WHOLE)

    assert _said(case).startswith("whether the rows of …003003 come again")


def test_also_after_the_first_one_was_restored_from_its_own_checkpoint() -> None:
    """That one holds none of them."""
    tale = submitted_twice().came_from("a", 2, f"s3://state/{job_id('a')}/chk-2")

    assert _said(tale.looked_at(gaps=WHOLE)).startswith("whether the rows of …003003 come again")


@pytest.mark.parametrize("rest", ["owed to the run before", "a hand-over"])
def test_what_the_run_before_had_written_is_held(rest: str) -> None:
    """Commits under the old id at a restore, and an orderly upgrade, make no doubt."""
    tale = Tale().flink_runs("a").commits("a", 1, 2)
    if rest == "a hand-over":
        tale.commits("a", 3)
    tale.becomes("a", "CANCELED").flink_runs("b").came_from("b", 3, f"s3://state/{job_id('a')}/chk-3")
    if rest == "owed to the run before":
        tale.commits("a", 3)

    assert isinstance(recovered_by_itself.examine(tale.looked_at(gaps=WHOLE)), Matches)


def test_another_jobs_rows_are_no_matter() -> None:
    """By a sink of its own."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).commits("z", 7).by_sink("ee" * 16)  # type: ignore[arg-type]

    assert isinstance(recovered_by_itself.examine(tale.looked_at(gaps=WHOLE)), Matches)


def rewound_and_picked() -> Tale:
    """Main goes back to 1, run b is started from there, and somebody picks the lost commit again."""
    tale = Tale().flink_runs("a").commits("a", 1, 2)
    lost = tale.at("a", 2)
    tale.becomes("a", "CANCELED").rolls_back_to("a", 1).flink_runs("b")
    tale.came_from("b", 1, f"s3://state/{job_id('a')}/chk-1")
    return tale.commits(None).counts(source_snapshot_id=lost)


def test_lost_rows_that_were_picked_may_come_again() -> None:
    """The run that was restored from below reads them anew."""
    assert "a cherry-pick of …002002" in _said(rewound_and_picked().looked_at(gaps=WHOLE))


def test_nobody_waits_for_the_rest_of_them_as_after_a_rewind() -> None:
    """Some are to come, and some to come again."""
    case = rewound_and_picked().looked_at(gaps=WHOLE.model_copy(update={"to_come": 5}))

    assert not isinstance(flink_is_recovering.examine(case), Matches)


def test_once_the_run_has_brought_rows_as_far_evidence_tells() -> None:
    """Copies would have been found."""
    tale = rewound_and_picked().commits("b", 2)
    short = _placed(tale.looked_at(gaps=WHOLE), (0, 9), (10, 19), (10, 19), (10, 14))
    far = _placed(tale.looked_at(gaps=WHOLE.model_copy(update={"highest": 19})), (0, 9), (10, 19), (10, 19), (10, 19))

    assert "which has come to 14, brings again what lies up to 29" in _said(short)
    assert _said(far) == "matches"


def test_a_pick_of_what_the_running_job_had_committed_fills_its_hole() -> None:
    """It goes on above: it holds these rows."""
    tale = Tale().flink_runs("a").commits("a", 1, 2)
    lost = tale.at("a", 2)
    tale.rolls_back_to("a", 1).commits(None).counts(source_snapshot_id=lost).commits("a", 3)

    assert isinstance(recovered_by_itself.examine(tale.looked_at(gaps=WHOLE)), Matches)


def test_a_job_that_is_down_brings_nothing() -> None:
    """The doubt is of a living run alone: restore points are held against main by themselves."""
    tale = submitted_twice().becomes("a", "FAILED")

    found = no_snapshot_advanced.examine(tale.looked_at(gaps=WHOLE))

    assert not (isinstance(found, CannotTell) and "come again" in " ".join(found.missing))


def test_two_unlisted_turns_are_no_meant_writer_before_evidence_has_seen_the_last() -> None:
    """No key lived twice when it was looked: what came since may be copies."""
    tale = submitted_twice().forgets("b")
    before = tale.looked_at(gaps=WHOLE)
    assert tale.head is not None
    old = ruled_out(before, "duplicate_rows", tale.head)
    tale.commits("a", 3)
    case = tale.looked_at(gaps=WHOLE, evidence=(old,))

    assert isinstance(two_jobs_write_the_table.examine(case), CannotTell)
    assert isinstance(two_jobs_write_the_table.examine(tale.looked_at(gaps=WHOLE)), Excluded)
