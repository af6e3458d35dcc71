"""What the broker still has of missing positions: lost for good, held until, or not known."""

from datetime import UTC, datetime, timedelta

import pytest

from bot.cli.doctor import broker_line
from bot.diagnosis import source_positions_skipped
from bot.domain.broker_gaps import on_broker, on_broker_in_words
from bot.domain.diagnosis import Case, Matches, Remedy
from bot.domain.findings import GapsFinding, GapsOnBroker, PositionGap
from bot.domain.flink import SourcePosition
from bot.domain.hidden_values import outgoing_case
from bot.domain.ids import OperatorId
from bot.domain.kafka import KafkaPartition, OffsetTime, in_words
from bot.domain.looked import NotSeen, Seen
from tests.cases import Tale
from tests.found import orphans

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
    """In this partition."""
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

    assert isinstance(found, Matches)
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

    assert isinstance(found, Matches)
    assert found.remedy is Remedy.REPLAY_SOURCE_RANGE
    assert "Whether Kafka still has them is not known: Nobody answered." in found.reasons
