"""Missing source positions are counted exactly: around the window, at its edges, and of each source partition."""

import random
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from bot.history import skipped_checkpoints
from bot.observation.contract import TableContract
from bot.observation.evidence import Verdict
from bot.observation.findings import PositionGap
from bot.observation.ids import SnapshotId
from bot.observation.kafka import KafkaPartition
from bot.observation.listed import Mark, highest_of, marks_of
from bot.observation.looked import NotSeen, Seen
from bot.observation.table import Snapshot
from tests.adapters.test_iceberg_history import commit, histories, packed_from, state
from tests.evidence.conftest import Asks
from tests.evidence.histories import write
from tests.evidence.restore_points import stored
from tests.evidence.test_recovery_extent import reading_on
from tests.tables import CONTRACT, OrdersTable, job, observing, of_flink, rows
from tests.upserts import upserts

BY_PARTITION = CONTRACT.model_copy(update={"position_partition": "source_partition"})


WITHOUT_KEY = TableContract(position="source_position")
HOLES: Mapping[str, tuple[str, TableContract, list[tuple[int, int, str | None]], str]] = {
    "at the edge, of what was rolled back": (
        "a1[0:100] | a2[100:160] a3[160:200] back a4[203:250]", CONTRACT, [(100, 202, None)],
        "103 positions are missing: 100 to 202; 100 of them were in 2 commits that were",
    ),
    "main went back to a first commit without rows: nothing live lies below": (
        "+[] a1[0:10] a2[10:20] a3[20:30] back0 a4[33:40]", CONTRACT, [(0, 32, None)],
        "33 positions are missing: 0 to 32; 30 of them were in 3 commits that were",
    ),
    "the first rows of a source partition were rolled back; another one's say nothing of it": (
        "a1[0:20] a2[100:110]p1 back0 a3[110:120]p1", BY_PARTITION, [(100, 109, "1")], "",
    ),
    "each source partition by itself": (
        "+[0:100] | +[5000:5010]p1 +[100:110,115:120] +[5013]p1", BY_PARTITION,
        [(110, 114, "0"), (5010, 5012, "1")], "8 positions are missing",
    ),
    "another engine deleted the rows": ("a1[0:100] | a2[100:200] drop[150:160]", CONTRACT, [(150, 159, None)], ""),
    "a partition is compared from where it stood, many commits below the window": (
        "+[0:10]p1k900 +[0:10] +[10:20] +[20:30] | +[30:40] +[11]p1k910", BY_PARTITION, [(10, 10, "1")], "",
    ),
    "and far below its lowest position there": (
        "+[0:10]p1k900 +[0:10] +[10:20] +[20:30] | +[30:40] +[20010]p1k910", BY_PARTITION, [(10, 20_009, "1")], "",
    ),
    "another partition has these positions of its own: only the contract tells them apart": (
        "+[0:150] | +[130:170]p1k5000 +[160:200]", BY_PARTITION, [(150, 159, "0")], "",
    ),
    "older rows of another partition, which is far ahead and quiet, have them": (
        "+[0:300]p1k5000 +[0:100] | +[100:150,160:200]", BY_PARTITION, [(150, 159, "0")], "",
    ),
    "rows without a position are named beside it": (
        "a1[0:10] | +[10,13,-]k[10,13,14]", CONTRACT, [(11, 12, None)], "1 of the window's 3 rows has null there",
    ),
    "a partition from nowhere is named beside it": (
        "+[0:50] | +[55:60] +[7:20]p1k900", BY_PARTITION, [(50, 54, "0")], "source partition 1",
    ),
    "a partition that is silent in the window is named beside it": (
        "a1[0:10]p0[0:30]p1k900 | a2[15:20]", BY_PARTITION, [(10, 14, "0")], "source partition 1 (last 29)",
    ),
    "only another branch has them, which nobody reads": (
        "a1[0:10] | a2[20:30]", CONTRACT, [(10, 19, None)], "",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("line", "contract", "gaps", "said"), HOLES.values(), ids=HOLES)
def test_positions_that_are_missing_are_named(
    orders: OrdersTable,
    asks: Asks,
    line: str,
    contract: TableContract,
    gaps: list[tuple[int, int, str | None]],
    said: str,
) -> None:
    """First, last and partition of each gap; exactly so many are counted, whatever could not be seen beside them."""
    before, _ = write(orders, line)
    orders.branches_off("audit", orders.head)
    orders.appends(rows(range(30_000)), of_flink("x", 99), branch="audit")

    answer = asks("missing_positions", orders.ask(before, contract=contract))

    assert answer.verdict is Verdict.CONFIRMED
    assert [(gap.first, gap.last, gap.partition) for gap in answer.finding.gaps] == gaps
    assert answer.finding.missing == sum(last - first + 1 for first, last, _ in gaps)
    assert said in " ".join((answer.headline, *(each.source + each.reason for each in answer.could_not_look)))


WHOLE: Mapping[str, tuple[str, TableContract, dict[str, int], str]] = {
    "the window goes on where the table stood; copies do not disturb it": (
        "a1[0:100] a2[100:200] | a3[200:300] b3[250:330]", CONTRACT,
        {"lowest": 200, "highest": 329, "positions": 130}, "No position is missing",
    ),
    "a paired rewind wrote the rolled-back positions again; the job has yet to come to the last": (
        "a1[0:100] | a2[100:200] back b2[100:120]", CONTRACT, {"positions": 20},
        "80 positions above it are not in the table yet: they were in 1 commit that",
    ),
    "a hole below the window belongs to an earlier incident": (
        "a1[0:100] a2[120:200] | a3[200:300]", CONTRACT, {"lowest": 200}, "",
    ),
    "a window that only deleted": (
        "a1[0:100] a2[100:200] | drop[100:200]", CONTRACT, {"positions": 0},
        "The window's commits added no row, so no position can be missing from it.",
    ),
    "a partition that comes from nowhere begins with 0": (
        "+[0:50] | +[50:60] +[0:20]p1k900", BY_PARTITION, {}, "",
    ),
    "the table begins with a later position, and no more is claimed": (
        "a1[500:520]", CONTRACT, {},
        "No position is missing from 500, with which the table begins, up to the highest live one, 519.",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("line", "contract", "expected", "said"), WHOLE.values(), ids=WHOLE)
def test_where_nothing_is_missing(
    orders: OrdersTable, asks: Asks, line: str, contract: TableContract, expected: dict[str, int], said: str
) -> None:
    """Positions follow each other across the window's edge."""
    answer = asks("missing_positions", orders.ask(write(orders, line).before, contract=contract))

    assert answer.verdict is Verdict.RULED_OUT
    assert (answer.finding.missing, answer.finding.gaps) == (0, ())
    assert {name: getattr(answer.finding, name) for name in expected} == expected
    assert said in answer.headline


OPEN: Mapping[str, tuple[str, TableContract, str, str]] = {
    "all that the window brought was deleted": (
        "a1[0:100] | a2[100:200] drop[100:200]", CONTRACT, "column source_position of the window's rows",
        "The rows that the window added were all deleted or replaced since.",
    ),
    "the same with source partitions": (
        "a1[0:100] | a2[100:200] drop[100:200]", BY_PARTITION, "column source_position of the window's rows", "",
    ),
    "a job that stopped filling the column must not look like one that lost nothing": (
        "a1[0:10] | +[-,-]k10", CONTRACT, "column source_position of sales.orders",
        "Column source_position is null in all 2 rows of the window.",
    ),
    "of two rows in five nobody can say whether others like them are missing": (
        "a1[0:10] | +[10,11,-,-,12]k10", CONTRACT, "column source_position of sales.orders",
        "2 of the window's 5 rows have null there",
    ),
    "another partition may fill the hole": (
        "+[0:150] | +[130:170]p1k5000 +[160:200]", CONTRACT, "contract.position_partition",
        "30 positions are carried by rows of different keys",
    ),
    "older rows of another partition may": (
        "+[0:300]p1k5000 +[0:100] | +[100:150,160:200]", CONTRACT, "contract.position_partition", "",
    ),
    "without a key a replay and a second partition look alike": (
        "+[0:100] | +[90:120]", WITHOUT_KEY, "contract", "names no key",
    ),
    "a partition that comes from nowhere begins above 0": (
        "+[0:50] | +[50:60] +[7:20]p1k900", BY_PARTITION, "positions of source partition 1 below the window",
        "below 7, the lowest that the window brought",
    ),
    "a contract that names the key as partition is no reason to read the table thousands of times": (
        "a1[0:10] | a2[10:2100]", CONTRACT.model_copy(update={"position_partition": "order_id"}), "",
        "more than 2,000 values",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("line", "contract", "source", "said"), OPEN.values(), ids=OPEN)
def test_what_cannot_be_told_is_not_ruled_out(
    orders: OrdersTable, asks: Asks, line: str, contract: TableContract, source: str, said: str
) -> None:
    """The answer says what was not seen."""
    answer = asks("missing_positions", orders.ask(write(orders, line).before, contract=contract))

    assert (answer.verdict, answer.finding) == (Verdict.INCONCLUSIVE, None)
    assert source in answer.could_not_look[0].source
    assert said in answer.headline


def test_all_gaps_are_counted_and_twenty_are_shown(orders: OrdersTable, asks: Asks) -> None:
    """`missing` is exact although the sample is short, also where the window begins with the table."""
    write(orders, "a1[0:100:2]")

    answer = asks("missing_positions", orders.ask(None))

    assert answer.finding.missing == 49
    assert [gap.first for gap in answer.finding.gaps] == list(range(1, 41, 2))
    assert len(answer.rows) == 20


@pytest.mark.parametrize(
    ("position", "source", "said"),
    [
        (None, "contract.position", "names no column that holds the source position"),
        ("customer", "column customer", "holds string"),
    ],
)
def test_without_a_position_that_is_a_number_nothing_is_told(
    orders: OrdersTable, judges: Asks, position: str | None, source: str, said: str
) -> None:
    """Text has no neighbours; the answer says which word of the contract is missing."""
    before = orders.commits("a", 1, range(10))

    answer = judges(
        "missing_positions", orders.ask(before, contract=CONTRACT.model_copy(update={"position": position}))
    )

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert source in answer.could_not_look[0].source
    assert said in answer.headline


def test_a_redacted_position_is_in_no_sentence(orders: OrdersTable, asks: Asks) -> None:
    """Not only the cells of the table are read by everybody in the channel."""
    before, _ = write(orders, "a1[1000:1100] | a2[1150:1200]")
    hidden = CONTRACT.model_copy(update={"redacted": ("source_position",)})

    answer = asks("missing_positions", orders.ask(before, contract=hidden))

    assert answer.verdict is Verdict.CONFIRMED
    assert not any(number in answer.headline for number in ("1100", "1149"))


def test_counts_agree_with_brute_force_on_random_histories(orders: OrdersTable, asks: Asks) -> None:
    """Missing positions are exact on random commits, replays and rollbacks."""
    dice = random.Random(20261104)  # noqa: S311 - a repeatable history, no secret
    commits, next_position = [], 0
    for checkpoint in range(10):
        skipped = dice.choice([0, 0, 3])
        begin = max(0, next_position + skipped - dice.choice([0, 0, 6]))
        next_position = begin + dice.randrange(4, 20)
        commits.append(orders.commits("a", checkpoint, range(begin, next_position)))
        if checkpoint == 6:
            orders.rolls_back_to(commits[5])
    live = set(pc.unique(orders.live()["source_position"]).to_pylist())

    answer = asks("missing_positions", orders.ask(commits[4]))

    lowest = answer.finding.lowest
    assert lowest is not None
    edge = max((place for place in live if place < lowest), default=lowest)
    assert answer.finding.missing == len(set(range(edge, max(live))) - live)
    assert answer.finding.positions == len([place for place in live if place >= lowest])


def test_an_upsert_tables_hole_at_the_windows_edge_is_seen(orders: OrdersTable, asks: Asks) -> None:
    """All its commits overwrite; what stood below is live all the same."""
    orders.commits("a", 1, range(10))
    before = upserts(orders, "a", 2, range(10, 20), keys=range(10, 20))
    upserts(orders, "a", 3, range(25, 30), keys=range(25, 30))

    lost = asks("missing_positions", orders.ask(before))
    whole = asks("missing_positions", orders.ask(None))

    assert lost.finding.gaps == (PositionGap(first=20, last=24),)
    assert whole.finding.gaps == (PositionGap(first=20, last=24),)


@pytest.mark.parametrize("window", ["the whole table", "two commits", "a delete too"])
def test_what_a_compaction_within_the_window_lost_is_seen(orders: OrdersTable, asks: Asks, window: str) -> None:
    """The files that it replaced tell what the window had brought, however little of it is left."""
    before, _ = write(orders, "a1[0:10] a2[10:20] | a3[20:30] a4[30:40]")
    if window == "a delete too":
        orders.deletes("order_id = 39")
    orders.compacts(rows([*range(22), *range(28, 39), *(() if window == "a delete too" else (39,))]))
    orders.commits("a", 5, range(40, 50))

    answer = asks("missing_positions", orders.ask(None if window == "the whole table" else before))

    assert answer.verdict is Verdict.CONFIRMED
    assert answer.finding.gaps[0] == PositionGap(first=22, last=27)
    assert answer.finding.missing == (7 if window == "a delete too" else 6)
    assert answer.finding.lowest == (0 if window == "the whole table" else 20)


@pytest.mark.parametrize("seed", range(2))
def test_counts_agree_with_brute_force_over_partitions(orders: OrdersTable, asks: Asks, seed: int) -> None:
    """Exact for sixty partitions, most of them quiet, with skipped positions and replays."""
    dice = random.Random(seed)  # noqa: S311 - a repeatable history, no secret
    following = dict.fromkeys(range(60), 0)
    live: dict[int, set[int]] = {each: set() for each in following}
    commits, inside = [], []
    for _ in range(8):
        chosen = sorted(dice.sample(sorted(following), dice.randrange(1, 12)))
        brought = {each: _range(dice, following[each]) for each in chosen}
        parts = [rows(places, partition=each) for each, places in brought.items()]
        following |= {each: places.stop for each, places in brought.items()}
        commits.append(orders.appends(pa.concat_tables(parts)))
        inside.append(brought)
    for brought in inside:
        for each, places in brought.items():
            live[each] |= set(places)

    answer = asks("missing_positions", orders.ask(commits[3], contract=BY_PARTITION))

    lowest = {each: min(b[each].start for b in inside[4:] if each in b) for b in inside[4:] for each in b}
    edges = {each: max((p for p in live[each] if p < low), default=low) for each, low in lowest.items()}
    lost = sum(len(set(range(edges[each], max(live[each]))) - live[each]) for each in lowest)
    nowhere = [each for each, low in lowest.items() if low > 0 and not any(place < low for place in live[each])]
    silent = {each for b in inside[:4] for each in b} - lowest.keys()
    if lost:
        assert (answer.verdict, answer.finding.missing) == (Verdict.CONFIRMED, lost)
    said = [missing.source for missing in answer.could_not_look]
    assert [bool(nowhere), bool(silent)] == [any(end in source for source in said) for end in (" below ", "(last ")]
    assert lost or nowhere or silent or answer.verdict is Verdict.RULED_OUT


def _range(dice: random.Random, following: int) -> range:
    begin = max(0, following + dice.choice([0, 0, 4, -3]))
    return range(begin, begin + dice.randrange(3, 12))


def goes_on_without(orders: OrdersTable, places: range = range(10, 20)) -> SnapshotId:
    """Partitions 0 and 1 write the first checkpoint, partition 0 alone the second; where the window begins."""
    before, _ = write(orders, f"a1[0:10]p0[0:30]p1k900 | a2[{places.start}:{places.stop}]")
    assert before is not None
    return before


@pytest.mark.parametrize(
    ("run", "checkpoint", "following", "verdict", "said"),
    [
        ("a", 2, 30, Verdict.RULED_OUT, "No position is missing"),
        ("a", 3, 30, Verdict.RULED_OUT, "No position is missing"),
        ("a", 2, 35, Verdict.INCONCLUSIVE, "the job has read 5 offsets beyond the last row of partition 1"),
        ("a", 2, -2, Verdict.INCONCLUSIVE, "idle, or its last rows are lost"),
        ("a", 1, 30, Verdict.INCONCLUSIVE, "idle, or its last rows are lost"),
        ("b", 3, 30, Verdict.INCONCLUSIVE, "idle, or its last rows are lost"),
    ],
    ids=["idle", "idle since", "read and lost", "not begun", "older state", "another run"],
)
def test_the_jobs_own_state_tells_whether_it_is_idle(
    orders: OrdersTable, asks: Asks, run: str, checkpoint: int, following: int, verdict: Verdict, said: str
) -> None:
    """Its Kafka source goes on right after the last row: nothing came. An older state tells nothing since."""
    before = goes_on_without(orders)
    point = reading_on(stored(job(run), checkpoint, owes=()), 20, following)

    answer = asks("missing_positions", orders.ask(before, contract=BY_PARTITION, checkpoints=[point]))

    assert answer.verdict is verdict
    assert said in answer.headline


def test_what_kafka_has_lost_is_named_with_the_event_times_beside_it(orders: OrdersTable, asks: Asks) -> None:
    """Positions are offsets; the broker's log of partition 0 begins within the gap, and that of 1 below it."""
    before = orders.appends(rows(range(10)), of_flink("a", 1))
    orders.appends(rows(range(20, 30)), of_flink("a", 2))
    asked = orders.ask(before, contract=BY_PARTITION)
    seen = [
        KafkaPartition(topic="orders", partition=number, earliest=earliest, latest=99)
        for number, earliest in enumerate((20, 0))
    ]
    kafka = Seen[KafkaPartition](source="Kafka", values=tuple(seen))

    answer = asks("missing_positions", observing(asked, kafka=kafka))

    told = answer.finding.on_broker
    times = {"event_from": asked_at(9), "event_until": asked_at(20)}
    assert told.lost == (PositionGap(first=10, last=19, partition="0").model_copy(update=times),)
    assert "lost for good" in answer.headline
    assert next(each.value for each in answer.measures if each.name == "lost for good") == 10


def test_a_broker_that_could_not_be_asked_is_said(orders: OrdersTable, asks: Asks) -> None:
    """Else it would read as if none was lost."""
    asked = orders.ask(goes_on_without(orders, range(15, 20)), contract=BY_PARTITION)
    down = NotSeen(source="Kafka", reason="Kafka at k:9092 is not reachable.", remedy="Check it.")

    answer = asks("missing_positions", observing(asked, kafka=down))

    assert "Whether Kafka still has them is not known: Kafka at k:9092 is not reachable." in answer.headline


def asked_at(position: int) -> datetime:
    """The event time of the row with this position."""
    return rows([position])["event_time"][0].as_py()


def test_hidden_values_of_a_silent_partition_are_not_told(orders: OrdersTable, asks: Asks) -> None:
    """Neither its name nor its last position."""
    before = goes_on_without(orders)
    hidden = BY_PARTITION.model_copy(update={"redacted": ("source_position", "source_partition")})

    answer = asks("missing_positions", orders.ask(before, contract=hidden))

    assert "Source partition ••• (last •••) has no row after" in answer.headline


@pytest.mark.parametrize("seed", range(2))
def test_a_partition_that_is_removed_wholly_is_never_ruled_out(orders: OrdersTable, asks: Asks, seed: int) -> None:
    """Of some partitions that write without a gap, one loses all that it had in the window."""
    dice = random.Random(seed)  # noqa: S311 - a repeatable history, no secret
    ends = dict.fromkeys(range(dice.randrange(2, 6)), 0)
    lost = dice.choice(list(ends))
    before: SnapshotId | None = None
    for number in range(6):
        writes = [each for each in ends if each != lost or number < 3]
        parts = []
        for each in writes:
            length = dice.randrange(1, 5)
            parts.append(rows(range(ends[each], ends[each] + length), partition=each))
            ends[each] += length
        made = orders.appends(pa.concat_tables(parts), of_flink("a", number + 1))
        before = made if number == 2 else before

    answer = asks("missing_positions", orders.ask(before, contract=BY_PARTITION))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert f"Source partition {lost} (last {ends[lost] - 1})" in answer.headline


@given(history=histories(), many=some.integers(0, 4), near=some.integers(0, 3), packed=some.booleans())
@settings(max_examples=60, deadline=None)
def test_a_short_walk_finds_what_a_long_one_finds(
    history: tuple[list[dict[str, Any]], list[int]], many: int, near: int, packed: bool
) -> None:
    """The commit before, other runs, the highest id of the operator: whichever commits are asked about."""
    with packed_from(0), pytest.MonkeyPatch.context() as patched:
        chain = state(*history, packed=packed).chain
        ahead = {each.snapshot_id: each for each in chain[:many] if skipped_checkpoints._writer_of(each)}
        long = skipped_checkpoints._walked(chain, ahead)

        patched.setattr(skipped_checkpoints, "_NEAR", near)
        short = skipped_checkpoints._walked(chain, ahead)

        assert long == short


@given(history=histories())
@settings(max_examples=60, deadline=None)
def test_a_packed_history_tells_the_highest_ids_of_a_plain_one(history: tuple[list[dict[str, Any]], list[int]]) -> None:
    with packed_from(0):
        plain, packed = (highest_of(state(*history, packed=packed).chain) for packed in (False, True))

        assert plain == packed


def test_a_run_that_began_in_the_window_is_not_looked_for_in_the_whole_history(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fifty thousand commits of another run cost the ledger as little as a hundred."""
    told = [commit(n, n - 1 or None, of_flink("b" if n == 3_000 else "a", n)) for n in range(1, 3_001)]
    chain = state(told, [3_000], packed=True).chain
    looked_at = []

    def counted(snapshots: Sequence[Snapshot]) -> Iterator[Mark]:
        for mark in marks_of(snapshots):
            looked_at.append(mark)
            yield mark

    monkeypatch.setattr(skipped_checkpoints, "marks_of", counted)
    with packed_from(0):
        (below,) = skipped_checkpoints._walked(chain, {chain[0].snapshot_id: chain[0]})

    assert (None, True, 2_999) == (below.before, below.has_other_runs, below.carried)
    assert len(looked_at) < 150
