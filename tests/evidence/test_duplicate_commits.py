"""A commit that brings what another had brought is told by files, checkpoint or source range."""

import pyarrow as pa
import pytest

from bot.domain.contract import TableContract
from bot.domain.evidence import Answer, Verdict
from bot.domain.findings import DuplicateCommitsFinding
from bot.domain.ids import SnapshotId
from tests.evidence.conftest import Asks
from tests.tables import CONTRACT, OrdersTable, of_flink, rows

BY_PARTITION = CONTRACT.model_copy(update={"position_partition": "source_partition"})
BY_TIME = TableContract(key=("order_id",), event_time="event_time")


def repeats(answer: Answer) -> list[tuple[SnapshotId, SnapshotId, str]]:
    """First, again and proof of each."""
    assert isinstance(answer.finding, DuplicateCommitsFinding)
    return [(each.first, each.again, each.how) for each in answer.finding.repeated]


def test_commits_that_go_on_repeat_nothing(orders: OrdersTable, asks: Asks) -> None:
    """Also where another run goes on from where the first one stopped."""
    before = orders.commits("a", 1, range(10))
    orders.commits("a", 2, range(10, 20))
    orders.commits("b", 3, range(20, 30))

    answer = asks("duplicate_commits", orders.ask(before))

    assert answer.verdict is Verdict.RULED_OUT
    assert answer.headline == "None of 2 commits repeats another one, nor the one before the window."


def test_the_very_files_once_more_are_the_strongest_proof(orders: OrdersTable, asks: Asks) -> None:
    """The answer to a commit was lost and it was made again: same files, same checkpoint."""
    before = orders.commits("a", 1, range(10))
    first = orders.commits_files("a", 2, {"two.parquet": range(10, 30)})
    again = orders.names_again("a", 2, ["two.parquet"])

    answer = asks("duplicate_commits", orders.ask(before))

    assert answer.verdict is Verdict.CONFIRMED
    assert repeats(answer) == [(first, again, "same-files")]
    assert "brings the very files of" in answer.headline
    assert "20 rows" in answer.headline


def test_a_checkpoint_once_more_in_other_files_is_found(orders: OrdersTable, asks: Asks) -> None:
    """The same run wrote its checkpoint twice."""
    before = orders.commits("a", 1, range(10))
    first = orders.commits("a", 2, range(10, 20))
    orders.commits("a", 3, range(20, 30))
    again = orders.commits("a", 2, range(10, 20))

    answer = asks("duplicate_commits", orders.ask(before))

    assert repeats(answer) == [(first, again, "same-checkpoint")]


def test_a_job_that_counts_from_1_again_repeats_no_commit(orders: OrdersTable, asks: Asks) -> None:
    """A V1 job started anew under its old id carries ids once more, with other rows of the source."""
    orders.commits("a", 1, range(10))
    before = orders.commits("a", 2, range(10, 20))
    orders.commits("a", 1, range(20, 30))
    orders.commits("a", 2, range(30, 40))

    answer = asks("duplicate_commits", orders.ask(before))

    assert answer.verdict is Verdict.RULED_OUT


@pytest.mark.parametrize(("records", "verdict"), [(10, Verdict.CONFIRMED), (7, Verdict.RULED_OUT)])
def test_without_bounds_the_counters_decide(orders: OrdersTable, asks: Asks, records: int, verdict: Verdict) -> None:
    """A checkpoint id once more with as many files and rows is a repetition, with others it is none."""
    before = orders.commits("a", 2, range(10))
    orders.commits("a", 3, range(10, 20))
    orders.commits("a", 2, range(500, 500 + records))

    answer = asks("duplicate_commits", orders.ask(before, contract=TableContract(key=("order_id",))))

    assert answer.verdict is verdict


def test_batches_of_one_cdc_checkpoint_are_no_repetition(orders: OrdersTable, asks: Asks) -> None:
    """Flink CDC commits a checkpoint in several batches."""
    before = orders.commits("a", 1, range(10))
    orders.commits("a", 2, range(10, 20), summary={"flink.batch-index": "0"})
    orders.commits("a", 2, range(20, 30), summary={"flink.batch-index": "1"})

    answer = asks("duplicate_commits", orders.ask(before, contract=TableContract(key=("order_id",))))

    assert answer.verdict is Verdict.RULED_OUT


def test_a_replay_by_another_run_shows_in_the_source_range(orders: OrdersTable, asks: Asks) -> None:
    """A job restored from an older savepoint writes part of the source again; each replaying commit is told once,
    with the commit of which it repeats most."""
    before = orders.commits("a", 1, range(10))
    second = orders.commits("a", 2, range(10, 20))
    third = orders.commits("a", 3, range(20, 30))
    one = orders.commits("b", 2, range(12, 24))
    two = orders.commits("b", 3, range(24, 40))
    orders.commits("b", 4, range(40, 50))

    answer = asks("duplicate_commits", orders.ask(before))

    assert repeats(answer) == [(second, one, "same-source-range"), (third, two, "same-source-range")]
    assert "2 commits bring again what others had brought (2 a part of the source), 18 rows in all" in answer.headline


def test_the_first_copy_may_lie_below_the_window(orders: OrdersTable, asks: Asks) -> None:
    """A window that begins with the replay still shows what it repeats."""
    first = orders.commits("a", 1, range(10))
    before = orders.commits("a", 2, range(10, 20))
    again = orders.commits("b", 2, range(5))

    answer = asks("duplicate_commits", orders.ask(before))

    assert repeats(answer) == [(first, again, "same-source-range")]


def test_equal_positions_of_other_source_partitions_are_other_records(orders: OrdersTable, asks: Asks) -> None:
    """Positions are compared within a partition of the source."""
    before = orders.commits("a", 1, range(10))
    orders.commits("a", 2, range(10, 20), partition=0)
    orders.commits("b", 3, range(10, 20), partition=1)

    answer = asks("duplicate_commits", orders.ask(before, contract=BY_PARTITION))

    assert answer.verdict is Verdict.RULED_OUT


def test_files_that_mix_partitions_are_compared_by_event_time(orders: OrdersTable, asks: Asks) -> None:
    """Bounds of a file that holds two partitions say nothing of each; half of the time must be the same."""
    before = orders.commits("a", 1, range(10))
    mixed = [rows(range(10, 20), partition=0), rows(range(10, 20), partition=1)]
    first = orders.appends(_together(mixed), of_flink("a", 2))
    again = orders.appends(_together(mixed), of_flink("b", 2))

    answer = asks("duplicate_commits", orders.ask(before, contract=BY_PARTITION))

    assert repeats(answer) == [(first, again, "same-source-range")]


def test_event_times_that_overlap_a_little_are_a_hand_over(orders: OrdersTable, asks: Asks) -> None:
    """Events come out of order: a little overlap between two runs proves nothing."""
    before = orders.commits("a", 1, range(10))
    orders.commits("a", 2, range(10, 30))
    orders.commits("b", 3, range(27, 50))

    answer = asks("duplicate_commits", orders.ask(before, contract=BY_TIME))

    assert answer.verdict is Verdict.RULED_OUT


def test_two_runs_without_comparable_bounds_are_inconclusive(orders: OrdersTable, asks: Asks) -> None:
    """Whether they brought the same is not known, and the answer says what to name."""
    before = orders.commits("a", 1, range(10))
    orders.commits("a", 2, range(10, 20))
    orders.commits("b", 2, range(10, 20))

    answer = asks("duplicate_commits", orders.ask(before, contract=TableContract(key=("order_id",))))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert answer.could_not_look[0].source == "contract.position"


def test_a_cherry_pick_of_what_main_has_is_flagged(orders: OrdersTable, asks: Asks) -> None:
    """The second copy says where it was picked from."""
    before = orders.commits("a", 1, range(10))
    first = orders.commits_files("a", 2, {"two.parquet": range(10, 30)})
    orders.names_again("a", 2, ["two.parquet"], {"source-snapshot-id": str(first)})

    answer = asks("duplicate_commits", orders.ask(before))

    assert isinstance(answer.finding, DuplicateCommitsFinding)
    assert [each.is_cherry_pick for each in answer.finding.repeated] == [True]


def test_what_was_rolled_back_is_not_repeated(orders: OrdersTable, asks: Asks) -> None:
    """After a rewind the next run writes the same part of the source: once on main."""
    before = orders.commits("a", 1, range(10))
    orders.commits("a", 2, range(10, 20))
    orders.rolls_back_to(before)
    orders.commits("b", 2, range(10, 25))

    answer = asks("duplicate_commits", orders.ask(before))

    assert answer.verdict is Verdict.RULED_OUT


def test_a_pick_of_what_was_read_again_is_told_by_the_run_that_had_committed_it(
    orders: OrdersTable, asks: Asks
) -> None:
    """Table and job were rewound together, the next run reads the range again under other keys, and then somebody
    picks the rolled-back commit: a pick carries no job id."""
    before = orders.commits("a", 1, range(10))
    rolled_back = orders.commits("a", 2, range(10, 20), orders=range(100, 110))
    orders.rolls_back_to(before)
    first = orders.commits("b", 2, range(10, 20), orders=range(200, 210))
    picked = orders.appends(rows(range(10, 20), orders=range(100, 110)), {"source-snapshot-id": str(rolled_back)})

    answer = asks("duplicate_commits", orders.ask(before))

    assert repeats(answer) == [(first, picked, "same-source-range")]


def test_what_one_run_read_again_shows_in_the_positions(orders: OrdersTable, asks: Asks) -> None:
    """A V1 job goes back under its old id: what it reads again is held back, and comes merged under a later id."""
    before = orders.commits("a", 1, range(10))
    first = orders.commits("a", 2, range(10, 20), orders=range(100, 110))
    orders.commits("a", 3, [20])
    again = orders.commits("a", 4, range(10, 40), orders=range(200, 230))

    answer = asks("duplicate_commits", orders.ask(before))

    assert repeats(answer) == [(first, again, "same-source-range")]


@pytest.mark.parametrize("contract", [CONTRACT, BY_TIME])
def test_commits_of_one_run_that_only_touch_repeat_nothing(
    orders: OrdersTable, asks: Asks, contract: TableContract
) -> None:
    """One record may make several rows, and a day's events come out of order."""
    before = orders.commits("a", 1, range(10))
    orders.commits("a", 2, range(9, 20), orders=range(100, 111))
    orders.commits("a", 3, range(19, 30), orders=range(200, 211))

    answer = asks("duplicate_commits", orders.ask(before, contract=contract))

    assert answer.verdict is Verdict.RULED_OUT


def test_event_times_of_one_run_prove_nothing(orders: OrdersTable, asks: Asks) -> None:
    """Late events fall among those of the commit before."""
    before = orders.commits("a", 1, range(10))
    orders.commits("a", 2, range(10, 30))
    orders.commits("a", 3, range(12, 28))

    answer = asks("duplicate_commits", orders.ask(before, contract=BY_TIME))

    assert answer.verdict is Verdict.RULED_OUT


def _together(parts: list[pa.Table]) -> pa.Table:
    return pa.concat_tables(parts)


def test_an_empty_commit_hides_nothing(orders: OrdersTable, asks: Asks) -> None:
    """Without rows there is no range to compare: a restored run that waits for its source is no reason to doubt."""
    orders.commits("a", 1, range(10))
    before = orders.commits("a", 2, [])
    orders.commits("b", 3, range(10, 20))
    orders.commits("b", 4, [])

    answer = asks("duplicate_commits", orders.ask(before))

    assert answer.verdict is Verdict.RULED_OUT
