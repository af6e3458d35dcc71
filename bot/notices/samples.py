"""Sample facts of every shape that a notice can meet: what lint and the tests render each template with."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import product

from bot.domain.ids import CheckpointId, IncidentId, SnapshotId, TableName, UserId
from bot.notices.announced import Backfill, Earlier, ProposedRecovery, ReviewDone, TermChange
from bot.notices.facts import (
    Affected,
    ConsumerRuns,
    Damage,
    ManyReaders,
    NoticeFacts,
    NotObserved,
    ReadAbove,
    ReadersUnknown,
    Reading,
    ReadThrough,
    RunAbove,
    RunThrough,
    Stage,
    Trusted,
)

_NOON = datetime(2026, 11, 3, 12, 0, tzinfo=UTC)
_GOOD = SnapshotId(5130840912223377421)
WORDS = "Only checkpoints 7 to 9 are concerned, and it ends at 14:00 UTC <today> & not before."
"""What a responder adds, in samples."""

READINGS: dict[str, Reading] = {
    "read above": ReadAbove(runs=(RunAbove(run_id="run-1", at=_NOON, snapshot_id=SnapshotId(_GOOD + 1)),)),
    "read above, often": ReadAbove(
        runs=tuple(
            RunAbove(run_id=f"0192f0c4-{n:04}-7d4e-9a5b-6d1f2c3b4a59", at=_NOON, snapshot_id=SnapshotId(_GOOD + n))
            for n in range(1, 40)
        )
    ),
    "read through others": ReadThrough(
        runs=tuple(
            RunThrough(
                run_id=f"far-{n}",
                at=_NOON,
                path=("revenue_daily", "marts.revenue", "kpi_hourly", "marts.kpi"),
                distance=3,
            )
            for n in range(1, 12)
        )
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
TRUSTED: dict[str, Trusted | None] = {
    "trusted by tag": Trusted(snapshot_id=_GOOD, committed_at=_NOON, checkpoint_id=CheckpointId(10), by_tag=True),
    "trusted by id": Trusted(snapshot_id=_GOOD, committed_at=None, checkpoint_id=None, by_tag=False),
    "no trusted snapshot": None,
}
AFFECTED: dict[str, Affected | None] = {
    "under review": Affected(
        snapshots=tuple(SnapshotId(_GOOD + n) for n in range(1, 40)),
        first_at=_NOON, last_at=_NOON + timedelta(minutes=40), rows=1_204_000, taken_back=False,
    ),
    "taken back": Affected(
        snapshots=(SnapshotId(_GOOD + 1),), first_at=_NOON, last_at=_NOON, rows=1, taken_back=True,
    ),
    "nothing affected": None,
}  # fmt: skip
CHANGES = tuple(
    TermChange(
        contract="state", term="Restores start from a point that pairs with the table.",
        observed=f"Savepoint {n} has no pair.", action="Start only from stop-savepoints." if n % 2 else "",
    )
    for n in range(1, 13)
)  # fmt: skip
PROPOSAL = ProposedRecovery(
    title="Rewind sales.orders and its job to checkpoint 10", state="proposed",
    sentences=("Stop the job with a savepoint.", "Move main back to …377421.", "Start the job from checkpoint 10."),
    commits=3, rows=1_204_000, replayed_from=CheckpointId(10), expires_at=_NOON + timedelta(minutes=30),
)  # fmt: skip
BACKFILL = Backfill(since=_NOON - timedelta(days=3), until=_NOON, rows=300, after_checkpoint=CheckpointId(10))
STAGES: tuple[Stage, ...] = ("investigating", "diagnosed", "proposed", "executing", "verifying", "proven")


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
                opened_at=_NOON,
                summary="Revenue <doubled> & more" if full else "",
                words=WORDS if full else "",
                stage=stage,
                cause="the job was restored from an older savepoint" if full else None,
                affected=affected,
                trusted=trusted,
                damage=Damage(extra_rows=220 if full else None, missing_positions=1 if full else None),
                reading=reading,
                proofs=("no duplicates", "no gaps") if stage == "proven" else (),
                to_come=350 if full else 0,
                proposal=PROPOSAL if full else None,
                backfill=BACKFILL if full else None,
                changes=CHANGES if full else (),
                review=ReviewDone(looked_at=14, broken=CHANGES, unknown=2) if full else None,
                earlier=Earlier(kind="first_warning", title="First warning", at=_NOON, severity="sev3")
                if full
                else None,
                now=_NOON,
                next_word_at=_NOON + timedelta(minutes=30) if full else None,
                channel="C0ORDERS01",
                responder=UserId("U0ANA00001") if full else None,
            ),
        )


_EXAMPLES: dict[str, tuple[str, str, str, Stage]] = {
    "first_warning": ("read above", "trusted by tag", "under review", "diagnosed"),
    "update": ("read through others", "trusted by tag", "under review", "executing"),
    "recovery_proposed": ("not observed", "trusted by tag", "under review", "diagnosed"),
    "recovered": ("read above", "trusted by tag", "taken back", "proven"),
    "correction": ("unknown readers", "trusted by tag", "under review", "diagnosed"),
    "no_action_needed": ("not observed", "trusted by tag", "nothing affected", "proven"),
    "review_published": ("not observed", "trusted by tag", "nothing affected", "proven"),
}


_WORDS = {
    "correction": "Only the rows of checkpoints 7 to 9 are concerned, not those of the whole morning.",
    "backfill_coming": "From 13:00 to about 14:00 UTC today, so that the lost rows of this morning are there again.",
    "contract_change": "From 1 December on, snapshots are kept for 7 days instead of 5.",
}


def example(kind: str) -> NoticeFacts:
    """One telling sample for this kind of notice, its lists short."""
    reading, trusted, affected, stage = _EXAMPLES.get(
        kind, ("not observed", "trusted by tag", "under review", "diagnosed")
    )
    facts = dict(samples())[f"{reading}, {trusted}, {affected}, {stage}"]
    seen = facts.reading
    if isinstance(seen, ReadThrough):
        seen = seen.model_copy(update={"runs": seen.runs[:2]})
    few = facts.affected
    if few is not None:
        few = few.model_copy(update={"snapshots": few.snapshots[:3], "rows": 300})
    return facts.model_copy(
        update={
            "summary": "Revenue is too high since 09:00.",
            "words": _WORDS.get(kind, ""),
            "severity_before": "sev3" if kind == "update" else None,
            "reading": seen,
            "affected": few,
            "changes": facts.changes[:2],
            "review": facts.review.model_copy(update={"broken": facts.review.broken[:2]}) if facts.review else None,
        }
    )
