"""A commit that brings what another had brought: by files, checkpoint or source range, in whole or in part."""

from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from bot.domain.contract import TableContract
from bot.domain.evidence import Answer, Verdict
from bot.domain.findings import DuplicateCommitsFinding, DuplicateFilesFinding
from bot.domain.ids import SnapshotId
from bot.domain.looked import NotSeen
from spark_tasks import duplicate_commits
from tests.evidence.conftest import Asks
from tests.merges import MergedTable
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
    assert "repeats the files of" in answer.headline
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
    assert (
        "2 commits repeat rows of earlier commits (2 with the same source range), 18 rows in total" in answer.headline
    )


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


OF_POSITION = "write.metadata.metrics.column.source_position"
NO_TIME = CONTRACT.model_copy(update={"event_time": None})


@pytest.fixture
def unread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that nobody can read."""
    why = NotSeen(source="files", reason="They are of another kind.", remedy="None.")
    monkeypatch.setattr(duplicate_commits, "parts_by_commit", lambda *_asked: why)


@pytest.mark.parametrize("mode", ["none", "counts"])
@pytest.mark.parametrize("run", ["a", "b"])
@pytest.mark.parametrize(
    "contract",
    [
        pytest.param(CONTRACT, id="plain"),
        pytest.param(BY_PARTITION, id="partitions", marks=pytest.mark.slow),
        pytest.param(NO_TIME, id="no time", marks=pytest.mark.long),
    ],
)
def test_a_range_that_came_again_is_read_where_no_bounds_tell(
    orders: OrdersTable, asks: Asks, mode: str, run: str, contract: TableContract
) -> None:
    """The same run, or another one, under new keys, and too little of it for event times to tell."""
    orders.sets({OF_POSITION: mode})
    before = orders.commits("a", 1, range(10))
    orders.commits("a", 2, range(10, 20), orders=range(100, 110))
    first = orders.commits("a", 3, range(20, 60), orders=range(200, 240))
    again = orders.commits(run, 4, range(20, 25), orders=range(300, 305))

    answer = asks("duplicate_commits", orders.ask(before, contract=contract))

    assert answer.verdict is Verdict.CONFIRMED
    assert repeats(answer) == [(first, again, "same-source-range")]
    assert not answer.could_not_look


@pytest.mark.parametrize("metrics", ["none", "full"])
@pytest.mark.parametrize("run", ["a", "b"])
def test_files_of_iceberg_s_own_writer_are_told_as_well(
    session: SparkSession, asks: Asks, tmp_path: Path, metrics: str, run: str
) -> None:
    """With bounds or without: what goes on is acquitted, and what came again is told."""
    table = MergedTable(session, tmp_path, mode="merge-on-read")
    table.sets("write.metadata.metrics.default", metrics)
    before = table.commits("a", 1, 0, 10)
    first = table.commits("a", 2, 10, 60)
    table.commits(run, 3, 60, 70)

    goes_on = asks("duplicate_commits", table.ask(before))
    again = table.commits(run, 4, 10, 15)
    answer = asks("duplicate_commits", table.ask(before))

    assert (goes_on.verdict, goes_on.could_not_look) == (Verdict.RULED_OUT, ())
    assert repeats(answer) == [(first, again, "same-source-range")]


@pytest.mark.parametrize("contract", [CONTRACT, BY_PARTITION], ids=["plain", "partitions"])
def test_commits_that_go_on_are_acquitted_by_their_rows(
    orders: OrdersTable, asks: Asks, contract: TableContract
) -> None:
    """No bounds of any column, two runs, and nothing came again."""
    orders.sets({"write.metadata.metrics.default": "none"})
    before = orders.commits("a", 1, range(10))
    orders.commits("a", 2, range(10, 20), partition=3)
    orders.commits("b", 3, range(20, 30), partition=3)

    answer = asks("duplicate_commits", orders.ask(before, contract=contract))

    assert (answer.verdict, answer.could_not_look) == (Verdict.RULED_OUT, ())


@pytest.mark.parametrize("setting", [OF_POSITION, "write.metadata.metrics.column.source_partition"])
def test_what_was_read_is_held_against_what_bounds_tell(orders: OrdersTable, asks: Asks, setting: str) -> None:
    """The metrics were switched off between two commits: a partition is spelled alike on both sides."""
    before = orders.commits("a", 1, range(10), partition=-7)
    first = orders.commits("a", 2, range(10, 20), partition=-7)
    orders.sets({setting: "none"})
    again = orders.commits("b", 3, range(15, 30), partition=-7, orders=range(100, 115))
    orders.commits("b", 4, range(10, 15), partition=2, orders=range(200, 205))

    answer = asks("duplicate_commits", orders.ask(before, contract=BY_PARTITION))

    assert repeats(answer) == [(first, again, "same-source-range")]


@pytest.mark.parametrize("run", ["a", "b"])
@pytest.mark.usefixtures("unread")
def test_rows_that_cannot_be_read_rule_nothing_out(orders: OrdersTable, asks: Asks, run: str) -> None:
    """It says which commits were not compared, why, and what to do; also where event times do not overlap."""
    orders.sets({OF_POSITION: "none"})
    before = orders.commits("a", 1, range(10))
    orders.commits("a", 2, range(10, 60), orders=range(100, 150))
    head = orders.commits(run, 3, range(55, 70), orders=range(200, 215))

    answer = asks("duplicate_commits", orders.ask(before))

    assert (answer.verdict, answer.finding) == (Verdict.INCONCLUSIVE, None)
    assert "3 commits (" in answer.headline
    assert str(head)[-6:] in answer.headline
    assert "no bounds of source_position" in answer.headline
    assert "write.metadata.metrics.column.source_position" in answer.could_not_look[0].remedy
    assert "replayed_rows" in answer.could_not_look[0].remedy


@pytest.mark.usefixtures("unread")
def test_what_is_proven_otherwise_is_confirmed_beside_it(orders: OrdersTable, asks: Asks) -> None:
    """A checkpoint came twice, and what else did is not known."""
    orders.sets({OF_POSITION: "none"})
    before = orders.commits("a", 1, range(10))
    first = orders.commits("a", 2, range(10, 20))
    again = orders.commits("a", 2, range(10, 20))

    answer = asks("duplicate_commits", orders.ask(before))

    assert repeats(answer) == [(first, again, "same-checkpoint")]
    assert len(answer.could_not_look) == 1
    assert "no bounds of source_position" in answer.headline


@pytest.mark.parametrize("contract", [BY_TIME, TableContract(key=("order_id",))], ids=["time", "none"])
@pytest.mark.usefixtures("unread")
def test_without_a_position_in_the_contract_nothing_is_read(
    orders: OrdersTable, asks: Asks, contract: TableContract
) -> None:
    """A table without positions is not in doubt for that alone."""
    orders.sets({"write.metadata.metrics.default": "none"})
    before = orders.commits("a", 1, range(10))
    orders.commits("a", 2, range(10, 20))

    answer = asks("duplicate_commits", orders.ask(before, contract=contract))

    assert answer.verdict is Verdict.RULED_OUT


@pytest.mark.usefixtures("unread")
def test_a_commit_alone_cannot_repeat_another(orders: OrdersTable, asks: Asks) -> None:
    """Nor does an empty one beside it, or another engine's, which is not compared by its range."""
    orders.sets({OF_POSITION: "none"})
    orders.appends(rows(range(5)))
    orders.commits("a", 1, range(10))
    orders.commits("a", 2, [])

    answer = asks("duplicate_commits", orders.ask(None))

    assert answer.verdict is Verdict.RULED_OUT


def test_a_file_that_is_gone_is_no_acquittal(orders: OrdersTable, asks: Asks) -> None:
    """Nobody can read it any more."""
    orders.sets({OF_POSITION: "none"})
    before = orders.commits("a", 1, range(10))
    orders.commits_files("a", 2, {"two.parquet": range(10, 20)})
    orders.commits("a", 3, range(20, 30))
    (orders.data_folder / "two.parquet").unlink()

    answer = asks("duplicate_commits", orders.ask(before))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert "gone from storage" in answer.headline


@pytest.mark.parametrize("mode", ["none", "counts", "full"])
def test_rows_without_a_position_are_told_and_not_vouched_for(orders: OrdersTable, asks: Asks, mode: str) -> None:
    """They came twice, and nothing of theirs tells it: in files of their own, or among others."""
    orders.sets({OF_POSITION: mode})
    before = orders.commits("a", 1, range(10))
    orders.appends(rows([None] * 5, orders=range(1000, 1005)), of_flink("a", 2))
    orders.appends(rows([None] * 5, orders=range(1000, 1005)), of_flink("a", 3))
    orders.appends(rows([10, None, 11], orders=[10, 1000, 11]), of_flink("b", 4))

    answer = asks("duplicate_commits", orders.ask(before))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert "11 of the window's 13 rows have null in source_position" in answer.headline
    assert isinstance(answer.finding, DuplicateCommitsFinding)
    assert (answer.finding.commits_checked, answer.finding.repeated) == (3, ())


def test_rows_without_a_position_hide_no_repetition(orders: OrdersTable, asks: Asks) -> None:
    """A file of such rows takes nothing away from what the commit's others tell."""
    before = orders.commits("a", 1, range(10))
    first = orders.commits("a", 2, range(10, 20))
    again = orders.commits_files("b", 3, {"placed.parquet": range(12, 18), "bare.parquet": [None]})  # type: ignore[list-item]

    answer = asks("duplicate_commits", orders.ask(before))

    assert repeats(answer) == [(first, again, "same-source-range")]
    assert "1 of the window's 17 rows has null in source_position: whether it repeats another" in answer.headline
    assert len(answer.could_not_look) == 1


def test_older_rows_without_a_position_are_no_doubt(orders: OrdersTable, asks: Asks) -> None:
    """As for missing positions, those of the window count."""
    orders.commits("a", 1, range(10))
    before = orders.appends(rows([None, 10], orders=[1000, 10]), of_flink("a", 2))
    orders.commits("a", 3, range(11, 20))

    answer = asks("duplicate_commits", orders.ask(before))

    assert answer.verdict is Verdict.RULED_OUT


@pytest.mark.parametrize("name", ["customer", "no_such_column"])
def test_a_position_that_cannot_be_compared_is_no_acquittal(orders: OrdersTable, asks: Asks, name: str) -> None:
    """A text, or a column that the table lacks."""
    before = orders.commits("a", 1, range(10))
    orders.commits("a", 2, range(10, 20))

    answer = asks("duplicate_commits", orders.ask(before, contract=CONTRACT.model_copy(update={"position": name})))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert name in answer.headline


def test_a_hidden_position_is_compared_and_not_shown(orders: OrdersTable, asks: Asks) -> None:
    """No answer names a position, so there is nothing to hide."""
    before = orders.commits("a", 1, range(10))
    first = orders.commits("a", 2, range(10, 20))
    again = orders.commits("a", 3, range(10, 15), orders=range(100, 105))
    hidden = CONTRACT.model_copy(update={"redacted": ("source_position",)})

    answer = asks("duplicate_commits", orders.ask(before, contract=hidden))

    assert repeats(answer) == [(first, again, "same-source-range")]


def counts(answer: Answer) -> list[tuple[int, int | None]]:
    """Rows, and rows too many, of each."""
    assert isinstance(answer.finding, DuplicateCommitsFinding)
    return [(each.rows, each.too_many) for each in answer.finding.repeated]


def test_of_a_commit_that_brought_rows_of_its_own_only_the_repeated_ones_are_counted(
    orders: OrdersTable, asks: Asks
) -> None:
    """It names files of two commits beside one that is new; a V1 sink merges what it owes into one commit so."""
    before = orders.commits("a", 1, range(10))
    orders.commits_files("a", 2, {"two.parquet": range(10, 30)})
    first = orders.commits_files("a", 3, {"three.parquet": range(30, 35), "more.parquet": range(35, 40)})
    again = orders.commits_files(
        "a",
        4,
        {
            "two.parquet": range(10, 30),
            "three.parquet": range(30, 35),
            "more.parquet": range(35, 40),
            "own.parquet": range(40, 50),
        },
    )

    answer = asks("duplicate_commits", orders.ask(before))

    assert repeats(answer) == [(first, again, "same-files")]
    assert counts(answer) == [(40, 30)]
    assert answer.headline.endswith(", 30 rows of its 40.")
    assert answer.measures[1].value == 30


@pytest.mark.parametrize(
    ("positions", "counted", "said"),
    [
        (range(10, 20), (10, 10), ", 10 rows."),
        (range(15, 25), (10, 0), ", up to 5 rows of its 10: positions 15 to 19."),
        (range(15, 20), (5, 0), ", up to 5 rows: positions 15 to 19."),
    ],
)
def test_a_checkpoint_in_other_files_came_whole_or_in_doubt(
    orders: OrdersTable, asks: Asks, positions: range, counted: tuple[int, int], said: str
) -> None:
    """As many rows over the same part of the source are surely too many; of others nothing tells which are."""
    before = orders.commits("a", 1, range(10))
    orders.commits("a", 2, range(10, 20))
    orders.commits("a", 2, positions)

    answer = asks("duplicate_commits", orders.ask(before))

    assert counts(answer) == [counted]
    assert answer.headline.endswith(said)


def finding_of(answer: Answer) -> DuplicateFilesFinding:
    """The finding that the answer carries."""
    assert isinstance(answer.finding, DuplicateFilesFinding)
    return answer.finding


def test_a_commit_that_brings_the_very_files_again_is_named(orders: OrdersTable, asks: Asks) -> None:
    """A commit whose answer was lost and that is made once more leaves every row twice."""
    before = orders.commits("a", 1, range(10))
    first = orders.commits_files("a", 2, {"one.parquet": range(10, 30), "two.parquet": range(30, 35)})
    again = orders.names_again("a", 2, ["one.parquet", "two.parquet"])

    answer = asks("duplicate_files", orders.ask(before))

    found = finding_of(answer)
    assert answer.verdict is Verdict.CONFIRMED
    assert (found.files_checked, found.count, found.extra_rows, found.again) == (2, 2, 25, (again,))
    assert [(file.path.rsplit("/", 1)[-1], file.rows, file.snapshots) for file in found.files] == [
        ("one.parquet", 20, (first, again)),
        ("two.parquet", 5, (first, again)),
    ]
    assert len(orders.live()) == 10 + 2 * 25


def test_a_file_of_which_the_first_copy_lies_below_the_window_is_found(orders: OrdersTable, asks: Asks) -> None:
    """Only the repetition need be in the window."""
    first = orders.commits_files("a", 1, {"one.parquet": range(10)})
    before = orders.commits("a", 2, range(10, 20))
    again = orders.names_again("a", 3, ["one.parquet"])

    answer = asks("duplicate_files", orders.ask(before))

    assert finding_of(answer).files[0].snapshots == (first, again)
    assert "1 data file is live more than once, 10 rows too many" in answer.headline


def test_a_path_twice_within_one_commit_counts(orders: OrdersTable, asks: Asks) -> None:
    """One commit can name a file twice, too."""
    before = orders.commits("a", 1, range(10))
    twice = orders.commits_files("a", 2, {"one.parquet": range(10, 20)}, times=2)

    answer = asks("duplicate_files", orders.ask(before))

    assert answer.verdict is Verdict.CONFIRMED
    assert finding_of(answer).files[0].snapshots == (twice, twice)
    assert finding_of(answer).again == (twice,)


def test_a_repetition_that_was_rolled_back_is_no_longer_live(orders: OrdersTable, asks: Asks) -> None:
    """What main does not hold does no harm."""
    before = orders.commits("a", 1, range(10))
    first = orders.commits_files("a", 2, {"one.parquet": range(10, 20)})
    orders.names_again("a", 2, ["one.parquet"])
    orders.rolls_back_to(first)

    answer = asks("duplicate_files", orders.ask(before))

    assert answer.verdict is Verdict.RULED_OUT
    assert finding_of(answer).files_checked == 1


def test_equal_rows_in_other_files_are_not_equal_files(orders: OrdersTable, asks: Asks) -> None:
    """A replay writes new files: that is for `duplicate_rows` to say."""
    before = orders.commits("a", 1, range(10))
    orders.commits("a", 2, range(10, 20))
    orders.commits("b", 2, range(10, 20))

    answer = asks("duplicate_files", orders.ask(before))

    assert answer.verdict is Verdict.RULED_OUT
    assert answer.headline == "Each of 2 data files that the window added is live once."


def test_an_empty_window_has_nothing_to_repeat(orders: OrdersTable, asks: Asks) -> None:
    """Without commits nothing is read and nothing is found."""
    head = orders.commits("a", 1, range(10))

    answer = asks("duplicate_files", orders.ask(head))

    assert answer.verdict is Verdict.RULED_OUT
    assert answer.headline.startswith("No commit in the window")


def test_a_window_whose_end_has_expired_is_inconclusive(orders: OrdersTable, asks: Asks) -> None:
    """Nothing is concluded from what cannot be read."""
    before = orders.commits("a", 1, range(10))
    ask = orders.ask(before)
    gone = ask.model_copy(update={"window": ask.window.model_copy(update={"until": 4711})})

    answer = asks("duplicate_files", gone)

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert "4711" in answer.could_not_look[0].source
