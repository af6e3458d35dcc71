"""Positions that the source skipped, and what the broker still has of them."""

from datetime import UTC, datetime, timedelta

import pytest

from bot.cli.doctor import broker_line
from bot.diagnosis import commit_overwritten, healthy, source_positions_skipped
from bot.diagnosis._support.last_good import rows_up_to
from bot.history.case import Case
from bot.history.source_records import on_broker, on_broker_in_words
from bot.incident.diagnosis import CannotTell, Excluded, LastGoodRows, Matches, Remedy
from bot.incident.hidden_values import outgoing_case
from bot.observation.findings import GapsFinding, GapsOnBroker, LeakStanding, PositionGap
from bot.observation.flink import SourcePosition
from bot.observation.ids import CheckpointId, OperatorId, SnapshotId
from bot.observation.kafka import KafkaPartition, OffsetTime, in_words
from bot.observation.ledger import Ledger
from bot.observation.looked import NotSeen, Seen
from bot.observation.table import UnnamedCommit
from tests.cases import Tale
from tests.found import leaks, orphans

GAP = GapsFinding(lowest=0, highest=99, positions=80, missing=20, gaps=(PositionGap(first=50, last=69),))


def jumped() -> Tale:
    """Run a commits up to position 49; run b starts without state and goes on at 70."""
    return Tale().flink_runs("a").commits("a", 1, 2).becomes("a", "FAILED").flink_runs("b").commits("b", 1, 2)


def with_bounds(case: Case) -> Case:
    """The ledger's rows hold 25 positions each, with 20 left out in the middle."""
    starts = (0, 25, 70, 95)
    rows = tuple(
        row.model_copy(update={"position_from": start, "position_until": start + 24})
        for row, start in zip(case.ledger.rows, starts, strict=True)
    )
    return case.model_copy(update={"ledger": Ledger(rows=rows, readers_known=False)})


def test_a_jump_of_the_source_is_replayed_from_below_it() -> None:
    """The two commits beside the gap show it, and the run that began too late is named."""
    tale = jumped()

    found = source_positions_skipped.examine(with_bounds(tale.looked_at(gaps=GAP)))

    assert ((tale.at("a", 2), tale.at("b", 1)), tale.at("a", 2)) == (found.rows, found.last_good)
    assert found.remedy is Remedy.REPLAY_SOURCE_RANGE
    assert "first commit of run bbbbbb, which started without state (F15)" in found.reasons[2]


@pytest.mark.parametrize(("young", "named"), [(0, "But 3 files"), (2, "But 1 file"), (3, None)])
def test_files_that_no_commit_names_are_to_be_looked_into_first(young: int, named: str | None) -> None:
    """Of a commit that went with every trace in the metadata they are the only copy; those in flight are none."""
    case = with_bounds(jumped().looked_at(gaps=GAP, orphans=orphans(3, young=young)))

    found = source_positions_skipped.examine(case)

    told = [reason for reason in found.reasons if "on storage that no commit names" in reason]
    assert bool(told) is (named is not None)
    assert all(reason.startswith(f"{named} on storage") for reason in told)


def test_what_an_untold_manifest_holds_may_be_what_is_missing() -> None:
    """Nobody can tell whether its rows were read again: then they may have been written after all."""
    tale = jumped().leaves_manifest("a", 2)

    found = source_positions_skipped.examine(
        tale.looked_at(gaps=GAP, leaked=leaks(*tale.manifests, standing=LeakStanding.UNTOLD))
    )

    assert "whether the missing rows are those of 1 Flink manifest" in found.missing[0]


@pytest.mark.parametrize(
    ("run", "positions", "answer"),
    [("a", (50, 59), CannotTell), ("a", (70, 79), Matches), ("b", (50, 59), Matches)],
    ids=["in the gap", "beside it", "of the living run"],
)
def test_rows_that_a_restore_would_commit_were_not_skipped(run: str, positions: tuple[int, int], answer: type) -> None:
    """Run a is over, and a savepoint lists its manifest: to say that nobody wrote these rows would be false."""
    tale = jumped().leaves_manifest(run, 3)

    found = source_positions_skipped.examine(
        tale.looked_at(gaps=GAP, leaked=leaks(*tale.manifests, positions=positions))
    )

    assert isinstance(found, answer)


def test_before_manifests_were_listed_it_stays_open() -> None:
    """The missing rows may wait in files on storage."""
    found = source_positions_skipped.examine(jumped().looked_at(gaps=GAP, leaked=None))

    assert ("leaked_manifests",) == found.missing


def by_key(case: Case, starts: tuple[int, ...]) -> Case:
    """The same of an upsert table whose commits begin at these positions, 25 in each."""
    rows = tuple(
        row.model_copy(update={"position_from": start, "position_until": start + 24})
        for row, start in zip(case.ledger.rows, starts, strict=True)
    )
    world = case.observation
    table = world.table.model_copy(update={"properties": {**world.table.properties, "write.upsert.enabled": "true"}})
    told = {"ledger": Ledger(rows=rows, readers_known=False), "observation": world.model_copy(update={"table": table})}
    return case.model_copy(update=told)


APART = GAP.model_copy(update={"replaced": 7})
"""The task has looked into what the commits brought."""


@pytest.mark.parametrize(
    ("gap", "starts", "partition", "answer", "says"),
    [
        pytest.param(
            GAP, (0, 25, 50, 75), None, CannotTell, "replaced by a newer row", id="a replaced row takes its position"
        ),
        pytest.param(
            GAP, (0, 25, 60, 85), None, Matches, "the first gap is 50 to 59", id="what no commit reaches was skipped"
        ),
        pytest.param(GAP, (0, 25, 60, 85), "p", CannotTell, "", id="bounds of several source partitions"),
        pytest.param(APART, (0, 25, 50, 75), None, Matches, "20 source positions", id="replaced rows were told apart"),
        pytest.param(
            APART.model_copy(update={"is_untold": True}), (0, 25, 60, 85), None, CannotTell,
            "without a row held deletes", id="deletes may account for all that is left",
        ),
    ],
)  # fmt: skip
def test_of_a_table_that_is_written_by_key(
    gap: GapsFinding, starts: tuple[int, ...], partition: str | None, answer: type, says: str
) -> None:
    """Every position of a replaced row is missing, and no row is: what lies between all commits was written by none."""
    case = by_key(jumped().looked_at(gaps=gap), starts)
    contract = case.contract.model_copy(update={"position_partition": partition})

    found = source_positions_skipped.examine(case.model_copy(update={"contract": contract}))

    assert isinstance(found, answer)
    assert says in " ".join((found.headline, *found.reasons) if isinstance(found, Matches) else found.missing)


def deleting(*counts: tuple[int, int]) -> Tale:
    """The commits carry so many (equality deletes, position deletes) each."""
    tale = jumped()
    told = [{"added-equality-deletes": str(one), "added-position-deletes": str(other)} for one, other in counts]
    tale.snapshots = [
        each.model_copy(update={"summary": {**each.summary, **its}})
        for each, its in zip(tale.snapshots, told, strict=True)
    ]
    return tale


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        (((10, 0), (10, 0), (10, 0), (10, 0)), Matches),
        (((11, 0), (8, 2), (7, 3), (12, 0)), Matches),
        (((10, 0), (11, 0), (10, 0), (10, 0)), CannotTell),
        (((10, 0), (10, 0), (8, 3), (10, 0)), CannotTell),
        (((10, 0), (4, 0), (10, 0), (10, 0)), CannotTell),
    ],
    ids=["a delete a row", "deletes elsewhere", "one more below", "one more above", "not told"],
)
def test_a_deleted_key_leaves_no_position_either(counts: tuple[tuple[int, int], ...], expected: type) -> None:
    """An upsert writes a delete with each of its ten rows; one more is a deletion that may be what the seam held."""
    found = source_positions_skipped.examine(by_key(deleting(*counts).looked_at(gaps=GAP), (0, 25, 60, 85)))

    assert isinstance(found, expected)
    if isinstance(found, CannotTell):
        assert "whether the source skipped positions 50 to 59 or had deletes there" in found.missing[0]


def of_changelog(*counts: tuple[int, int], bounds: tuple[tuple[int, int] | None, ...]) -> Case:
    """The job writes by key without upserts."""
    case = deleting(*counts).looked_at(gaps=GAP)
    told = [{} if each is None else {"position_from": each[0], "position_until": each[1]} for each in bounds]
    rows = tuple(row.model_copy(update=its) for row, its in zip(case.ledger.rows, told, strict=True))
    return case.model_copy(update={"ledger": Ledger(rows=rows, readers_known=False)})


def test_deletes_of_a_changelog_may_have_been_the_whole_commit() -> None:
    """Without upserts each delete may stand alone; a commit of deletes between the two has no position at all."""
    apart = of_changelog((1, 0), (0, 0), (0, 0), (1, 0), bounds=((0, 24), (25, 49), (60, 84), (85, 109)))
    between = of_changelog((0, 0), (30, 0), (0, 0), (0, 0), bounds=((0, 49), None, (60, 84), (85, 109)))

    assert isinstance(source_positions_skipped.examine(apart), Matches)
    assert isinstance(source_positions_skipped.examine(between), CannotTell)


def changed_by(run: str | None, operation: str, **counts: int) -> Tale:
    """Between two commits of the job another writer, or another Flink job, has changed so many rows."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).commits(run, *([1] if run else []), operation=operation)
    return tale.counts(**counts).commits("a", 3)


@pytest.mark.parametrize(
    ("took", "answer"),
    [
        ({"deleted_records": 30}, Excluded),
        ({"deleted_records": 29}, CannotTell),
        ({"deleted_records": 0}, Matches),
        ({"deleted_records": 29, "added_position_deletes": 1}, Excluded),
        ({"deleted_records": 29, "added_equality_deletes": 1}, Excluded),
        ({"deleted_records": 29, "added_delete_files": 1}, Excluded),
    ],
    ids=["all", "some", "none", "by position too", "by key too", "nobody knows how many"],
)
def test_another_writer_explains_no_more_rows_than_it_took(took: dict[str, int], answer: type) -> None:
    """Thirty positions are missing; what it cannot have taken is some other fault's."""
    case = changed_by(None, "delete", **took).looked_at(missing=30)

    assert isinstance(source_positions_skipped.examine(case), answer)


@pytest.mark.parametrize(
    ("run", "wrote", "has_bounds", "answer"),
    [
        (None, 0, True, Excluded),
        (None, 70, True, Excluded),
        (None, 71, True, CannotTell),
        (None, 100, True, CannotTell),
        (None, 100, False, Excluded),
        ("z", 100, True, Excluded),
    ],
)
def test_an_overwrite_writes_anew_what_it_leaves(run: str | None, wrote: int, has_bounds: bool, answer: type) -> None:
    """Spark took 100 rows in whole files and wrote some of them again: as many as the others may be missing by it.
    Without positions it has brought none back, and another Flink job brings rows of its own."""
    case = changed_by(run, "overwrite", deleted_records=100, added_records=wrote).looked_at(missing=30)

    found = source_positions_skipped.examine(with_bounds(case) if has_bounds else case)

    assert isinstance(found, answer)
    if isinstance(found, CannotTell):
        assert f"took 100 rows, and wrote {wrote} anew" in found.missing[0]


def of_partitions(
    case: Case, bounds: tuple[tuple[int, int] | None, ...], *gaps: PositionGap, missing: int | None = None
) -> Case:
    """The source has several partitions, whose positions the bounds of each commit's files hold together."""
    told = [{} if each is None else {"position_from": each[0], "position_until": each[1]} for each in bounds]
    rows = tuple(row.model_copy(update=its) for row, its in zip(case.ledger.rows, told, strict=True))
    count = sum(gap.size for gap in gaps) if missing is None else missing
    found = GapsFinding(lowest=0, highest=600, positions=581, missing=count, gaps=gaps)
    contract = case.contract.model_copy(update={"position_partition": "source_partition"})
    ledger = Ledger(rows=rows, readers_known=False)
    return case.model_copy(update={"contract": contract, "ledger": ledger, "gaps": found})


IN_0 = PositionGap(first=500, last=509, partition="0")
IN_1 = PositionGap(first=100, last=109, partition="1")


def test_the_last_good_snapshot_lies_below_the_gaps_of_every_source_partition() -> None:
    """Partition 0 is whole up to 499, and partition 1 up to 99: what lies below the first is not below the second."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3)
    case = tale.looked_at()

    mixed = source_positions_skipped.examine(of_partitions(case, ((0, 300), (110, 499), (201, 600)), IN_0, IN_1))
    told = source_positions_skipped.examine(of_partitions(case, ((0, 99), (80, 300), (201, 600)), IN_0, IN_1))
    since = source_positions_skipped.examine(
        of_partitions(tale.looked_at(since=tale.at("a", 1)), ((110, 499), (201, 600)), IN_0, IN_1)
    )

    assert (None, tale.at("a", 1), tale.at("a", 1)) == (mixed.last_good, told.last_good, since.last_good)


def test_bounds_of_several_partitions_acquit_no_source_and_name_no_seam() -> None:
    """That a commit which was rolled back lies around a gap, or two commits beside one, says nothing of a partition."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).rolls_back_to("a", 1).flink_runs("b", restored=1).commits("b", 2)
    touching = Tale().flink_runs("a").commits("a", 1, 2)

    around = source_positions_skipped.examine(of_partitions(tale.looked_at(), ((0, 99), (100, 400), (110, 600)), IN_1))
    beside = source_positions_skipped.examine(of_partitions(touching.looked_at(), ((0, 99), (110, 600)), IN_1))

    assert "was rolled back, had brought" in around.missing[0]
    assert () == beside.rows


WHOLE = GapsFinding(lowest=0, highest=19, positions=40, missing=0, gaps=())


def _in_partitions(case: Case) -> Case:
    contract = case.contract.model_copy(update={"position_partition": "source_partition"})
    return case.model_copy(update={"contract": contract})


def test_rows_are_not_clean_while_a_partition_has_positions_to_come() -> None:
    """Rows of another one came above the rollback that took them."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).rolls_back_to("a", 1).commits("a", 4)
    to_come = WHOLE.model_copy(update={"to_come": 10})

    assert rows_up_to(_in_partitions(tale.looked_at(gaps=to_come)), tale.at("a", 4)) is LastGoodRows.NOT_LOOKED_AT
    assert rows_up_to(tale.looked_at(gaps=to_come), tale.at("a", 4)) is LastGoodRows.CLEAN


def test_nor_where_what_main_lost_may_have_expired_since() -> None:
    """The sequence numbers tell that something was there."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).rolls_back_to("a", 1).commits("a", 4).expires("a", 2, 3)

    assert rows_up_to(_in_partitions(tale.looked_at(gaps=WHOLE)), tale.at("a", 4)) is LastGoodRows.NOT_LOOKED_AT


FOLDER = "s3://lake/sales/orders/metadata"
LOST = SnapshotId(777_777)


def beside(tale: Tale, checkpoint: int, *, missing: int = 10, unreadable: int = 0) -> Case:
    """A metadata file that nobody names holds this checkpoint of run a, on its first commit."""
    base = tale.snapshots[0]
    made = base.model_copy(
        update={
            "snapshot_id": LOST,
            "parent_id": base.snapshot_id,
            "summary": {**base.summary, "flink.max-committed-checkpoint-id": f"{checkpoint}"},
        }
    )
    assert made.checkpoint_id == CheckpointId(checkpoint)
    found = UnnamedCommit(path=f"{FOLDER}/00002-x.metadata.json", commit=made, files=1, unreadable=unreadable)
    return seen(tale.looked_at(missing=missing), Seen[UnnamedCommit](source=FOLDER, values=(found,)))


def seen(case: Case, told: Seen[UnnamedCommit] | NotSeen | None) -> Case:
    return case.model_copy(update={"observation": case.observation.model_copy(update={"unnamed_commits": told})})


def gone_on() -> Tale:
    """Checkpoint 2 of run a is on no line of the table."""
    return Tale().flink_runs("a").commits("a", 1, 3, 4)


def test_a_commit_that_its_run_took_for_made_is_named_with_its_file() -> None:
    """And who wrote instead. No source skipped these rows, and the table is not healthy."""
    case = beside(gone_on(), 2)

    found = commit_overwritten.examine(case)

    assert (Remedy.REPLAY_SOURCE_RANGE, case.observation.table.chain[-1].snapshot_id) == (
        found.remedy,
        found.last_good,
    )
    assert found.headline.startswith("Checkpoint 2 of run aaaaaa was committed as …777777, and overwritten")
    assert found.rows == (case.observation.table.chain[-2].snapshot_id,)
    assert "00002-x.metadata.json" in found.reasons[0]
    assert "all of them whole" in found.reasons[1]
    assert isinstance(source_positions_skipped.examine(case), Excluded)
    assert isinstance(healthy.examine(case), Excluded)


def test_more_rows_than_it_had_are_missing_for_another_reason() -> None:
    """F18 does not rest on it."""
    assert isinstance(source_positions_skipped.examine(beside(gone_on(), 2, missing=11)), Matches)


@pytest.mark.parametrize(
    "case",
    [
        beside(gone_on(), 3),
        beside(Tale().flink_runs("a").commits("a", 1), 2),
        beside(gone_on(), 2, missing=0),
    ],
    ids=["refused and tried again", "not gone on yet", "the rows came again"],
)
def test_another_file_of_the_folder_accuses_nobody(case: Case) -> None:
    """A refused commit leaves a metadata file, too."""
    assert isinstance(commit_overwritten.examine(case), Excluded)


@pytest.mark.parametrize(
    "unread",
    [
        NotSeen(source=FOLDER, reason="It was refused.", remedy="Let the bot list it."),
        Seen[UnnamedCommit](source=FOLDER, values=(), unread="1 metadata file was not read"),
        None,
    ],
    ids=["refused", "read in part", "nobody looked"],
)
def test_a_folder_that_was_not_read_whole_leaves_open_whether_rows_are_missing(
    unread: Seen[UnnamedCommit] | NotSeen | None,
) -> None:
    """Where positions were counted and none is missing, nothing was overwritten that matters."""
    without_positions = seen(gone_on().looked_at(gaps=None), unread)
    contract = without_positions.contract.model_copy(update={"position": None})
    without_positions = without_positions.model_copy(update={"contract": contract})

    assert isinstance(commit_overwritten.examine(seen(gone_on().looked_at(missing=10), unread)), CannotTell)
    assert isinstance(commit_overwritten.examine(without_positions), CannotTell)
    assert isinstance(commit_overwritten.examine(seen(gone_on().looked_at(), unread)), Excluded)


NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)


def partition(number: int = 0, topic: str = "orders", **told: object) -> KafkaPartition:
    """Offsets 50 to 199, one each minute from noon on, kept for two hours."""
    times = tuple(OffsetTime(offset=each, at=NOON + timedelta(minutes=each - 50)) for each in range(50, 200, 10))
    whole = {"earliest": 50, "latest": 200, "times": times, "retention": timedelta(hours=2), **told}
    return KafkaPartition.model_validate({"topic": topic, "partition": number, **whole})


def of(*partitions: KafkaPartition) -> Seen[KafkaPartition]:
    """What the broker said."""
    return Seen[KafkaPartition](source="Kafka", values=partitions)


def gap(first: int, last: int, partition: str | None = "0") -> PositionGap:
    return PositionGap(first=first, last=last, partition=partition)


def test_a_gap_across_the_beginning_of_the_log_is_lost_in_part() -> None:
    """What is left of it goes two hours after the newest record that is known to lie below it."""
    found = on_broker(of(partition(), partition(1)), [gap(40, 64)])

    assert found == GapsOnBroker(lost=(gap(40, 49),), held=15, until=NOON + timedelta(hours=2))


def test_the_first_that_goes_is_the_deadline_of_all() -> None:
    """Of two gaps in two partitions, the one whose records go first."""
    older = partition(1, retention=timedelta(hours=1))

    found = on_broker(of(partition(), older), [gap(75, 80), gap(100, 105, "1")])

    assert found.until == NOON + timedelta(minutes=50, hours=1)


@pytest.mark.parametrize(
    ("seen", "lies_in"),
    [
        (None, gap(40, 45)),
        (NotSeen(source="Kafka", reason="Down.", remedy="Look again."), gap(40, 45)),
        (of(partition(), partition(1)), gap(40, 45, None)),
        (of(partition(), partition(0, topic="returns")), gap(40, 45)),
        (of(partition()), gap(40, 45, "7")),
        (of(partition()), gap(40, 45, "•••")),
        (of(partition(earliest=0, latest=30)), gap(40, 45)),
    ],
    ids=["nobody asked", "not seen", "no partition", "two topics", "no such partition", "hidden", "topic made anew"],
)
def test_a_gap_that_cannot_be_placed_is_neither_lost_nor_held(
    seen: Seen[KafkaPartition] | NotSeen | None, lies_in: PositionGap
) -> None:
    """Less is said, never more."""
    assert on_broker(seen, [lies_in]) is None


def test_without_a_partition_the_only_one_of_the_only_topic_is_meant() -> None:
    """A topic of one partition needs no column for it."""
    found = on_broker(of(partition()), [gap(10, 20, None)])

    assert (found.lost_positions, found.held) == (11, 0)


@pytest.mark.parametrize(
    ("told", "is_limited", "is_timed"),
    [
        ({}, False, True),
        ({"retention_bytes": 1000}, True, True),
        ({"is_compacted": True, "retention": None}, True, False),
        ({"retention": None, "is_retention_known": False}, False, False),
        ({"times": ()}, False, False),
    ],
)
def test_what_may_go_earlier_and_what_has_no_known_time(
    told: dict[str, object], is_limited: bool, is_timed: bool
) -> None:
    """A limit of size or compaction, and a broker that does not tell its rules or its times."""
    found = on_broker(of(partition(**told)), [gap(75, 80)])

    assert (found.is_limited, found.until is not None) == (is_limited, is_timed)


def test_what_is_lost_and_what_is_held_is_said_with_places_and_times() -> None:
    """By partition, offsets and the event times beside them."""
    lost = gap(4_100, 5_205, "2").model_copy(update={"event_from": NOON, "event_until": NOON + timedelta(minutes=7)})
    told = GapsOnBroker(lost=(lost,), held=300, until=NOON, is_limited=True)
    gaps = (lost, gap(1, 300))
    found = GapsFinding(lowest=0, highest=9_999, positions=1, missing=1_406, gaps=gaps, on_broker=told)

    assert on_broker_in_words(found) == (
        "Kafka no longer has 1,106 of them: they are lost for good.",
        "Lost: partition 2, offsets 4,100 to 5,205, event times about 12:00:00 to 12:07:00 UTC on 2026-11-02.",
        "Kafka still holds the offsets of 300 others until at least 2026-11-02 12:00 UTC; its size limit or compaction "
        "may remove them earlier.",
    )


def test_a_topic_is_said_with_how_far_back_it_goes_and_how_long_it_is_kept() -> None:
    """As doctor prints it."""
    assert in_words([partition(), partition(1, retention_bytes=9)]) == (
        "orders: 2 partitions, back to 2026-11-02 12:00 UTC, kept for 2 h"
    )
    assert "unknown time" in in_words([partition(retention=None, is_retention_known=False)])
    assert "empty" in in_words([partition(earliest=200, times=())])
    assert "unknown age" in in_words([partition(times=())])


def told(*partitions: KafkaPartition) -> Seen[KafkaPartition]:
    """A broker that says this."""
    return Seen[KafkaPartition](source="the Kafka broker of orders", values=partitions)


UNREACHABLE = NotSeen(source="Kafka", reason="Kafka is not reachable.", remedy="Check `servers`.")


@pytest.mark.parametrize(
    ("broker", "is_good", "has_remedy"),
    [
        (told(partition()), True, False),
        (told(partition(retention=None, is_retention_known=False)), True, True),
        (UNREACHABLE, "CANNOT TELL", True),
    ],
    ids=["known", "no right to its rules", "down"],
)
def test_doctor_has_one_line_of_a_broker(
    broker: Seen[KafkaPartition] | NotSeen, is_good: object, has_remedy: bool
) -> None:
    """What it holds; else what is wrong, and what to do."""
    what, judged, found, remedy = broker_line("Kafka, job orders", broker)

    assert (what, judged, bool(found), bool(remedy)) == ("Kafka, job orders", is_good, True, has_remedy)


def skipped(
    seen: Seen[KafkaPartition] | NotSeen, *gaps: PositionGap, following: int | None = None, **found: object
) -> Case:
    """A run that skipped these, on a broker that says so; `following`: where the job's savepoint goes on."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).becomes("a", "FAILED").keeps_point("a", 2)
    tale = tale.flink_runs("b").commits("b", 1, 2)
    missing = sum(each.size for each in gaps)
    told = GapsFinding(lowest=0, highest=199, positions=9, missing=missing, gaps=gaps, on_broker=on_broker(seen, gaps))
    case = tale.looked_at(gaps=told, **found)
    points = case.observation.checkpoints
    assert isinstance(points, Seen)
    if following is not None:
        place = SourcePosition(operator_id=OperatorId("f" * 32), topic="orders", partition=0, following=following)
        bare = (each.model_copy(update={"source_positions": (place,)}) for each in points.values)
        points = points.model_copy(update={"values": tuple(bare)})
    return case.model_copy(
        update={"observation": case.observation.model_copy(update={"kafka": seen, "checkpoints": points})}
    )


@pytest.mark.parametrize(
    ("first", "following", "files", "remedy"),
    [
        (40, 40, 0, Remedy.FIND_ARCHIVE),
        (40, 40, 3, Remedy.FIND_ARCHIVE),
        (40, None, 0, Remedy.FIND_ARCHIVE),
        (40, None, 3, Remedy.REPLAY_SOURCE_RANGE),
        (45, 45, 0, Remedy.REPLAY_SOURCE_RANGE),
    ],
    ids=["never read", "never read, files", "read or not", "files may hold them", "held in part"],
)
def test_what_nothing_holds_is_lost_for_good_and_no_replay_is_proposed(
    first: int, following: int | None, files: int, remedy: Remedy
) -> None:
    """Ten records, of which the broker has none or a part, and files that no commit names."""
    case = skipped(of(partition()), gap(first, first + 9), following=following, orphans=orphans(files))

    found = source_positions_skipped.examine(case)

    assert found.remedy is remedy
    assert ("lost for good" in found.headline) is (remedy is Remedy.FIND_ARCHIVE)
    assert any("lost for good" in reason for reason in found.reasons)
    assert any("before the job read them: checkpoint" in reason for reason in found.reasons) is (following is not None)


def test_a_saved_case_keeps_what_the_broker_said_unless_offsets_are_hidden() -> None:
    """Its offsets are positions, which a contract may hide."""
    case = skipped(of(partition()), gap(40, 49))
    hidden = case.contract.model_copy(update={"position": "source_position", "redacted": ("source_position",)})
    other = hidden.model_copy(update={"redacted": ("customer",)})

    kept = Case.model_validate_json(outgoing_case(case, other).model_dump_json())
    bare = outgoing_case(case, hidden)

    assert kept.observation.kafka == case.observation.kafka
    assert bare.observation.kafka is None


def test_a_broker_that_could_not_be_asked_has_lost_nothing() -> None:
    """The diagnosis says so, and a replay stays the remedy."""
    found = source_positions_skipped.examine(
        skipped(NotSeen(source="Kafka", reason="Nobody answered.", remedy="Look again."), gap(40, 49))
    )

    assert found.remedy is Remedy.REPLAY_SOURCE_RANGE
    assert "Whether Kafka still has them is not known: Nobody answered." in found.reasons
