"""What the job had committed before has expired: what numbers, Flink's lists and rows still tell of it."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from bot.diagnosis import healthy, no_snapshot_advanced, rolled_back_while_running
from bot.diagnosis._support import lost_and_expired as _lost_and_expired
from bot.history.case import Case
from bot.incident.diagnosis import CannotTell, Excluded, Matches
from bot.observation.findings import GapsFinding
from bot.observation.ids import OperatorId, short
from bot.observation.table import HeadMove, Ref
from spark_tasks._support import tails as _tails
from tests.cases import Tale
from tests.diagnosis.answers import answer_table, check
from tests.diagnosis.test_clocks import in_format_v1
from tests.found import hole

GUEST, SECOND = OperatorId("ee" * 16), OperatorId("dd" * 16)


def set_back(*lost: int) -> Tale:
    """Run a committed up to checkpoint 5, main was set back, and these have expired; the log goes with them."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3, 4, 5)
    if lost:
        tale.rolls_back_to("a", min(lost) - 1).expires("a", *lost)
        tale.moves = [HeadMove(at=tale.now, snapshot_id=tale.head)] if tale.head else []
    return tale


WITHOUT_LATER_ROWS: dict[str, Callable[[Tale], Tale]] = {
    "an empty commit": lambda tale: tale.commits("a", 13).counts(added_records=0),
    "a compaction": lambda tale: tale.commits(None, rows=20, operation="replace").counts(deleted_records=20),
    "a guest's append": lambda tale: tale.commits("z", 500).by_sink(GUEST),
}


@pytest.mark.parametrize("lost", [(), (3, 4, 5)], ids=["nothing", "three commits"])
@pytest.mark.parametrize("on_top", WITHOUT_LATER_ROWS.values(), ids=WITHOUT_LATER_ROWS)
def test_nobody_can_tell_while_main_lists_no_commit_with_rows_of_the_job(
    on_top: Callable[[Tale], Tale], lost: tuple[int, ...]
) -> None:
    """What is left was made after all that may have been lost, so no sequence number is missing above it."""
    tale = on_top(set_back(*lost)).expires("a", *({1, 2, 3, 4, 5} - set(lost)))

    tale.counts(total_records=40)

    for examine in (healthy.examine, rolled_back_while_running.examine):
        found = examine(tale.looked_at())
        assert isinstance(found, CannotTell)
    after = tale.commits("a", 14).looked_at()
    assert isinstance(healthy.examine(after), Matches)
    assert isinstance(rolled_back_while_running.examine(after), Excluded)


def test_the_rows_of_one_sink_settle_nothing_of_another() -> None:
    """Each reads its own part of the source."""
    tale = Tale().flink_runs("a").commits("a", 1).by_sink(SECOND).commits("a", 1, 2, 3)
    tale.rolls_back_to("a", 2).expires("a", 3)
    tale.moves = [HeadMove(at=tale.now, snapshot_id=tale.at("a", 2))]

    first = healthy.examine(tale.commits("a", 4).by_sink(SECOND).looked_at())

    assert any("1 snapshot newer than …003003" in each for each in first.missing)
    assert isinstance(healthy.examine(tale.commits("a", 5).looked_at()), Matches)


def test_of_a_source_in_partitions_several_commits_settle_it() -> None:
    """One that was lost as a whole is silent, and `missing_positions` asks why after so many."""
    few, several = range(6, 10), range(6, 11)

    found = healthy.examine(_in_partitions(set_back(3, 4, 5).commits("a", *few)))

    assert _tails.SEVERAL == _lost_and_expired.SEVERAL
    assert any(each.endswith("has committed rows 5 times more") for each in found.missing)
    assert isinstance(healthy.examine(_in_partitions(set_back(3, 4, 5).commits("a", *several))), Matches)


def _in_partitions(tale: Tale) -> Case:
    case = tale.looked_at()
    return case.model_copy(update={"contract": case.contract.model_copy(update={"position_partition": "part"})})


OTHER_SINK = OperatorId("ee" * 16)
FROM_30 = GapsFinding(lowest=30, highest=49, positions=20, missing=0, gaps=())


def replaced(tale: Tale) -> Tale:
    """Main has no commit any more; what it had is listed until it expires."""
    tale.head = None
    return tale


def three_commits() -> Tale:
    """By a run that began without state."""
    return Tale().flink_runs("a").commits("a", 1, 2, 3)


def goes_on() -> Tale:
    """The job commits its next checkpoint as the first of a new main, and expiry takes all before."""
    return replaced(three_commits()).commits("a", 4, 5).expires("a", 1, 2, 3)


def fills(tale: Tale) -> Tale:
    """Another job fills the new table."""
    return replaced(tale).commits("z", 7).by_sink(OTHER_SINK)


def is_filled_by_another() -> Tale:
    """Its commit lies below those of this one."""
    return fills(three_commits()).commits("a", 4).expires("a", 1, 2, 3)


def is_restored_onto_it() -> Tale:
    """Another run brings the state of the one before."""
    tale = replaced(three_commits()).becomes("a", "FINISHED").flink_runs("b", restored=3)
    return tale.commits("b", 4, 5).expires("a", 1, 2, 3).forgets("a")


def has_not_committed_since() -> Tale:
    """What it committed is gone, and main has another job's commit alone."""
    return fills(three_commits()).expires("a", 1, 2, 3)


def is_restored_onto_a_filled_one() -> Tale:
    """The state came from before, although the run itself began after the replacement."""
    tale = fills(three_commits().becomes("a", "FINISHED")).flink_runs("b", restored=3)
    return tale.commits("b", 4).expires("a", 1, 2, 3)


REPLACED = [goes_on, is_restored_onto_a_filled_one, is_filled_by_another, is_restored_onto_it, has_not_committed_since]


def says_so(case: Case) -> bool:
    """Whether `healthy` cannot tell for that reason."""
    found = healthy.examine(case)
    return isinstance(found, CannotTell) and any("replaced under its job" in each for each in found.missing)


@pytest.mark.parametrize("tell", REPLACED)
def test_a_table_that_was_replaced_is_not_healthy_once_what_it_had_has_expired(tell: Callable[[], Tale]) -> None:
    """No older commit is listed, no file is left, and no position is missing among those that live."""
    tale = tell()

    found = healthy.examine(tale.looked_at(gaps=FROM_30))

    root = short(tale.table.chain[-1].snapshot_id)
    assert any(f"before {root}, with which it begins anew, without a parent" in each for each in found.missing)
    assert any("by the sequence numbers, 3 older snapshots are listed no more" in each for each in found.missing)
    assert any(each.endswith(f"with a window that begins after {root}") for each in found.missing)


def young() -> Tale:
    """Its first checkpoints had no rows."""
    return Tale().flink_runs("a").commits("a", 4, 5)


def taken_out_by_iceberg() -> Tale:
    """The oldest listed commit names a parent that is gone."""
    return three_commits().commits("a", 4, 5).expires("a", 1, 2, 3)


def taken_out_by_pyiceberg() -> Tale:
    """It takes the parent's id away too; rows that the commit did not bring were there before it."""
    tale = three_commits().commits("a", 4).counts(total_records=40).commits("a", 5).expires("a", 1, 2, 3)
    tale.snapshots[0] = tale.snapshots[0].model_copy(update={"parent_id": None})
    return tale


def rolled_back_to_the_first() -> Tale:
    """And table and job went back together; what was lost has expired."""
    tale = three_commits().rolls_back_to("a", 1).becomes("a", "FINISHED")
    return tale.flink_runs("b", restored=1).commits("b", 2, 3).expires("a", 2, 3)


def without_numbers() -> Tale:
    """Format v1 has none, also where the table was upgraded since."""
    tale = young().commits("a", 6)
    tale.numbers_snapshots = False
    tale.snapshots = [each.model_copy(update={"sequence_number": 0}) for each in tale.snapshots]
    return tale


def upgraded() -> Tale:
    """Commits from before the upgrade to v2 keep number 0, and stay listed."""
    tale = Tale().flink_runs("a").commits("a", 4, 5).commits("a", 6)
    tale.snapshots = [each.model_copy(update={"sequence_number": n}) for n, each in enumerate(tale.snapshots)]
    return tale


def staged_first() -> Tale:
    """Write-audit-publish before main had anything, and that is listed still."""
    return Tale().flink_runs("a").stages(None, 0).commits("a", 2, 3)


def begun_on_purpose() -> Tale:
    """A new table under the old name, for a job that begins at its source's beginning."""
    tale = replaced(three_commits()).becomes("a", "FINISHED").flink_runs("b")
    return tale.commits("b", 1, 2).expires("a", 1, 2, 3).forgets("a")


def begun_on_a_filled_one() -> Tale:
    """The job was started without state after the replacement, and its first checkpoints had no rows."""
    tale = fills(three_commits().becomes("a", "FINISHED")).expires("a", 1, 2, 3)
    return tale.flink_runs("b").commits("b", 3, 4)


@pytest.mark.parametrize(
    "tell",
    [
        young,
        taken_out_by_iceberg,
        taken_out_by_pyiceberg,
        rolled_back_to_the_first,
        without_numbers,
        upgraded,
        staged_first,
        begun_on_purpose,
        begun_on_a_filled_one,
    ],
)
def test_what_only_looks_like_it_is_left_alone(tell: Callable[[], Tale]) -> None:
    """Histories in which the job has lost nothing to a replacement."""
    found = healthy.examine(tell().looked_at(gaps=FROM_30))

    assert isinstance(found, Matches), found


@pytest.mark.parametrize("tell", REPLACED)
def test_where_the_sources_first_position_is_there_nothing_lies_below(tell: Callable[[], Tale]) -> None:
    """The rows were put back, or read again."""
    assert not says_so(tell().looked_at(gaps=hole(0)))


def compacted_by_pyiceberg() -> Tale:
    """The compaction counts what it replaced, and totals that fit; its parent's id was taken away."""
    tale = three_commits().commits(None, rows=30, operation="replace")
    tale.counts(deleted_records=30, total_records=30).commits("a", 4).expires("a", 1, 2, 3)
    tale.snapshots[0] = tale.snapshots[0].model_copy(update={"parent_id": None})
    return tale


def listed_by_flink() -> Tale:
    """Flink lists the checkpoints of what PyIceberg has taken out still."""
    tale = taken_out_by_pyiceberg().completes("a", 1, 2, 3)
    tale.now += timedelta(minutes=1)
    return tale


def kept_by_tags() -> Tale:
    """One commit from before the upgrade to format v2, which has number 0, and one from since are listed."""
    tale = Tale().flink_runs("a").commits(None).commits(None).commits("a", 1)
    kept = [each.snapshot_id for each in tale.snapshots[:2]]
    tale.refs = [Ref(name=f"month-{each}", kind="tag", snapshot_id=each) for each in kept]
    tale = replaced(tale).commits("a", 2).expires("a", 1)
    tale.snapshots = [each.model_copy(update={"sequence_number": each.sequence_number - 1}) for each in tale.snapshots]
    return tale


LOST, IDLE = (3, 4, 5), no_snapshot_advanced
NEW_JOB = Tale().commits(None, rows=10).counts(total_records=40).flink_runs("a")


@answer_table(
    {
        "the job has not committed since, and Flink has forgotten what it completed": (
            healthy, set_back(*LOST).looked_at(), CannotTell,
        ),
        "the job has not committed since": (healthy, set_back(*LOST).completes("a", 3, 4, 5).looked_at(), CannotTell),
        "the job died before its next commit": (IDLE, set_back(*LOST).becomes("a", "FAILED").looked_at(), CannotTell),
        "format v1: the log tells": (
            healthy, in_format_v1(set_back(*LOST)).looked_at(), CannotTell, "it came back to",
        ),
        "format v1: the log tells of a job that is down": (
            IDLE, in_format_v1(set_back(*LOST).becomes("a", "FAILED")).looked_at(), CannotTell, "it came back to",
        ),
        "format v1: the next commit settles it": (
            healthy, in_format_v1(set_back(*LOST).commits("a", 6)).looked_at(), Matches,
        ),
        "a new job over a table that another engine had filled": (
            rolled_back_while_running, NEW_JOB.looked_at(), Excluded,
        ),
        "checkpoints of what was taken out are no commits without a trace": (
            healthy, listed_by_flink().looked_at(gaps=FROM_30, orphans=None), Matches,
        ),
        "a compaction whose parent was taken out": (
            healthy, compacted_by_pyiceberg().looked_at(gaps=FROM_30), Matches,
        ),
        "what is listed still is not counted": (
            healthy, kept_by_tags().looked_at(gaps=FROM_30), CannotTell,
            "by the sequence numbers, 1 older snapshot is listed no more",
        ),
    }
)  # fmt: skip
def test_what_has_expired(mode: Any, case: Case, expected: list[Any]) -> None:
    """What the job may have lost with it, and what it cannot have."""
    check(mode, case, expected)
