"""Missing positions where deletes, keys, holes, tails of partitions or several topics could hide or explain them."""

from collections.abc import Collection, Iterable, Mapping
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from bot.observation.contract import TableContract
from bot.observation.evidence import Ask, Verdict
from bot.observation.findings import PositionGap
from bot.observation.flink import CheckpointSettings
from bot.observation.ids import SnapshotId
from bot.observation.kafka import KafkaPartition
from bot.observation.looked import Seen
from tests.evidence.conftest import Asks
from tests.evidence.flink_words import V1, run
from tests.evidence.histories import write
from tests.evidence.restore_points import stored
from tests.evidence.test_missing_positions import BY_PARTITION
from tests.evidence.test_recovery_extent import reading_on
from tests.tables import CONTRACT, OrdersTable, job, observing, of_flink, rows
from tests.upserts import upserts

NOT_DENSE = CONTRACT.model_copy(update={"position_is_dense": False})


def marked(first: int, last: int) -> list[int]:
    """Positions of a transactional topic: each tenth is a marker, the last one too."""
    return [each for each in range(first, last + 1) if each % 10 != 9]


def told(first: int, last: int) -> str:
    """The same in a line."""
    return str(marked(first, last)).replace(" ", "")


ALIKE = f"a1{told(0, 99)} | b2{told(100, 199)}"
CONFIRMED, INCONCLUSIVE, RULED_OUT = Verdict.CONFIRMED, Verdict.INCONCLUSIVE, Verdict.RULED_OUT
STORIES: Mapping[str, tuple[str, TableContract, Verdict, dict[str, Any], str]] = {
    "deleted behind the last live row: no gap tells": (
        "a1[0:10] | a2[10:20] drop[15:20]", CONTRACT, INCONCLUSIVE, {},
        "Positions that the window brought behind the last live row were deleted",
    ),
    "which ones are named; a later repair, which took nothing of it out, does not excuse it": (
        "a1[0:10] | a2[10:20] drop[15:20] repair:a2[14]", CONTRACT, INCONCLUSIVE, {}, "(15 to 19)",
    ),
    "a repair that people approved took them out": (
        "a1[0:10] | a2[10:20] a3[20:30] repair:drop[20:30]", CONTRACT, RULED_OUT, {}, "",
    ),
    "a partition that wrote nothing below the window, and was deleted: it is not known as one that fell silent": (
        "a1[0:10] | a2[10:20][0:10]p1k1000 a3[20:30] drop[0:10]p1", BY_PARTITION, INCONCLUSIVE, {},
        "0 to 9 of partition 1",
    ),
    "copies of a partition came and were taken away: older rows carry its positions": (
        "a1[0:10][0:10]p1k1000 a2[10:20] | b1[0:10]p1k2000 a3[20:30] dropk[2000:3000]", BY_PARTITION, INCONCLUSIVE,
        {}, "No position is missing between those that were seen",
    ),
    "a source may count from below zero": (
        "a1[-30:-20] | a2[-10:5]", CONTRACT, CONFIRMED, {"gaps": [(-20, -11)], "missing": 10}, "",
    ),
    "that the window begins at position 0 does not say that the source does": (
        "a1[-30:-20] | a2[0:5]", CONTRACT, CONFIRMED, {"gaps": [(-20, -1)], "missing": 20}, "",
    ),
    "a compaction that kept its rows is not looked behind": (
        "a1[0:10] | a2[10:20] compact[0:20]", CONTRACT, RULED_OUT, {}, "",
    ),
    "one that wrote fewer rows than it read is": (
        "a1[0:10] | a2[10:20] compact[0:20] compact[0:15]", CONTRACT, INCONCLUSIVE, {}, "(15 to 19)",
    ),
    "by key: the source skipped some, and the first commit behind the hole was replaced altogether": (
        "+[0:10] | a2^[20:25]k0 a3^[25:30]k0", CONTRACT, CONFIRMED,
        {"gaps": [(10, 19)], "missing": 10, "is_untold": False}, "10 positions are missing: 10 to 19.",
    ),
    "by key: within one commit a sink may write only the newest row of a key": (
        "+[0:10] | a2^[10,11,14]k20", CONTRACT, INCONCLUSIVE, {"missing": 2, "is_untold": True},
        "2 positions (12 to 13) have no row that lives or was replaced",
    ),
    "by key: a delete leaves no position": (
        "+[0:10] | a2^[10,11]k20~[1,2] a3^[14]k22", CONTRACT, INCONCLUSIVE, {"missing": 2, "is_untold": True},
        "2 positions (12 to 13) have no row that lives or was replaced",
    ),
    "by key: what is sure is counted, and what is open is named beside it": (
        "+[0:10] | a2^[10,12]k20 a3^[15]k22", CONTRACT, CONFIRMED, {"gaps": [(13, 14)], "missing": 2},
        "1 position (11) has no row",
    ),
    "by key: rows that were rolled back stood there, so no delete accounts for them": (
        "+[0:10] | a2^[10:15]k20 back a3^[15,16]k30~[1,2]", CONTRACT, CONFIRMED, {"gaps": [(10, 14)]}, "",
    ),
    "by key: what was replaced before the window is not its fault, and a run reads a part of the source again": (
        "+[0:10] a2^[10:15]k0 a3^[15:20]k0 | b3^[12:22]k[2,3,4,0,1,2,3,4,40,41]", CONTRACT, RULED_OUT,
        {"replaced": 0}, "",
    ),
    "by key: another writer took rows away: the job's own deletes each brought a row": (
        "+[0:10] | a2[10:20] dropk[15:18] a3^[20:25]k10", CONTRACT, CONFIRMED,
        {"replaced": 5, "gaps": [(15, 17)]}, "",
    ),
    "by key: unless one of its deletes may account for them": (
        "+[0:10] | a2[10:20] dropk[15:18] a3^[20:25]k10~[3]", CONTRACT, INCONCLUSIVE,
        {"replaced": 5, "gaps": [(15, 17)]}, "",
    ),
    "markers: holes between rows of one commit are no loss; they end within each commit here": (
        f"a1{told(0, 94)} | a2{told(95, 204)} b3{told(205, 298)}", NOT_DENSE, RULED_OUT, {"missing": 0}, "",
    ),
    "markers: one between two commits is left to what the job began from; a copy does not change it": (
        f"{ALIKE} b3{told(150, 250)}", NOT_DENSE, INCONCLUSIVE, {"missing": 1, "is_untold": True},
        "at most 1 in a row",
    ),
    "markers: a hole many times as wide is found by ranges": (
        f"{ALIKE} c3{told(700, 799)}", NOT_DENSE, CONFIRMED, {"gaps": [(199, 699)]}, "",
    ),
    "markers: and by rows, where some came again": (
        f"{ALIKE} c3{told(700, 799)[:-1]},{told(700, 720)[1:]}", NOT_DENSE, CONFIRMED, {"gaps": [(199, 699)]}, "",
    ),
    "markers: what main lost is missing, however little: it had a record": (
        f"a1{told(0, 99)} | a2[100,102] back a3{told(103, 199)}", NOT_DENSE, CONFIRMED, {"gaps": [(99, 102)]}, "",
    ),
    "holes like those before the incident accuse nobody, also where the contract promises each position": (
        ALIKE, CONTRACT, INCONCLUSIVE, {"is_untold": True}, "position_is_dense",
    ),
    "a wider one still does": (f"{ALIKE} c3{told(400, 450)}", CONTRACT, CONFIRMED, {"missing": 201}, ""),
}  # fmt: skip


@pytest.mark.parametrize(("line", "contract", "verdict", "found", "said"), STORIES.values(), ids=STORIES)
def test_what_deletes_keys_and_holes_leave_open(
    tmp_path: Path,
    asks: Asks,
    line: str,
    contract: TableContract,
    verdict: Verdict,
    found: Mapping[str, Any],
    said: str,
) -> None:
    """What is surely missing, surely not, or neither."""
    with closing(OrdersTable(tmp_path, {"write.upsert.enabled": "true"} if "^" in line else None)) as orders:
        answer = asks("missing_positions", orders.ask(write(orders, line).before, contract=contract))

    assert answer.verdict is verdict
    assert {name: _of(answer.finding, name) for name in found} == found
    assert said in " ".join((answer.headline, *(each.reason + each.remedy for each in answer.could_not_look)))


def _of(finding: Any, name: str) -> Any:
    return [(gap.first, gap.last) for gap in finding.gaps] if name == "gaps" else getattr(finding, name)


def test_a_deleted_file_that_is_gone_from_storage_leaves_it_open(orders: OrdersTable, asks: Asks) -> None:
    """What it held can no longer be read; the table does not need it, so nothing fails."""
    before, _ = write(orders, "a1[0:10] | a2[10:20]")
    there = set(orders.data_folder.rglob("*.parquet"))
    orders.commits("a", 3, range(20, 30))
    [file] = set(orders.data_folder.rglob("*.parquet")) - there
    orders.deletes("source_position >= 20")
    file.unlink()

    answer = asks("missing_positions", orders.ask(before))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert "gone from storage" in answer.headline


def goes_on(orders: OrdersTable, commits: int, writes: Collection[int]) -> SnapshotId:
    """Partition 0 writes ten positions with each checkpoint from 1 on, partition 1 five with these; where the window
    begins, which is after the first."""
    before: SnapshotId | None = None
    other = 0
    for checkpoint in range(1, commits + 1):
        parts = [rows(range(10 * checkpoint - 10, 10 * checkpoint))]
        if checkpoint in writes:
            parts.append(rows(range(other, other + 5), partition=1, orders=range(9_000 + other, 9_005 + other)))
            other += 5
        made = orders.appends(pa.concat_tables(parts), of_flink("a", checkpoint))
        before = before if before is not None else made
    assert before is not None
    return before


def test_what_the_committed_checkpoint_had_read_and_no_row_carries_is_missing(orders: OrdersTable, asks: Asks) -> None:
    """Partition 1 stops at 14, and the state of the newest commit's own checkpoint goes on at 20."""
    before = goes_on(orders, 4, (1, 2, 3))
    point = reading_on(stored(job("a"), 4, owes=()), 40, 20)

    answer = asks("missing_positions", orders.ask(before, contract=BY_PARTITION, checkpoints=[point]))

    assert answer.verdict is Verdict.CONFIRMED
    assert (answer.finding.missing, answer.finding.gaps) == (5, (PositionGap(first=15, last=19, partition="1"),))
    assert answer.headline == (
        "5 positions are missing: 15 to 19 of partition 1; 5 of them the job had read by checkpoint 4, which the "
        "newest commit carries."
    )


def test_what_a_later_checkpoint_has_read_is_not_committed_yet(orders: OrdersTable, asks: Asks) -> None:
    """The next commit may bring it: that is no loss, and it is said. The oldest such point tells most."""
    before = goes_on(orders, 4, (1, 2, 3))
    later = [reading_on(stored(job("a"), number, owes=()), 30 + 2 * number, 20) for number in (9, 5)]

    answer = asks("missing_positions", orders.ask(before, contract=BY_PARTITION, checkpoints=later))

    assert answer.verdict is Verdict.RULED_OUT
    assert answer.headline.endswith(
        "By the state of checkpoint 5 the job has read 5 positions more, not committed yet: the newest commit is of "
        "checkpoint 4."
    )


def test_a_state_that_agrees_with_no_partition_accuses_none(orders: OrdersTable, asks: Asks) -> None:
    """Its offsets may be of another topic, or not what the column holds: it is said, and nothing is confirmed."""
    before = goes_on(orders, 4, (1, 2, 3))
    point = reading_on(stored(job("a"), 4, owes=()), 47, 20)

    answer = asks("missing_positions", orders.ask(before, contract=BY_PARTITION, checkpoints=[point]))

    assert (answer.verdict, answer.finding) == (Verdict.INCONCLUSIVE, None)
    assert "the job has read 7 offsets beyond the last row of partition 0" in answer.headline


@pytest.mark.parametrize(
    ("commits", "writes", "verdict"),
    [
        (6, (1, 2, 3, 4), Verdict.RULED_OUT),
        (8, (1, 2, 3, 4), Verdict.RULED_OUT),
        (9, (1, 2, 3, 4), Verdict.INCONCLUSIVE),
        (10, (1, 4, 5), Verdict.INCONCLUSIVE),
        (10, (1, 5), Verdict.RULED_OUT),
    ],
    ids=["two commits", "four commits", "five commits", "longer than twice before", "it writes rarely"],
)
def test_a_silence_counts_where_it_is_several_commits_and_longer_than_any_before(
    orders: OrdersTable, asks: Asks, commits: int, writes: Collection[int], verdict: Verdict
) -> None:
    """No offset is known: a partition that is quiet for a moment is no doubt, and one that stopped is not ruled out."""
    before = goes_on(orders, commits, writes)

    answer = asks("missing_positions", orders.ask(before, contract=BY_PARTITION))

    last = 5 * len(writes) - 1
    assert answer.verdict is verdict
    if verdict is Verdict.INCONCLUSIVE:
        assert f"Source partition 1 (last {last}) has no row in the newest 5 commits with rows" in answer.headline
        assert "idle, or its last rows are lost" in answer.headline
        assert "Ask the source" in answer.could_not_look[0].remedy


def test_a_silence_that_the_jobs_state_shows_to_be_idle_is_none(orders: OrdersTable, asks: Asks) -> None:
    """Nothing came after its last row."""
    before = goes_on(orders, 9, (1, 2, 3, 4))
    idle, read_on = (reading_on(stored(job("a"), 10, owes=()), 95, following) for following in (20, 22))

    quiet = asks("missing_positions", orders.ask(before, contract=BY_PARTITION, checkpoints=[idle]))
    waits = asks("missing_positions", orders.ask(before, contract=BY_PARTITION, checkpoints=[read_on]))

    assert quiet.verdict is Verdict.RULED_OUT
    assert waits.verdict is Verdict.INCONCLUSIVE
    assert "the job has read 2 offsets beyond the last row of partition 1" in waits.headline


def test_hidden_values_of_a_partition_that_stopped_are_not_told(orders: OrdersTable, asks: Asks) -> None:
    """Neither its name nor its last position."""
    before = goes_on(orders, 9, (1, 2, 3, 4))
    hidden = BY_PARTITION.model_copy(update={"redacted": ("source_position", "source_partition")})

    answer = asks("missing_positions", orders.ask(before, contract=hidden))

    assert "Source partition ••• (last •••) has no row in the newest 5 commits" in answer.headline


def of_topic_b(positions: Iterable[int]) -> pa.Table:
    """Rows of another topic: the same partition and positions, other orders at other times."""
    places = list(positions)
    made = rows(places, orders=[9_000 + place for place in places])
    later = pc.add(made["event_time"], pa.scalar(timedelta(minutes=7)))
    return made.set_column(made.schema.get_field_index("event_time"), made.schema.field("event_time"), later)


def test_a_hole_that_another_topic_fills_is_not_ruled_out(orders: OrdersTable, asks: Asks) -> None:
    """Topic A lost 50 to 59 of its partition 0, topic B has these positions of its own. Both stand at 39 to 49 and 60
    to 64."""
    before = orders.appends(pa.concat_tables([rows(range(40)), of_topic_b(range(45))]))
    orders.appends(pa.concat_tables([rows([*range(40, 50), *range(60, 70)]), of_topic_b(range(45, 65))]))

    answer = asks("missing_positions", orders.ask(before, contract=BY_PARTITION))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert "16 positions of one source_partition are carried by rows of different keys" in answer.headline
    assert "several topics" in answer.headline
    assert answer.could_not_look[0].source == "contract.position_partition"
    assert "topic and partition together" in answer.could_not_look[0].remedy


@pytest.mark.parametrize(("named", "verdict"), [("event_time", Verdict.CONFIRMED), (None, Verdict.INCONCLUSIVE)])
def test_rows_of_one_record_share_its_time(
    orders: OrdersTable, asks: Asks, named: str | None, verdict: Verdict
) -> None:
    """A record may make several rows of different keys: where the time of the event is named, it shows that."""
    before = orders.appends(rows(range(10)))
    lines = rows([*range(10, 15), *range(17, 20)])
    more = rows(lines["source_position"].to_pylist(), orders=range(500, 508))
    orders.appends(pa.concat_tables([lines, more]))
    contract = BY_PARTITION.model_copy(update={"event_time": named})

    answer = asks("missing_positions", orders.ask(before, contract=contract))

    assert answer.verdict is verdict
    if named:
        assert answer.finding.missing == 2
    else:
        assert "name event_time" in answer.could_not_look[0].remedy


def test_records_of_two_topics_do_not_repeat_each_other(orders: OrdersTable, asks: Asks) -> None:
    """What has the same place, another key and another time may be another record, and nobody knows."""
    before = orders.appends(rows(range(20)))
    orders.appends(of_topic_b(range(10, 20)))

    answer = asks("replayed_rows", orders.ask(before, contract=BY_PARTITION))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert answer.finding.replayed == 0
    assert "10 rows of the window carry a position that a row of another key had before" in answer.headline


def test_what_surely_came_again_is_told_beside_them(orders: OrdersTable, asks: Asks) -> None:
    """Rows of the same key or the same time are copies, whatever else the window brought."""
    before = orders.appends(rows(range(20)))
    again = orders.appends(pa.concat_tables([rows(range(5)), of_topic_b(range(10, 20))]))

    answer = asks("replayed_rows", orders.ask(before, contract=BY_PARTITION))

    assert answer.verdict is Verdict.CONFIRMED
    assert [(pair.first, pair.second, pair.keys) for pair in answer.finding.pairs] == [(before, again, 5)]
    assert answer.could_not_look[0].source == "contract.position_partition"


def test_replaced_rows_are_not_missing(by_key: OrdersTable, asks: Asks) -> None:
    """Those of the window, and from where it begins (position 9) on the older ones whose keys came again in it."""
    before = by_key.appends(rows(range(10)))
    upserts(by_key, "a", 2, range(10, 15), keys=range(5, 10))
    upserts(by_key, "a", 3, range(15, 20), keys=[8, 9, 20, 21, 22])

    answer = asks("missing_positions", by_key.ask(before))
    by_partition = asks("missing_positions", by_key.ask(before, contract=BY_PARTITION))

    assert (answer.verdict, answer.finding.missing, answer.finding.replaced) == (Verdict.RULED_OUT, 0, 3)
    assert by_partition.verdict is answer.verdict
    assert by_partition.finding == answer.finding.model_copy(update={"tops": {"0": 19}})
    assert answer.headline == (
        "No position is missing up to the highest one that was brought, 19. The rows of 3 positions were replaced or "
        "deleted by their key: these are no missing rows."
    )


PARTED = CONTRACT.model_copy(update={"position_partition": "source_partition"})
"""It does not say whether positions are dense."""
USUAL = [marked(0, 99), marked(100, 199), marked(200, 299), marked(300, 399)]


def on_broker(ask: Ask, *, is_compacted: bool) -> Ask:
    held = KafkaPartition(topic="orders", partition=0, earliest=0, latest=900, is_compacted=is_compacted)
    return observing(ask, kafka=Seen[KafkaPartition](source="Kafka", values=(held,)))


def test_commits_from_before_the_incident_show_that_positions_are_not_dense(orders: OrdersTable, asks: Asks) -> None:
    """Below the window or, where too few are there, by the runs before its newest. Without a partition nobody knows
    that one reader read them in order."""
    for checkpoint, positions in enumerate(USUAL, 1):
        before = orders.commits("a", checkpoint, positions)
    orders.commits("b", 5, marked(400, 498))

    young = asks("missing_positions", orders.ask(None, contract=PARTED))
    grown = asks("missing_positions", orders.ask(before, contract=PARTED))
    bare = asks("missing_positions", orders.ask(None))

    assert [(each.finding.missing, each.finding.is_untold, each.finding.is_dense) for each in (young, grown)] == [
        (4, True, False),
        (1, True, False),
    ]
    assert bare.finding.is_dense


def test_a_hole_that_is_much_wider_than_those_before_is_a_loss(orders: OrdersTable, asks: Asks) -> None:
    """Retention may have passed a job that was running: its rows lie beside the hole in one commit. A job that loses
    rows in flight leaves usual ones."""
    for checkpoint, positions in enumerate(USUAL, 1):
        before = orders.commits("a", checkpoint, positions)
    unsafe = run("a", sink=V1).model_copy(update={"settings": CheckpointSettings(is_unaligned=True)})
    in_flight = asks("missing_positions", orders.ask(None, contract=PARTED, jobs=[unsafe]))
    orders.commits("a", 5, [*marked(400, 450), *marked(700, 750)])

    wide = asks("missing_positions", orders.ask(before, contract=PARTED))

    assert in_flight.finding.is_dense
    assert wide.verdict is Verdict.CONFIRMED
    assert wide.finding.missing == 249


@pytest.mark.parametrize(("is_compacted", "verdict"), [(True, Verdict.INCONCLUSIVE), (False, Verdict.CONFIRMED)])
def test_compaction_makes_holes_of_any_width(
    orders: OrdersTable, asks: Asks, is_compacted: bool, verdict: Verdict
) -> None:
    """Between commits it is left to what the job began from."""
    before = orders.commits("a", 1, range(100))
    orders.commits("b", 2, [*range(300, 350), *range(390, 400)])

    answer = asks("missing_positions", on_broker(orders.ask(before, contract=PARTED), is_compacted=is_compacted))

    assert answer.verdict is verdict
    assert answer.finding.missing == (200 if is_compacted else 240)


@pytest.mark.parametrize(("read", "late", "missing"), [(1, False, 0), (20, False, 20), (1, True, 1)])
def test_a_hole_at_the_end_of_the_newest_commit_is_one_of_it(
    orders: OrdersTable, asks: Asks, read: int, late: bool, missing: int
) -> None:
    """What the job had read by the commit's own checkpoint, if that came before it. A wide one is a loss."""
    before = orders.commits("a", 1, marked(0, 98))
    orders.appends(pa.concat_tables([rows(marked(100, 149)), rows(marked(0, 48), partition=1)]), of_flink("a", 2))
    at = orders.state().snapshots[-1].committed_at + timedelta(minutes=1 if late else -1)
    state = reading_on(stored(job("a"), 2, owes=()), 149 + read, 49).model_copy(update={"written_at": at})
    contract = PARTED.model_copy(update={"position_is_dense": False})

    answer = asks("missing_positions", orders.ask(before, contract=contract, checkpoints=[state]))

    assert sum(gap.size for gap in answer.finding.gaps if gap.first > 148) == missing
