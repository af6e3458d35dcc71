"""A commit that brings what another had brought: by files, checkpoint or source range, in whole or in part."""

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from bot.observation.contract import TableContract
from bot.observation.evidence import Answer, Verdict
from bot.observation.findings import CommitRanges, DuplicateCommitsFinding, RepeatedCommit
from bot.observation.ids import SnapshotId
from bot.observation.ledger import SourceRange
from bot.observation.looked import NotSeen
from spark_tasks import duplicate_commits
from spark_tasks._support import coverage
from tests.evidence.conftest import Asks
from tests.evidence.histories import table_of, write
from tests.merges import MergedTable
from tests.tables import CONTRACT, OrdersTable, of_flink, rows

BY_PARTITION = CONTRACT.model_copy(update={"position_partition": "source_partition"})
BY_TIME = TableContract(key=("order_id",), event_time="event_time")
BY_KEY = TableContract(key=("order_id",))
HIDDEN = CONTRACT.model_copy(update={"redacted": ("source_position",)})
FILES, CHECKPOINT, RANGE = "same-files", "same-checkpoint", "same-source-range"
OF_POSITION = "write.metadata.metrics.column.source_position"


def repeats(answer: Answer) -> list[tuple[SnapshotId, SnapshotId, str]]:
    """First, again and proof of each."""
    return [(each.first, each.again, each.how) for each in answer.finding.repeated]


def only(answer: Answer) -> RepeatedCommit:
    """The one repeating commit."""
    [found] = answer.finding.repeated
    return found


REPEATS: Mapping[str, tuple[str, TableContract, list[tuple[int, int, str]]]] = {
    "another run goes on from where the first stopped": ("a1[0:10] | a2[10:20] b3[20:30]", CONTRACT, []),
    "a run writes its checkpoint twice": ("a1[0:10] | a2[10:20] a3[20:30] a2[10:20]", CONTRACT, [(1, 3, CHECKPOINT)]),
    "a V1 job under its old id counts from 1 again": ("a1[0:10] a2[10:20] | a1[20:30] a2[30:40]", CONTRACT, []),
    "no bounds, one id, as many rows": ("a2[0:10] | a3[10:20] a2[500:510]", BY_KEY, [(0, 2, CHECKPOINT)]),
    "no bounds, one id, fewer rows": ("a2[0:10] | a3[10:20] a2[500:507]", BY_KEY, []),
    "the first copy lies below the window": ("a1[0:10] a2[10:20] | b2[0:5]", CONTRACT, [(0, 2, RANGE)]),
    "positions of other source partitions": ("a1[0:10] | a2[10:20]p0 b3[10:20]p1", BY_PARTITION, []),
    "event times overlap a little: they come out of order": ("a1[0:10] | a2[10:30] b3[27:50]", BY_TIME, []),
    "late events of one run prove nothing": ("a1[0:10] | a2[10:30] a3[12:28]", BY_TIME, []),
    "what was rolled back is on main once": ("a1[0:10] | a2[10:20] back b2[10:25]", CONTRACT, []),
    "a V1 job went back under its old id, and merges under a later one what it held back": (
        "a1[0:10] | a2[10:20]k100 a3[20] a4[10:40]k200", CONTRACT, [(1, 3, RANGE)],
    ),
    "one record may make several rows: one run touches": ("a1[0:10] | a2[9:20]k100 a3[19:30]k200", CONTRACT, []),
    "one run touches, in event times": ("a1[0:10] | a2[9:20]k100 a3[19:30]k200", BY_TIME, []),
    "a restored run waits for its source: empty commits": ("a1[0:10] a2[] | b3[10:20] b4[]", CONTRACT, []),
    "one run, in two partitions that the contract does not name": (
        "a1[0,1000] | a2[1002,2] a3[1003,3] a4[1004] a5[1005,5]", CONTRACT, [],
    ),
    "older rows without a position": ("a1[0:10] a2[-,10]k1000 | a3[11:20]", CONTRACT, []),
}  # fmt: skip


@pytest.mark.parametrize(("line", "contract", "expected"), REPEATS.values(), ids=REPEATS)
def test_which_commits_repeat_others(
    orders: OrdersTable, judges: Asks, line: str, contract: TableContract, expected: list[tuple[int, int, str]]
) -> None:
    """(First, again, proof) of each; numbers count the commits of the line."""
    history = write(orders, line)

    answer = judges("duplicate_commits", orders.ask(history.before, contract=contract))

    assert answer.verdict is (Verdict.CONFIRMED if expected else Verdict.RULED_OUT)
    place = history.commits.index
    assert [(place(first), place(again), how) for first, again, how in repeats(answer)] == expected


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("a1[0:10] | a2[20:30] b1[10:20,30:40]", id="a run skips what another had brought"),
        pytest.param(
            "a1[0:10,1000:1010] | a2[10:20,1010:1020] b3[20:30,1020:1030] b4[500:510]",
            id="two runs, each in two partitions that the contract does not name",
        ),
    ],
)
def test_where_ranges_overlap_and_no_position_came_again_rows_tell(orders: OrdersTable, asks: Asks, line: str) -> None:
    """A run reaches over what lies between."""
    before, _ = write(orders, line)

    assert asks("duplicate_commits", orders.ask(before)).verdict is Verdict.RULED_OUT


def test_each_replaying_commit_is_told_once_with_that_of_which_it_repeats_most(
    orders: OrdersTable, judges: Asks
) -> None:
    """A job restored from an older savepoint writes part of the source again."""
    before, [_, second, third, one, two, _] = write(
        orders, "a1[0:10] | a2[10:20] a3[20:30] b2[12:24] b3[24:40] b4[40:50]"
    )

    answer = judges("duplicate_commits", orders.ask(before))

    assert repeats(answer) == [(second, one, RANGE), (third, two, RANGE)]
    assert (
        "2 commits repeat rows of earlier commits (2 with the same source range), 18 rows in total" in answer.headline
    )


Parts = Mapping[str, tuple[str, TableContract, str]]
BY_BOUNDS: Parts = {
    "a run began too low and went on: two commits of another hold what it brought again": (
        "a1[0:10] | a2[10:20] a3[20:35] b3[15:100]", CONTRACT, ", 20 rows of its 85.",
    ),
    "a hidden position is compared and counted": ("a1[0:10] | a2[10:20] b2[15:30]", HIDDEN, ", 5 rows of its 15."),
    "a checkpoint in other files over the same range surely came whole": (
        "a1[0:10] | a2[10:20] a2[10:20]", CONTRACT, ", 10 rows.",
    ),
    "a checkpoint in other files over another range": (
        "a1[0:10] | a2[10:20] a2[15:25]", CONTRACT, ", up to 5 rows of its 10.",
    ),
    "a checkpoint in other files with fewer rows": ("a1[0:10] | a2[10:20] a2[15:20]", CONTRACT, ", up to 5 rows."),
}  # fmt: skip
BY_ROWS: Parts = {
    "one of two partitions of each file came again in part": (
        "a1[0:10] | a2[10:20]p0[100:120]p1 b2[16:30]p0[120:140]p1", BY_PARTITION, ", 4 rows of its 34.",
    ),
    "both partitions of each file": (
        "a1[0:10] | a2[10:20]p0[10:20]p1 b2[10:20]p0[10:20]p1", BY_PARTITION, ", 20 rows.",
    ),
    "rows without a partition are no part of the one beside them, which alone the file's bounds name": (
        "a1[0:10] | a2[10:20]p1 b2[10]p1[11:20]p-", BY_PARTITION, ", 1 row of its 10.",
    ),
    "the job filters: bounds do not tell how many rows came again": (
        "a1[0:100:10] | a2[100:200:10] b2[150:400:5]k1000", CONTRACT, ", 5 rows of its 50.",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("line", "contract", "said"), BY_BOUNDS.values(), ids=BY_BOUNDS)
def test_what_lies_beside_the_repeated_positions_is_there_once(
    orders: OrdersTable, judges: Asks, line: str, contract: TableContract, said: str
) -> None:
    """So the answer says how many of the commit's rows stand at positions that came again."""
    answer = judges("duplicate_commits", orders.ask(write(orders, line).before, contract=contract))

    assert answer.headline.endswith(said)
    assert answer.measures[1].value == only(answer).rows_again


@pytest.mark.parametrize(("line", "contract", "said"), BY_ROWS.values(), ids=BY_ROWS)
def test_where_bounds_do_not_tell_it_rows_are_read(
    orders: OrdersTable, asks: Asks, line: str, contract: TableContract, said: str
) -> None:
    """Of commits whose ranges overlap."""
    answer = asks("duplicate_commits", orders.ask(write(orders, line).before, contract=contract))

    assert answer.headline.endswith(said)


def test_the_very_files_once_more_are_the_strongest_proof(orders: OrdersTable, judges: Asks) -> None:
    """The answer to a commit was lost and it was made again: same files, same checkpoint. A pick says so."""
    before = orders.commits("a", 1, range(10))
    first = orders.commits_files("a", 2, {"two.parquet": range(10, 30)})
    again = orders.names_again("a", 2, ["two.parquet"])
    picked = orders.names_again("a", 2, ["two.parquet"], {"source-snapshot-id": str(first)})

    answer = judges("duplicate_commits", orders.ask(before))

    assert repeats(answer) == [(first, again, FILES), (first, picked, FILES)]
    assert [each.is_cherry_pick for each in answer.finding.repeated] == [False, True]
    assert "2 with the same files" in answer.headline


def test_of_a_commit_that_brought_rows_of_its_own_only_the_repeated_ones_are_counted(
    orders: OrdersTable, judges: Asks
) -> None:
    """It names files of two commits beside one that is new; a V1 sink merges what it owes into one commit so."""
    before = orders.commits("a", 1, range(10))
    orders.commits_files("a", 2, two := {"two.parquet": range(10, 30)})
    first = orders.commits_files("a", 3, three := {"three.parquet": range(30, 35), "more.parquet": range(35, 40)})
    again = orders.commits_files("a", 4, {**two, **three, "own.parquet": range(40, 50)})

    answer = judges("duplicate_commits", orders.ask(before))

    assert repeats(answer) == [(first, again, FILES)]
    assert (only(answer).rows, only(answer).too_many) == (40, 30)
    assert answer.headline.endswith(", 30 rows of its 40.")
    assert answer.measures[1].value == 30


def test_batches_of_one_cdc_checkpoint_are_no_repetition(orders: OrdersTable, judges: Asks) -> None:
    """Flink CDC commits a checkpoint in several batches."""
    before = orders.commits("a", 1, range(10))
    orders.commits("a", 2, range(10, 20), summary={"flink.batch-index": "0"})
    orders.commits("a", 2, range(20, 30), summary={"flink.batch-index": "1"})

    answer = judges("duplicate_commits", orders.ask(before, contract=BY_KEY))

    assert answer.verdict is Verdict.RULED_OUT


def test_a_pick_of_what_was_read_again_is_told_by_the_run_that_had_committed_it(
    orders: OrdersTable, judges: Asks
) -> None:
    """Table and job were rewound together, the next run reads the range again under other keys, and then somebody
    picks the rolled-back commit: a pick carries no job id."""
    before, [_, rolled_back, first] = write(orders, "a1[0:10] | a2[10:20]k100 back b2[10:20]k200")
    picked = orders.appends(table_of("[10:20]k100"), {"source-snapshot-id": str(rolled_back)})

    answer = judges("duplicate_commits", orders.ask(before))

    assert repeats(answer) == [(first, picked, RANGE)]


@pytest.fixture
def unread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that nobody can read."""
    why = NotSeen(source="files", reason="They are of another kind.", remedy="None.")
    monkeypatch.setattr(duplicate_commits, "parts_by_commit", lambda *_asked: why)


@pytest.mark.parametrize(
    ("mode", "run", "contract"),
    [
        pytest.param("none", "a", CONTRACT, id="one run"),
        pytest.param("counts", "b", CONTRACT, id="two runs"),
        pytest.param("none", "b", BY_PARTITION, id="partitions", marks=pytest.mark.slow),
        pytest.param("counts", "a", BY_KEY.model_copy(update={"position": CONTRACT.position}), id="no event time"),
    ],
)
def test_a_range_that_came_again_is_read_where_no_bounds_tell(
    orders: OrdersTable, asks: Asks, mode: str, run: str, contract: TableContract
) -> None:
    """The same run, or another one, under new keys, and too little of it for event times to tell."""
    orders.sets({OF_POSITION: mode})
    line = f"a1[0:10] | a2[10:20]k100 a3[20:60]k200 {run}4[20:25]k300"
    before, [*_, first, again] = write(orders, line)

    answer = asks("duplicate_commits", orders.ask(before, contract=contract))

    assert answer.verdict is Verdict.CONFIRMED
    assert repeats(answer) == [(first, again, RANGE)]
    assert not answer.could_not_look


@pytest.mark.parametrize(("metrics", "run"), [("none", "b"), ("full", "a")])
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
    assert repeats(answer) == [(first, again, RANGE)]


@pytest.mark.parametrize("contract", [CONTRACT, BY_PARTITION], ids=["plain", "partitions"])
def test_commits_that_go_on_are_acquitted_by_their_rows(
    orders: OrdersTable, asks: Asks, contract: TableContract
) -> None:
    """No bounds of any column, two runs, and nothing came again."""
    orders.sets({"write.metadata.metrics.default": "none"})
    before, _ = write(orders, "a1[0:10] | a2[10:20]p3 b3[20:30]p3")

    answer = asks("duplicate_commits", orders.ask(before, contract=contract))

    assert (answer.verdict, answer.could_not_look) == (Verdict.RULED_OUT, ())


@pytest.mark.parametrize("setting", [OF_POSITION, "write.metadata.metrics.column.source_partition"])
def test_what_was_read_is_held_against_what_bounds_tell(orders: OrdersTable, asks: Asks, setting: str) -> None:
    """The metrics were switched off between two commits: a partition is spelled alike on both sides."""
    before, [_, first] = write(orders, "a1[0:10]p-7 | a2[10:20]p-7")
    orders.sets({setting: "none"})
    _, [again, _] = write(orders, "b3[15:30]p-7k100 b4[10:15]p2k200")

    answer = asks("duplicate_commits", orders.ask(before, contract=BY_PARTITION))

    assert repeats(answer) == [(first, again, RANGE)]


@pytest.mark.parametrize("run", ["a", "b"])
@pytest.mark.usefixtures("unread")
def test_rows_that_cannot_be_read_rule_nothing_out(orders: OrdersTable, judges: Asks, run: str) -> None:
    """It says which commits were not compared, why, and what to do; also where event times do not overlap."""
    orders.sets({OF_POSITION: "none"})
    before, [*_, head] = write(orders, f"a1[0:10] | a2[10:60]k100 {run}3[55:70]k200")

    answer = judges("duplicate_commits", orders.ask(before))

    assert (answer.verdict, answer.finding) == (Verdict.INCONCLUSIVE, None)
    assert "3 commits (" in answer.headline
    assert str(head)[-6:] in answer.headline
    assert "no bounds of source_position" in answer.headline
    assert "write.metadata.metrics.column.source_position" in answer.could_not_look[0].remedy
    assert "replayed_rows" in answer.could_not_look[0].remedy


@pytest.mark.parametrize("run", ["a", "b"])
@pytest.mark.usefixtures("unread")
def test_files_of_several_partitions_that_cannot_be_read_rule_nothing_out(
    orders: OrdersTable, judges: Asks, run: str
) -> None:
    """Also where two runs' event times do not overlap by half. What whole commits tell is told still."""
    before, _ = write(orders, f"a1[0:10] | a2[10:20]p0[100:110]p1 {run}3[105:130]p0[110:130]p1")

    answer = judges("duplicate_commits", orders.ask(before, contract=BY_PARTITION))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert (answer.finding.commits_checked, answer.finding.repeated) == (2, ())
    assert [each.ranges is not None for each in answer.finding.ranges or ()] == [True, False, False]
    assert "bring several source partitions in one file" in answer.headline
    assert "replayed_rows" in answer.could_not_look[0].remedy


@pytest.mark.usefixtures("unread")
def test_what_is_proven_otherwise_is_confirmed_beside_it(orders: OrdersTable, judges: Asks) -> None:
    """A checkpoint came twice, and what else did is not known."""
    orders.sets({OF_POSITION: "none"})
    before, [_, first, again] = write(orders, "a1[0:10] | a2[10:20] a2[10:20]")

    answer = judges("duplicate_commits", orders.ask(before))

    assert repeats(answer) == [(first, again, CHECKPOINT)]
    assert len(answer.could_not_look) == 1
    assert "no bounds of source_position" in answer.headline


@pytest.mark.parametrize(
    ("line", "contract"),
    [
        pytest.param("a1[0:10] | a2[10:20]", BY_TIME, id="no position, but a time: no doubt for that alone"),
        pytest.param("a1[0:10] | a2[10:20]", BY_KEY, id="neither"),
        pytest.param("+[0:5] a1[0:10] a2[]", CONTRACT, id="one commit, an empty one and one by another engine"),
    ],
)
@pytest.mark.usefixtures("unread")
def test_nothing_is_read_where_no_rows_are_to_be_compared(
    orders: OrdersTable, judges: Asks, line: str, contract: TableContract
) -> None:
    """A commit alone cannot repeat another; without a position in the contract rows tell nothing."""
    orders.sets({"write.metadata.metrics.default": "none"})
    before, _ = write(orders, line)

    answer = judges("duplicate_commits", orders.ask(before, contract=contract))

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
    before, _ = write(orders, "a1[0:10] | a2[-,-,-,-,-]k1000 a3[-,-,-,-,-]k1000 b4[10,-,11]k[10,1000,11]")

    answer = asks("duplicate_commits", orders.ask(before))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert "11 of the window's 13 rows have null in source_position" in answer.headline
    assert (answer.finding.commits_checked, answer.finding.repeated) == (3, ())


def test_rows_without_a_position_hide_no_repetition(orders: OrdersTable, judges: Asks) -> None:
    """A file of such rows takes nothing away from what the commit's others tell."""
    before, [_, first] = write(orders, "a1[0:10] | a2[10:20]")
    again = orders.commits_files("b", 3, {"placed.parquet": range(12, 18), "bare.parquet": [None]})  # type: ignore[list-item]

    answer = judges("duplicate_commits", orders.ask(before))

    assert repeats(answer) == [(first, again, RANGE)]
    assert "1 of the window's 17 rows has null in source_position: whether it repeats another" in answer.headline
    assert len(answer.could_not_look) == 1


@pytest.mark.parametrize(
    ("contract", "said"),
    [
        (CONTRACT.model_copy(update={"position": "customer"}), "Column customer holds string"),
        (CONTRACT.model_copy(update={"position": "no_such_column"}), "no_such_column"),
        (BY_KEY, "no comparable bounds of a position or event time"),
    ],
    ids=["a text", "no column", "two runs, and nothing to compare"],
)
def test_positions_that_cannot_be_compared_are_no_acquittal(
    orders: OrdersTable, judges: Asks, contract: TableContract, said: str
) -> None:
    """Whether they brought the same is not known, and the answer says what to name."""
    before, _ = write(orders, "a1[0:10] | a2[10:20] b3[20:30]")

    answer = judges("duplicate_commits", orders.ask(before, contract=contract))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert said in answer.headline


def test_more_rows_than_are_read_are_no_more_than_that(
    orders: OrdersTable, judges: Asks, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then all that the commit brought are as many as it can be."""
    monkeypatch.setattr(coverage, "MAX_FILES", 1)
    before, _ = write(orders, "a1[0:100:10] | a2[100:200:10] b2[150:400:5]k1000")

    answer = judges("duplicate_commits", orders.ask(before))

    assert (only(answer).rows_again, only(answer).is_at_most) == (50, True)
    assert answer.headline.endswith(", up to 50 rows.")


def of_shops(positions: range, shops: list[int], kind: pa.DataType) -> pa.Table:
    """Rows with these whole numbers as source partition."""
    made = rows(positions)
    return made.set_column(made.schema.get_field_index("source_partition"), "source_partition", pa.array(shops, kind))


@pytest.mark.parametrize("run", ["a", "b"])
def test_a_source_partition_that_was_widened_is_the_same_one(orders: OrdersTable, judges: Asks, run: str) -> None:
    """Bounds of older files keep it in four bytes, those of newer ones in eight."""
    before, [_, first] = write(orders, "a1[0:10] | a2[10:20]p3k100")
    orders.widens_column("source_partition")
    again = orders.appends(of_shops(range(10, 15), [3] * 5, pa.int64()), of_flink(run, 3))
    orders.appends(of_shops(range(20, 25), [3] * 5, pa.int64()), of_flink(run, 4))

    answer = judges("duplicate_commits", orders.ask(before, contract=BY_PARTITION))

    assert repeats(answer) == [(first, again, RANGE)]


def test_what_one_run_read_again_shows_in_files_of_several_partitions(orders: OrdersTable, asks: Asks) -> None:
    """Their bounds tell nothing of each partition, so the rows are read: the job goes back, and goes on."""
    before, [_, first, _] = write(orders, "a1[0:10] | a2[10:20]p0[100:110]p1 a3[20:30]p0[110:120]p1")
    calm = asks("duplicate_commits", orders.ask(before, contract=BY_PARTITION))
    _, [again] = write(orders, "a4[10:15]p0[120:130]p1")

    answer = asks("duplicate_commits", orders.ask(before, contract=BY_PARTITION))

    assert (calm.verdict, calm.could_not_look) == (Verdict.RULED_OUT, ())
    assert repeats(answer) == [(first, again, RANGE)]
    assert only(answer).rows_again == 5


def test_each_commit_tells_what_it_brought_though_its_files_mix_source_partitions(
    orders: OrdersTable, asks: Asks, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two writers read three partitions. Of what another engine wrote nobody reads the rows: it tells nothing, and not
    that it brought nothing."""
    below, [_, uneven, silent, others] = write(
        orders, "a1[0:5]p2 | a2[5,6,9]p0[100:110]p1[5]p2 a3[110:120]p1[6:10]p2 +[10:12]p0[120]p1"
    )
    hidden = BY_PARTITION.model_copy(update={"redacted": ("source_position",)})

    finding = asks("duplicate_commits", orders.ask(below, contract=BY_PARTITION)).finding
    unseen = asks("duplicate_commits", orders.ask(below, contract=hidden)).finding
    monkeypatch.setattr(duplicate_commits, "MOST_COMMIT_RANGES", 5)
    cut = asks("duplicate_commits", orders.ask(below, contract=BY_PARTITION)).finding

    def part(partition: int, low: int, high: int, rows_there: int) -> SourceRange:
        return SourceRange(partition=str(partition), low=low, high=high, rows=rows_there)

    assert finding.ranges == (
        CommitRanges(snapshot_id=below or 0, ranges=(part(2, 0, 4, 5),)),
        CommitRanges(snapshot_id=uneven, ranges=(part(0, 5, 9, 3), part(1, 100, 109, 10), part(2, 5, 5, 1))),
        CommitRanges(snapshot_id=silent, ranges=(part(1, 110, 119, 10), part(2, 6, 9, 4))),
        CommitRanges(snapshot_id=others, ranges=None),
    )
    assert DuplicateCommitsFinding.model_validate_json(finding.model_dump_json()) == finding
    assert "ranges" not in DuplicateCommitsFinding(commits_checked=1, repeated=()).model_dump()
    assert (cut.ranges, unseen.ranges) == (None, None)


def test_a_commit_that_brings_the_very_files_again_is_named(orders: OrdersTable, asks: Asks) -> None:
    """A commit whose answer was lost and that is made once more leaves every row twice. The first copy may lie below
    the window, or in the same commit."""
    old = orders.commits_files("a", 1, {"old.parquet": range(10)})
    before = orders.commits("a", 2, range(10, 20))
    first = orders.commits_files("a", 3, {"one.parquet": range(20, 40), "two.parquet": range(40, 45)})
    again = orders.names_again("a", 3, ["one.parquet", "two.parquet", "old.parquet"])
    twice = orders.commits_files("a", 4, {"double.parquet": range(50, 51)}, times=2)

    answer = asks("duplicate_files", orders.ask(before))

    found = answer.finding
    assert answer.verdict is Verdict.CONFIRMED
    assert (found.files_checked, found.count, found.extra_rows, found.again) == (4, 4, 36, (again, twice))
    assert {file.path.rsplit("/", 1)[-1]: (file.rows, file.snapshots) for file in found.files} == {
        "one.parquet": (20, (first, again)),
        "two.parquet": (5, (first, again)),
        "old.parquet": (10, (old, again)),
        "double.parquet": (1, (twice, twice)),
    }
    assert "4 data files are live more than once, 36 rows too many" in answer.headline


def test_a_repetition_that_was_rolled_back_is_no_longer_live(orders: OrdersTable, asks: Asks) -> None:
    """What main does not hold does no harm. Equal rows in other files are for `duplicate_rows` to say."""
    before = orders.commits("a", 1, range(10))
    first = orders.commits_files("a", 2, {"one.parquet": range(10, 20)})
    orders.names_again("a", 2, ["one.parquet"])
    orders.rolls_back_to(first)
    orders.commits("b", 2, range(10, 20))

    answer = asks("duplicate_files", orders.ask(before))

    assert answer.verdict is Verdict.RULED_OUT
    assert answer.finding.files_checked == 2
    assert answer.headline == "Each of 2 data files that the window added is live once."


def test_an_empty_window_has_nothing_to_repeat_and_one_whose_end_has_expired_is_inconclusive(
    orders: OrdersTable, judges: Asks
) -> None:
    """Without commits nothing is read and nothing is found; nothing is concluded from what cannot be read."""
    ask = orders.ask(orders.commits("a", 1, range(10)))
    gone = ask.model_copy(update={"window": ask.window.model_copy(update={"until": 4711})})

    empty, expired = (judges("duplicate_files", each) for each in (ask, gone))

    assert empty.verdict is Verdict.RULED_OUT
    assert empty.headline.startswith("No commit in the window")
    assert expired.verdict is Verdict.INCONCLUSIVE
    assert "4711" in expired.could_not_look[0].source
