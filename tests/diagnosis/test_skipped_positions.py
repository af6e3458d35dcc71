"""Positions that the source skipped, and what the broker still has of them."""

from datetime import UTC, datetime, timedelta
from typing import Any

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
from tests.diagnosis.answers import LastGood, Rows, answer_table, check
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


@pytest.mark.parametrize(("young", "named"), [(0, "But 3 files"), (2, "But 1 file"), (3, None)])
def test_files_that_no_commit_names_are_to_be_looked_into_first(young: int, named: str | None) -> None:
    """Of a commit that went with every trace in the metadata they are the only copy; those in flight are none."""
    case = with_bounds(jumped().looked_at(gaps=GAP, orphans=orphans(3, young=young)))

    found = source_positions_skipped.examine(case)

    told = [reason for reason in found.reasons if "on storage that no commit names" in reason]
    assert bool(told) is (named is not None)
    assert all(reason.startswith(f"{named} on storage") for reason in told)


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


def deleting(*counts: tuple[int, int]) -> Tale:
    """The commits carry so many (equality deletes, position deletes) each."""
    tale = jumped()
    told = [{"added-equality-deletes": str(one), "added-position-deletes": str(other)} for one, other in counts]
    tale.snapshots = [
        each.model_copy(update={"summary": {**each.summary, **its}})
        for each, its in zip(tale.snapshots, told, strict=True)
    ]
    return tale


def of_changelog(*counts: tuple[int, int], bounds: tuple[tuple[int, int] | None, ...]) -> Case:
    """The job writes by key without upserts."""
    case = deleting(*counts).looked_at(gaps=GAP)
    told = [{} if each is None else {"position_from": each[0], "position_until": each[1]} for each in bounds]
    rows = tuple(row.model_copy(update=its) for row, its in zip(case.ledger.rows, told, strict=True))
    return case.model_copy(update={"ledger": Ledger(rows=rows, readers_known=False)})


MAY_BE_DELETES = "whether the source skipped positions 50 to 59 or had deletes there"


def changed_by(run: str | None, operation: str, **counts: int) -> Tale:
    """Between two commits of the job another writer, or another Flink job, has changed so many rows."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).commits(run, *([1] if run else []), operation=operation)
    return tale.counts(**counts).commits("a", 3)


def overwritten(run: str | None, wrote: int) -> Case:
    """Thirty positions are missing, of a hundred rows that it took in whole files."""
    return changed_by(run, "overwrite", deleted_records=100, added_records=wrote).looked_at(missing=30)


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
        (UNREACHABLE, "COULD NOT CHECK", True),
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


def leaking(run: str, checkpoint: int, **told: Any) -> Case:
    """A manifest of that checkpoint is on storage."""
    tale = jumped().leaves_manifest(run, checkpoint)
    return tale.looked_at(gaps=GAP, leaked=leaks(*tale.manifests, **told))


def keyed(found: GapsFinding, *starts: int, partition: str | None = None) -> Case:
    """The table is written by key, its commits begin there, and this was found."""
    case = by_key(jumped().looked_at(gaps=found), starts)
    contract = case.contract.model_copy(update={"position_partition": partition})
    return case.model_copy(update={"contract": contract})


def parted(tale: Tale, *bounds: tuple[int, int], gaps: tuple[PositionGap, ...], since: int = 0) -> Case:
    """The source has several partitions; `since`: the window begins after this checkpoint of run a."""
    return of_partitions(tale.looked_at(since=tale.at("a", since) if since else None), bounds, *gaps)


def rewound() -> Tale:
    """Checkpoint 2 was rolled back, and run b committed it again."""
    return Tale().flink_runs("a").commits("a", 1, 2).rolls_back_to("a", 1).flink_runs("b", restored=1).commits("b", 2)


F18, THREE = source_positions_skipped, Tale().flink_runs("a").commits("a", 1, 2, 3)
BOTH = (IN_0, IN_1)


@answer_table(
    {
        "the commits beside a jump show it, and the run that began too late is named": (
            F18, with_bounds(jumped().looked_at(gaps=GAP)), Rows("a2 b1"), LastGood("a2"), Remedy.REPLAY_SOURCE_RANGE,
            "first commit of run bbbbbb, which started without state (F15)",
        ),
        "what an untold manifest holds may have been read again and written after all": (
            F18, leaking("a", 2, standing=LeakStanding.UNTOLD), CannotTell,
            "whether the missing rows are those of 1 Flink manifest",
        ),
        "run a is over, and a savepoint lists its manifest: a restore commits these rows": (
            F18, leaking("a", 3, positions=(50, 59)), CannotTell,
        ),
        "a manifest beside the gap is none of it": (F18, leaking("a", 3, positions=(70, 79)), Matches),
        "nor is one of the living run": (F18, leaking("b", 3, positions=(50, 59)), Matches),
        "by key: every position of a replaced row is missing": (
            F18, keyed(GAP, 0, 25, 50, 75), CannotTell, "replaced by a newer row",
        ),
        "by key: what no commit reaches was skipped": (
            F18, keyed(GAP, 0, 25, 60, 85), Matches, "the first gap is 50 to 59",
        ),
        "by key: bounds of several source partitions": (F18, keyed(GAP, 0, 25, 60, 85, partition="p"), CannotTell),
        "by key: replaced rows were told apart": (F18, keyed(APART, 0, 25, 50, 75), Matches, "20 source positions"),
        "by key: deletes may account for all that is left": (
            F18, keyed(APART.model_copy(update={"is_untold": True}), 0, 25, 60, 85), CannotTell,
            "without a row held deletes",
        ),
        **{
            f"an upsert writes a delete with each of its ten rows, {what}": (
                F18, by_key(deleting(*counts).looked_at(gaps=GAP), (0, 25, 60, 85)), *answer,
            )
            for what, counts, *answer in (
                ("and no more", ((10, 0), (10, 0), (10, 0), (10, 0)), Matches),
                ("one more elsewhere", ((11, 0), (8, 2), (7, 3), (12, 0)), Matches),
                ("one more below the seam", ((10, 0), (11, 0), (10, 0), (10, 0)), CannotTell, MAY_BE_DELETES),
                ("one more above it", ((10, 0), (10, 0), (8, 3), (10, 0)), CannotTell, MAY_BE_DELETES),
                ("not told of all", ((10, 0), (4, 0), (10, 0), (10, 0)), CannotTell, MAY_BE_DELETES),
            )
        },
        "without upserts a delete may stand alone": (
            F18, of_changelog((1, 0), (0, 0), (0, 0), (1, 0), bounds=((0, 24), (25, 49), (60, 84), (85, 109))), Matches,
        ),
        "a commit of deletes between the two has no position at all": (
            F18, of_changelog((0, 0), (30, 0), (0, 0), (0, 0), bounds=((0, 49), None, (60, 84), (85, 109))), CannotTell,
        ),
        **{
            f"another writer explains no more rows than it took: {what}": (
                F18, changed_by(None, "delete", **took).looked_at(missing=30), answer,
            )
            for what, took, answer in (
                ("all thirty", {"deleted_records": 30}, Excluded),
                ("some", {"deleted_records": 29}, CannotTell),
                ("none", {"deleted_records": 0}, Matches),
                ("one by position", {"deleted_records": 29, "added_position_deletes": 1}, Excluded),
                ("one by key", {"deleted_records": 29, "added_equality_deletes": 1}, Excluded),
                ("nobody knows how many", {"deleted_records": 29, "added_delete_files": 1}, Excluded),
            )
        },
        **{
            f"an overwrite took 100 rows in whole files, and wrote {wrote} anew: as many may be missing by it": (
                F18, with_bounds(overwritten(None, wrote)), Excluded,
            )
            for wrote in (0, 70)
        },
        **{
            f"an overwrite wrote {wrote} anew: fewer are missing by it": (
                F18, with_bounds(overwritten(None, wrote)), CannotTell, f"took 100 rows, and wrote {wrote} anew",
            )
            for wrote in (71, 100)
        },
        "without positions it has brought none back": (F18, overwritten(None, 100), Excluded),
        "another Flink job brings rows of its own": (F18, with_bounds(overwritten("z", 100)), Excluded),
        "partition 0 is whole up to 499, and partition 1 up to 99: what lies below one gap is not below the other": (
            F18, parted(THREE, (0, 300), (110, 499), (201, 600), gaps=BOTH), LastGood(None),
        ),
        "the last good snapshot lies below the gaps of every partition": (
            F18, parted(THREE, (0, 99), (80, 300), (201, 600), gaps=BOTH), LastGood("a1"),
        ),
        "or where the window begins": (F18, parted(THREE, (110, 499), (201, 600), gaps=BOTH, since=1), LastGood("a1")),
        "that a commit which was rolled back lies around a gap says nothing of a partition": (
            F18, parted(rewound(), (0, 99), (100, 400), (110, 600), gaps=(IN_1,)), "was rolled back, had brought",
        ),
        "nor that two commits lie beside it": (
            F18, parted(Tale().flink_runs("a").commits("a", 1, 2), (0, 99), (110, 600), gaps=(IN_1,)), Rows(""),
        ),
        "more rows than the overwritten commit had are missing for another reason": (
            F18, beside(gone_on(), 2, missing=11), Matches,
        ),
        "a refused commit that was tried again leaves a metadata file, too": (
            commit_overwritten, beside(gone_on(), 3), Excluded,
        ),
        "so does one whose run has not gone on yet": (
            commit_overwritten, beside(Tale().flink_runs("a").commits("a", 1), 2), Excluded,
        ),
        "or whose rows came again": (commit_overwritten, beside(gone_on(), 2, missing=0), Excluded),
        "a broker that could not be asked has lost nothing": (
            F18, skipped(NotSeen(source="Kafka", reason="Nobody answered.", remedy="Look again."), gap(40, 49)),
            Remedy.REPLAY_SOURCE_RANGE, "Whether Kafka still has them is not known: Nobody answered.",
        ),
    }
)  # fmt: skip
def test_what_the_source_skipped(mode: Any, case: Case, expected: list[Any]) -> None:
    """Positions that no row has, what else may account for them, and what nobody can tell."""
    check(mode, case, expected)
