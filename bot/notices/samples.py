"""Sample facts of every shape that a notice can meet: what lint and the tests render each template with."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import product

from bot.incident.notice import WorkState
from bot.incident.trust import TAG
from bot.notices.extent import KeysChanged, Rerun, SnapshotRange
from bot.notices.facts import (
    Affected,
    Damage,
    Earlier,
    NoticeFacts,
    ProposedRecovery,
    ReviewDone,
    Stage,
    TermBroken,
    Trusted,
    Unheard,
)
from bot.notices.gather import shown_pins
from bot.notices.reading import (
    ConsumerRuns,
    ManyReaders,
    NotObserved,
    ReadAbove,
    ReadersUnknown,
    Reading,
    ReadThrough,
    RunAbove,
    RunThrough,
)
from bot.observation.ids import CheckpointId, IncidentId, SnapshotId, TableName, UserId
from bot.observation.table import Ref, TableState

NOON = datetime(2026, 11, 3, 12, 0, tzinfo=UTC)
GOOD = SnapshotId(5130840912223377421)
WORDS = "Only checkpoints 7 to 9 are concerned, and it ends at 14:00 UTC <today> & not before."
"""What a responder adds, in samples."""


def ids(*numbers: int) -> tuple[SnapshotId, ...]:
    return tuple(SnapshotId(GOOD + number) for number in numbers)


def row(first: int, last: int) -> SnapshotRange:
    return SnapshotRange(first=ids(first)[0], last=ids(last)[0], commits=last - first + 1)


READINGS: dict[str, Reading] = {
    "read above": ReadAbove(
        runs=(RunAbove(run_id="run-1", at=NOON, ranges=(row(1, 1),)),), snapshots=ids(1), ranges=(row(1, 1),)
    ),
    "read above, often": ReadAbove(
        runs=tuple(
            RunAbove(
                run_id=f"0192f0c4-{n:04}-7d4e-9a5b-6d1f2c3b4a59",
                at=NOON,
                ranges=tuple(row(each, each + n % 3) for each in range(n, n + 60, 4)),
            )
            for n in range(1, 40)
        ),
        snapshots=ids(*range(1, 40)),
        ranges=(row(1, 39),),
    ),
    "read through others": ReadThrough(
        runs=tuple(
            RunThrough(
                run_id=f"far-{n}",
                at=NOON,
                path=("revenue_daily", "marts.revenue", "kpi_hourly", "marts.kpi"),
                distance=3,
            )
            for n in range(1, 12)
        ),
        snapshots=ids(1, 2, 5),
        ranges=(row(1, 2), row(5, 5)),
    ),
    "many readers": ManyReaders(
        consumers=tuple(ConsumerRuns(consumer=f"job_{n}", runs=n, distance=1 + n // 10) for n in range(1, 20))
    ),
    "nobody seen": ManyReaders(consumers=()),
    "not observed": NotObserved(runs_seen=3),
    "no run known": NotObserved(runs_seen=0),
    "unknown readers": ReadersUnknown(
        source="Lineage events at http://lineage:5000", reason="the connection was refused"
    ),
}
_TABLE = TableState(
    name=TableName("sales.orders"), uuid="7d7f4d0e-1c0a-4b58-9c1f-0b6a5f0e9a11", location="s3://lake/sales/orders",
    metadata_location="s3://lake/sales/orders/metadata/00012-5f0c.metadata.json", format_version=2, head=GOOD,
    snapshots=(), refs=(Ref(name=TAG, kind="tag", snapshot_id=GOOD),),
    read_at=NOON,
)  # fmt: skip
TRUSTED: dict[str, Trusted | None] = {
    "trusted by tag": Trusted(
        snapshot_id=GOOD, committed_at=NOON, checkpoint_id=CheckpointId(10), by_tag=True, is_known_good=True,
        pins=shown_pins(_TABLE, GOOD, "Spark"),
    ),
    "trusted by id": Trusted(
        snapshot_id=GOOD, committed_at=NOON, checkpoint_id=None, by_tag=False, is_known_good=True,
        pins=shown_pins(_TABLE.model_copy(update={"refs": ()}), GOOD, "Spark"),
    ),
    "trusted, not listed": Trusted(
        snapshot_id=GOOD, committed_at=None, checkpoint_id=None, by_tag=False, is_known_good=True, pins=()
    ),
    "trusted, not looked at": Trusted(
        snapshot_id=GOOD, committed_at=NOON, checkpoint_id=None, by_tag=True, is_known_good=False,
        pins=shown_pins(_TABLE, GOOD, None), is_usual=True,
    ),
    "no trusted snapshot": None,
}  # fmt: skip
AFFECTED: dict[str, Affected | None] = {
    "under review": Affected(
        snapshots=ids(*range(1, 40)), ranges=(row(1, 39),), first_at=NOON, last_at=NOON + timedelta(minutes=40),
        rows=1_204_000, event_from=NOON - timedelta(hours=30), event_until=NOON + timedelta(minutes=39),
        events_untold=0, partitions=("day(event_time) 2026-11-02 to 2026-11-03",), partitions_untold=("region",),
        taken_back=False,
    ),
    "scattered": Affected(
        snapshots=ids(*range(1, 90, 2)), ranges=tuple(row(n, n) for n in range(1, 90, 2)), first_at=NOON,
        last_at=NOON + timedelta(minutes=40), rows=4500, event_from=NOON, event_until=NOON + timedelta(minutes=39),
        events_untold=2, partitions=(), partitions_untold=("day(event_time)",), taken_back=False,
    ),
    "taken back": Affected(
        snapshots=ids(1), ranges=(row(1, 1),), first_at=NOON, last_at=NOON, rows=1, event_from=None,
        event_until=None, events_untold=1, partitions=(), partitions_untold=(), taken_back=True,
    ),
    "nothing affected": None,
}  # fmt: skip
BROKEN = tuple(
    TermBroken(
        term=f"One row per key ({name}).", observed="At 09:12 UTC: 200 keys live more than once.",
        action="Write with upsert on this key." if n % 2 else "", is_fixed=n % 3 == 1,
    )
    for n, name in enumerate(("order_id", "line_id", *(f"key_{n}" for n in range(10))))
)  # fmt: skip
PROPOSAL = ProposedRecovery(title="Roll back sales.orders and its job to checkpoint 10", state="proposed")
KEYS = KeysChanged(
    columns=("region", "order_id"), repeated=200, changed=12, gone=1, differing=("amount", "status"),
    sample=tuple(f"region EU <*>, order_id {n}" for n in range(4711, 4716)), is_hidden=False,
)  # fmt: skip
STAGES: tuple[Stage, ...] = ("investigating", "diagnosed", "proposed", "executing", "verifying", "proven")


_WORK: dict[Stage, WorkState] = {"diagnosed": "planned", "verifying": "off", "proven": "over"}


def rerun_for(reading: Reading, affected: Affected | None, stage: Stage) -> Rerun:
    needed = None if stage != "proven" or reading.kind in ("unknown", "many") else reading.kind != "not-observed"
    where = affected if needed is not False and stage == "proven" else None
    is_known = where is not None and not where.events_untold
    return Rerun(
        needed=needed,
        from_snapshot=GOOD if where is not None and where.taken_back else None,
        resume_after=GOOD if where is not None and not where.taken_back else None,
        event_from=where.event_from if where is not None and is_known else None,
        event_until=where.event_until if where is not None and is_known else None,
        partitions=where.partitions if where is not None and is_known else (),
    )


def samples() -> Iterator[tuple[str, NoticeFacts]]:
    """(shape in words, facts) of every combination; sparse and full facts take turns over the stages."""
    for (read, reading), (trust, trusted), (touched, affected), stage in product(
        READINGS.items(), TRUSTED.items(), AFFECTED.items(), STAGES
    ):
        full = stage in ("diagnosed", "executing", "proven")
        yield (
            f"{read}, {trust}, {touched}, {stage}",
            NoticeFacts(
                table=TableName("sales.orders"),
                consumer="revenue_daily",
                owner="team revenue" if full else None,
                incident=IncidentId("wl-12"),
                severity="sev2",
                severity_before="sev3" if full else None,
                opened_at=NOON,
                symptom="Consumers see rows twice",
                summary="Revenue <doubled> & more" if full else "",
                words=WORDS if full else "",
                stage=stage,
                is_changed=stage in ("executing", "verifying", "proven"),
                cause="the job was restored from an older savepoint" if full else None,
                affected=affected,
                trusted=trusted,
                doubt="incident wl-13 has the table in doubt" if stage == "investigating" else None,
                damage=Damage(
                    extra_rows=220 if full else None,
                    missing_positions=1 if full else None,
                    lost_for_good=1 if full else None,
                    missing_from=NOON if full else None,
                    missing_until=NOON if full else None,
                    keys=KEYS if full else None,
                ),
                reading=reading,
                rerun=rerun_for(reading, affected, stage),
                proofs=("No duplicate rows", "No missing rows") if stage == "proven" else (),
                to_come=350 if full else 0,
                proposal=PROPOSAL if full else None,
                review=ReviewDone(looked_at=14, broken=BROKEN, unknown=2, inner=9) if full else None,
                earlier=Earlier(kind="warning", title="Warning", at=NOON, severity="sev3") if full else None,
                unheard=(Unheard(at=NOON, words=WORDS),) if full else (),
                now=NOON,
                next_word_at=NOON + timedelta(minutes=30) if full else None,
                work=_WORK.get(stage),
                over_by=NOON + timedelta(hours=2, minutes=10) if full else None,
                channel="C0ORDERS01",
                responder=UserId("U0ANA00001") if full else None,
                team="Orders: Dana <Weiss> (Owner), Ben" if full else None,
            ),
        )
