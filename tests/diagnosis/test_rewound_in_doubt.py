"""A run seems to explain a rollback, restored from the target since, or going on from there; what it began from may be
another state than that of main all the same."""

import pytest

from bot.diagnosis import flink_is_recovering, recovered_by_itself, rolled_back_while_running
from bot.domain.diagnosis import CannotTell, Case, Excluded, Matches
from bot.domain.findings import GapsFinding, LeakStanding, PositionGap
from bot.domain.rollbacks import rollbacks
from tests.cases import Tale, job_id
from tests.found import leaks

TO_COME = GapsFinding(lowest=0, highest=9, positions=10, missing=0, gaps=(), to_come=10)
WHOLE = GapsFinding(lowest=0, highest=39, positions=40, missing=0, gaps=())


def rewound_to_an_id_of_two() -> Tale:
    """Run a commits 1 and 2, is started without state under its id, and completes another checkpoint 1, from which run
    b is started once main is back at the commit of 1: what a V2 sink passed over is left on storage (facts 0.7)."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).becomes("a", "CANCELED").leaves_manifest("a", 1)
    tale.rolls_back_to("a", 1).forgets("a").flink_runs("b")
    return tale.came_from("b", 1, f"s3://state/{job_id('a')}/chk-1")


def looked_at(tale: Tale, gaps: GapsFinding, standing: LeakStanding, rows: int = 10) -> Case:
    """With positions of each commit, ten a commit from 0 on."""
    case = tale.looked_at(gaps=gaps, leaked=leaks(*tale.manifests, standing=standing, rows=rows))
    assert case.ledger is not None
    ends = [row.model_copy(update={"position_from": 10 * place, "position_until": 10 * place + 9})
            for place, row in enumerate(case.ledger.rows)]  # fmt: skip
    return case.model_copy(update={"ledger": case.ledger.model_copy(update={"rows": tuple(ends)})})


def test_an_id_that_the_writer_of_main_came_to_twice_does_not_tell_which_state_was_restored() -> None:
    """Nobody is told to wait for rows that may never come, and F6 is not excluded."""
    case = looked_at(rewound_to_an_id_of_two(), TO_COME, LeakStanding.UNTOLD)

    found = rolled_back_while_running.examine(case)

    assert isinstance(found, CannotTell)
    assert "which state run aaaaaa had at checkpoint 1" in found.missing[0]
    assert isinstance(flink_is_recovering.examine(case), Excluded)
    assert not isinstance(recovered_by_itself.examine(case), Matches)


def test_nor_does_its_first_commit_before_positions_are_looked_for() -> None:
    """Then they tell."""
    early = looked_at(rewound_to_an_id_of_two().commits("b", 2), TO_COME, LeakStanding.UNTOLD)
    later = looked_at(rewound_to_an_id_of_two().commits("b", 2), WHOLE, LeakStanding.UNTOLD)

    assert isinstance(rolled_back_while_running.examine(early), CannotTell)
    assert isinstance(rolled_back_while_running.examine(later), Excluded)


@pytest.mark.parametrize(
    ("standing", "rows"),
    [(LeakStanding.LEFT_OVER, 10), (LeakStanding.GIVEN_UP, 10), (LeakStanding.UNTOLD, 0)],
    ids=["only its deletion failed", "it was read again", "it lists nothing"],
)
def test_a_manifest_that_tells_of_no_second_count_makes_no_doubt(standing: LeakStanding, rows: int) -> None:
    """The rewind was right, as far as anybody sees."""
    case = looked_at(rewound_to_an_id_of_two().keeps_point("a", 1), TO_COME, standing, rows)
    files = 1 if rows else 0
    assert case.leaked is not None
    told = tuple(leak.model_copy(update={"files": files}) for leak in case.leaked.manifests)
    case = case.model_copy(update={"leaked": case.leaked.model_copy(update={"manifests": told})})

    assert isinstance(rolled_back_while_running.examine(case), Excluded)
    assert isinstance(flink_is_recovering.examine(case), Matches)


def test_nor_does_a_manifest_above_the_target_or_of_another_run() -> None:
    """A killed run leaves one of the checkpoint that it was at."""
    tale = rewound_to_an_id_of_two()
    tale.manifests.clear()
    tale.leaves_manifest("a", 3).leaves_manifest("z", 1)

    found = rolled_back_while_running.examine(looked_at(tale, TO_COME, LeakStanding.UNTOLD))

    assert isinstance(found, Excluded)


def test_nor_does_one_below_the_target_whose_rows_main_has() -> None:
    """A failover broke off checkpoint 2 of run a, which read its rows again."""
    tale = Tale().flink_runs("a").commits("a", 1).leaves_manifest("a", 2).commits("a", 3, 4).becomes("a", "CANCELED")
    tale.rolls_back_to("a", 3).forgets("a").flink_runs("b").came_from("b", 3, f"s3://state/{job_id('a')}/chk-3")
    tale.keeps_point("a", 3)
    gaps = GapsFinding(lowest=0, highest=19, positions=20, missing=0, gaps=(), to_come=10)
    leaked = leaks(*tale.manifests, standing=LeakStanding.UNTOLD, positions=(10, 15))

    case = tale.looked_at(gaps=gaps, leaked=leaked)

    assert isinstance(rolled_back_while_running.examine(case), Excluded)
    assert isinstance(flink_is_recovering.examine(case), Matches)


@pytest.mark.parametrize("missing", [True, False])
def test_lost_positions_that_are_missing_let_no_restore_explain_a_rollback(missing: bool) -> None:
    """Run b goes on from the target, but has passed what main lost; a commit of another engine beside these, whose
    positions nobody knows, hides nothing."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).becomes("a", "CANCELED").commits(None).rolls_back_to("a", 1)
    tale.flink_runs("b").came_from("b", 1, f"s3://state/{job_id('a')}/chk-1").commits("b", 2)
    gaps = GapsFinding(lowest=0, highest=39, positions=30, missing=10, gaps=(PositionGap(first=10, last=19),))
    case = looked_at(tale, gaps if missing else WHOLE, LeakStanding.UNTOLD)
    assert case.ledger is not None
    unknown = {"position_from": None, "position_until": None}
    rows = tuple(r if r.job_id else r.model_copy(update=unknown) for r in case.ledger.rows)
    case = case.model_copy(update={"ledger": case.ledger.model_copy(update={"rows": rows})})

    found = rolled_back_while_running.examine(case)

    assert isinstance(found, CannotTell if missing else Excluded)


@pytest.mark.parametrize("of_another", [True, False])
def test_a_checkpoint_of_its_own_reads_nothing_again_that_another_run_lost_before(*, of_another: bool) -> None:
    """Run b began after run a, nobody knows where, and went back to its own 1 before main lost commits of both."""
    tale = Tale().flink_runs("a").commits("a", 1)
    tale = (tale.commits("a", 2) if of_another else tale).becomes("a", "CANCELED").flink_runs("b").commits("b", 2)
    tale.rolls_back_to("a", 1).came_from("b", 1, f"s3://state/{job_id('b')}/chk-1")

    [lost] = rollbacks(tale.table, tale.looked_at().runs)

    assert (job_id("b") if of_another else None, not of_another) == (lost.may_go_on, lost.is_rewound)


def test_nobody_waits_for_a_run_to_catch_up_while_keys_live_twice() -> None:
    """No rewind brings a key twice."""
    tale = rewound_to_an_id_of_two().keeps_point("a", 1)
    tale.manifests.clear()

    well = flink_is_recovering.examine(tale.looked_at(gaps=TO_COME))
    doubled = flink_is_recovering.examine(tale.looked_at(gaps=TO_COME, duplicates=2))

    assert isinstance(well, Matches)
    assert isinstance(doubled, CannotTell)
    assert "2 keys came twice" in doubled.missing[0]
