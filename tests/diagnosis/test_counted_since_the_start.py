"""What a run reads again is only known to be there once by counts that have seen the first of it (F2, F15)."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from bot.diagnosis import restarted_from_empty, restored_from_older_savepoint
from bot.domain.diagnosis import Case, Examined, Matches, Remedy
from bot.domain.evidence import Evidence, Verdict
from bot.domain.findings import RepeatedCommit, ReplayedRowsFinding
from bot.domain.ids import EvidenceId
from tests.cases import Tale, job_id
from tests.found import hole, repeats

COUNTS = ("duplicate_rows", "missing_positions", "duplicate_commits")
MODES = pytest.mark.parametrize(
    ("examine", "restored", "first"),
    [
        pytest.param(restored_from_older_savepoint.examine, 2, 3, id="F2"),
        pytest.param(restarted_from_empty.examine, None, 1, id="F15"),
    ],
)
Examine = Callable[[Case], Examined]


def started(restored: int | None) -> Tale:
    """Run a had committed up to 4; run b began below it, or with nothing, and is silent."""
    return Tale().flink_runs("a").commits("a", 1, 2, 3, 4).becomes("a", "CANCELED").flink_runs("b", restored=restored)


def counted_at(tale: Tale) -> tuple[Evidence, ...]:
    """Rows are counted of the table as it is now."""
    case = tale.case()
    return tuple(
        Evidence(
            id=EvidenceId(task), task=task, task_version=1, question="Is it?", headline="It is not.",
            verdict=Verdict.RULED_OUT, metadata_location="m", head=tale.head, window=case.window, at=tale.now,
            took_ms=1, bytes_read=0,
        )
        for task in ("ledger", *COUNTS)
    )  # fmt: skip


def told(found: Examined) -> tuple[Remedy, tuple[str, ...]]:
    """What a match asks to be done, and to be collected."""
    assert isinstance(found, Matches)
    return found.remedy, found.asks


@MODES
def test_a_count_from_before_its_first_commit_says_nothing(examine: Examine, restored: int | None, first: int) -> None:
    """Counted while the run was silent; then its first commit brings copies."""
    tale = started(restored)
    counts = counted_at(tale)
    case = tale.commits("b", first).looked_at(evidence=counts)

    assert (Remedy.REWIND_TABLE_AND_JOB, (*COUNTS, "ledger")) == told(examine(case))


@MODES
def test_a_count_that_has_seen_its_first_rows_settles_it(examine: Examine, restored: int | None, first: int) -> None:
    """A job commits on while rows are counted; what it reads again comes first."""
    tale = started(restored).commits("b", first)
    counts = counted_at(tale)
    case = tale.commits("b", first + 1).looked_at(evidence=counts)

    assert (Remedy.TELL_CONSUMERS, ()) == told(examine(case))


@MODES
def test_a_count_that_could_not_see_all_settles_nothing(examine: Examine, restored: int | None, first: int) -> None:
    """Rows without a position may be copies: the task has a finding, and is inconclusive."""
    tale = started(restored).commits("b", first)
    counts = tuple(
        each.model_copy(update={"verdict": Verdict.INCONCLUSIVE}) if each.task == "duplicate_commits" else each
        for each in counted_at(tale)
    )

    assert (Remedy.REWIND_TABLE_AND_JOB, ()) == told(examine(tale.looked_at(evidence=counts)))


@MODES
def test_what_a_later_restore_committed_is_counted_too(examine: Examine, restored: int | None, first: int) -> None:
    """The run failed over after its first rows were counted, and may have committed what its state owed."""
    tale = started(restored).commits("b", first)
    counts = counted_at(tale)
    tale.now += timedelta(minutes=5)
    tale.came_from("b", first, f"s3://state/{job_id('b')}/chk-{first}").completes("b", first + 1)
    case = tale.commits("b", first + 1).looked_at(evidence=counts)

    assert (Remedy.REWIND_TABLE_AND_JOB, COUNTS) == told(examine(case))


@MODES
def test_of_several_partitions_the_count_is_of_the_head(examine: Examine, restored: int | None, first: int) -> None:
    """The rows of one partition may come again later than those of another, so it takes some commits, too."""
    tale = started(restored).commits("b", first)
    counts = counted_at(tale)
    old = tale.commits("b", *range(first + 1, first + 5)).looked_at(evidence=counts)
    contract = old.contract.model_copy(update={"position_partition": "split"})
    new = old.model_copy(update={"evidence": counted_at(tale)})

    found = [told(examine(each.model_copy(update={"contract": contract}))) for each in (old, new)]

    assert [(Remedy.REWIND_TABLE_AND_JOB, COUNTS), (Remedy.TELL_CONSUMERS, ())] == found


@MODES
def test_a_commit_without_rows_shows_nothing(examine: Examine, restored: int | None, first: int) -> None:
    """An idle sink commits from time to time."""
    tale = started(restored).commits("b", first, rows=0)

    assert (Remedy.REWIND_TABLE_AND_JOB, ()) == told(examine(tale.looked_at()))


@MODES
@pytest.mark.parametrize(
    ("replayed", "expected"),
    [
        (None, (Remedy.REWIND_TABLE_AND_JOB, ("replayed_rows",))),
        (10, (Remedy.REWIND_TABLE_AND_JOB, ())),
        (0, (Remedy.TELL_CONSUMERS, ())),
    ],
)
def test_a_source_range_that_came_twice_is_looked_into(
    examine: Examine,
    restored: int | None,
    first: int,
    replayed: int | None,
    expected: tuple[Remedy, tuple[str, ...]],
) -> None:
    """The key is drawn anew at each reading: no key lives twice, and rows do."""
    tale = started(restored).commits("b", first, first + 1)
    again = RepeatedCommit(
        first=tale.at("a", 3), again=tale.at("b", first), how="same-source-range", job_id=None, checkpoint_id=None,
        rows=10,
    )  # fmt: skip
    case = tale.looked_at(duplicate_commits=repeats(again))
    if replayed is not None:
        found = ReplayedRowsFinding(rows_checked=30, replayed=replayed, changed=0, first=None, last=None, pairs=())
        case = case.model_copy(update={"replayed": found})

    assert expected == told(examine(case))


@MODES
def test_positions_that_are_still_to_come_are_not_right(examine: Examine, restored: int | None, first: int) -> None:
    """Main was rolled back as well, and its rows are not there again."""
    tale = started(restored).commits("b", first)
    gaps = hole(0).model_copy(update={"to_come": 3})

    assert (Remedy.REWIND_TABLE_AND_JOB, ()) == told(examine(tale.looked_at(gaps=gaps)))


def test_where_a_silent_start_began_is_not_said() -> None:
    """It said that the source had begun in the right place before a row had come."""
    found = restarted_from_empty.examine(started(None).looked_at())

    assert isinstance(found, Matches)
    assert not any("right place" in reason for reason in found.reasons)


def test_a_second_start_that_is_silent_is_not_told_by_the_rows_of_the_first() -> None:
    """The first began in the right place; where the second began shows once it brings rows."""
    tale = started(None).commits("b", 1, 2).becomes("b", "CANCELED").flink_runs("c")

    found = restarted_from_empty.examine(tale.looked_at())

    assert (Remedy.REWIND_TABLE_AND_JOB, ()) == told(found)
    assert isinstance(found, Matches)
    assert (tale.at("b", 2), job_id("c")) == (found.last_good, found.wrong_run)
