"""What is told of a start from one restore point, table by table, and of all tables of the job together."""

from collections.abc import Sequence
from enum import StrEnum

from pydantic import Field

from bot.domain.flink import CheckpointKind
from bot.domain.ids import CheckpointId, JobId, TableName, short_job
from bot.domain.ledger import SourceRange
from bot.domain.record import Record, Utc
from bot.domain.sentences import counted
from bot.domain.trust import ExactId

MOST_NAMED = 50
"""So many commits of an extent are named."""


class RestoreVerdict(StrEnum):
    RIGHT = "right"
    WRONG = "wrong"
    CANNOT_TELL = "cannot-tell"


class Extent(Record):
    """Commits whose rows a start would write a second time, or would never bring back."""

    rows: int = Field(description="Their rows, by the counts of the commits.")
    is_at_most: bool = Field(description="Whether it may be fewer rows: some may be there twice, or are not concerned.")
    commits: int = Field(description="How many commits they are.")
    first_checkpoint: CheckpointId | None = Field(description="Of the oldest of these commits; null: it names none.")
    last_checkpoint: CheckpointId | None = Field(description="Of the newest of them.")
    runs: tuple[JobId, ...] = Field(description="The Flink runs that made them.")
    snapshots: tuple[ExactId, ...] = Field(description=f"The commits, oldest first, at most {MOST_NAMED}.")
    ranges: tuple[SourceRange, ...] = Field(
        default=(), description="Source positions of these rows, by partition; empty where they are not all known."
    )


class RestorePrediction(Record):
    """What a start would do to one table."""

    table: TableName = Field(description="namespace.table.")
    verdict: RestoreVerdict = Field(description="right, wrong or cannot-tell.")
    reason: str = Field(description="Why, in sentences.")
    repeated: Extent | None = Field(default=None, description="What the job would write a second time; null: nothing.")
    lost: Extent | None = Field(default=None, description="What main lacks and the job would not write again.")
    lost_for_good: tuple[str, ...] = Field(
        default=(), description="Ranges of records that the start needs and Kafka has deleted."
    )
    fails: str | None = Field(default=None, description="Why the job would not come up, or would never commit.")
    would_decide: str | None = Field(default=None, description="What would decide it; null where it is decided.")


class RestoreCheck(Record):
    """Whether a start of a table's Flink job from one path is right for what is on main now."""

    table: TableName = Field(description="The table that was asked about.")
    job: str | None = Field(description="Its Flink job; null where none is configured.")
    path: str = Field(description="The restore point, as it was asked for.")
    verdict: RestoreVerdict = Field(
        description="right: every table of the job goes on exactly-once. wrong: one does not. cannot-tell: neither."
    )
    reason: str = Field(description="Why, in sentences.")
    would_decide: str | None = Field(default=None, description="What would decide it; null where it is decided.")
    kind: CheckpointKind | None = Field(default=None, description="What the path holds; null: it was not read.")
    checkpoint: CheckpointId | None = Field(default=None, description="Its checkpoint id.")
    run: JobId | None = Field(default=None, description="The Flink run that wrote it.")
    written_at: Utc | None = Field(default=None, description="When its _metadata was written.")
    alive: tuple[JobId, ...] = Field(default=(), description="Runs of the job that have not ended.")
    tables: tuple[RestorePrediction, ...] = Field(
        default=(), description="Each table of the job; the one that was asked about comes first."
    )
    not_seen: tuple[str, ...] = Field(default=(), description="What could not be looked at, a sentence each.")
    instead: str | None = Field(
        default=None, description="Where it is wrong: the newest path on storage that is right; null: none is known."
    )
    checked_at: Utc = Field(description="When it was looked at; a later commit may change the answer.")


def combined(found: Sequence[RestorePrediction], alive: Sequence[JobId]) -> tuple[RestoreVerdict, str, str | None]:
    """(Verdict, reason, what would decide) of all tables of the job together. A run that has not ended leaves it open:
    it goes on committing, and a second one beside it repeats its rows."""
    for verdict in (RestoreVerdict.WRONG, RestoreVerdict.CANNOT_TELL):
        told = [each for each in found if each.verdict is verdict]
        if told:
            reason = " ".join(f"{each.table}: {each.reason}" for each in told)
            return verdict, reason, " ".join(each.would_decide for each in told if each.would_decide) or None
    if alive:
        runs = ", ".join(map(short_job, alive))
        are = "is" if len(alive) == 1 else "are"
        return (
            RestoreVerdict.CANNOT_TELL,
            f"The path fits main as it is now, but run {runs} of the job {are} still alive. It commits further, and "
            "a second run beside it would write every row twice.",
            "Stop the job with a savepoint, and check that savepoint.",
        )
    return RestoreVerdict.RIGHT, " ".join(f"{each.table}: {each.reason}" for each in found), None


def extent_in_words(extent: Extent) -> str:
    """`30 rows of 3 commits, checkpoints 6 to 8 of run b92e04`."""
    rows = f"{'at most ' if extent.is_at_most else ''}{counted(extent.rows, 'row')}"
    first, last = extent.first_checkpoint, extent.last_checkpoint
    which = ""
    if first is not None:
        of = f" of run {' and '.join(map(short_job, extent.runs))}" if extent.runs else ""
        which = f", checkpoint {first}{of}" if first == last else f", checkpoints {first} to {last}{of}"
    return f"{rows} of {counted(extent.commits, 'commit')}{which}{_positions(extent.ranges)}"


def _positions(ranges: Sequence[SourceRange]) -> str:
    """`, source positions 30 to 49`, `, source positions 30 to 49 of partition 0 and 2 more ranges`."""
    if not ranges:
        return ""
    first, more = ranges[0], len(ranges) - 1
    of = f" of partition {first.partition}" if first.partition is not None else ""
    rest = f" and {counted(more, 'more range')}" if more else ""
    return f", source positions {first.low:,} to {first.high:,}{of}{rest}"
