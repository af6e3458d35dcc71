"""A declared replay: what rows can be made from again, and which of them are meant."""

from datetime import timedelta
from typing import Self

from pydantic import Field, model_validator

from bot.domain.record import Record, Utc


class ReplayRecipe(Record):
    """How the rows of a table are made once more from its source. Exactly one of `sql` and `function` is named."""

    sql: str | None = Field(
        default=None,
        description="A Spark SQL SELECT with the table's columns; Waterline adds the bounds.",
        examples=["SELECT order_id, event_time, amount, source_position FROM parquet.`s3://landing/orders`"],
    )
    function: str | None = Field(
        default=None,
        pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$",
        description="A PySpark function `module:name`. It gets the Spark Connect session and the bounds "
        "(`bot.domain.replay.ReplayRange`), and returns a DataFrame with the table's columns.",
        examples=["recipes.orders:again"],
    )
    source: str = Field(
        min_length=1,
        description="What is read, and how far back it goes, in words for approvers.",
        examples=["topic orders, kept for 7 days"],
    )
    settled_after: timedelta = Field(
        default=timedelta(hours=1),
        gt=timedelta(0),
        description="If rows have no source position: the job has surely read events that are this much older "
        "than the newest. Younger events are never replayed.",
        examples=["PT1H"],
    )
    most_rows: int = Field(
        default=1_000_000,
        ge=1,
        description="A replay of more rows is refused: use a job for it.",
        examples=[1_000_000],
        json_schema_extra={"unit": "rows"},
    )

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.sql is None) == (self.function is None):
            raise ValueError("name exactly one of `sql` and `function`")
        return self


class PositionRange(Record):
    """Source positions of one source partition, both bounds inclusive."""

    first: int
    last: int
    partition: str | None = None
    """None: of every source partition."""


class PartitionBound(Record):
    """One value of one partition field, as a condition on the column that the field is made of: `equals`, or else a
    half-open range of its times."""

    field: str
    """The field's own name: `event_day`."""
    value: str
    """As engines show it: `2026-11-03`."""
    column: str
    equals: str | None = None
    time_from: Utc | None = None
    """Inclusive."""
    time_until: Utc | None = None
    """Exclusive."""


class ReplayRange(Record):
    """Which rows of the source are meant: those in all of `partitions`; else those that any of `positions` names; else,
    by their event time."""

    positions: tuple[PositionRange, ...] = ()
    event_from: Utc | None = None
    """Inclusive."""
    event_until: Utc | None = None
    """Exclusive."""
    partitions: tuple[PartitionBound, ...] = ()


class SourceSurvey(Record):
    """What the declared source has within bounds, beside what the table has of it; nothing was written. Everything
    below `given` is counted only where that is not more than the recipe's `most_rows`."""

    given: int
    """Rows that the source gives within the bounds; one more than `most_rows` where there are more."""
    places: int = 0
    """Source positions among them; 0 where the contract names none."""
    first: int | None = None
    """Of these positions the lowest."""
    last: int | None = None
    """The highest."""
    repeated: int = 0
    """Rows above one per key among them."""
    differing: int = 0
    """Rows whose key lives, within the bounds or elsewhere, with other values."""
    differing_keys: tuple[tuple[str, ...], ...] = ()
    """Keys of the first few of these, values in the order of the contract's key."""
    absent: int = 0
    """Rows whose key does not live: what a replay would write."""
    unsettled: int = 0
    """Of these, rows that the job may still bring: they do not lie below what the table has."""
    not_given: int = 0
    """Live rows within the bounds whose key the source does not give."""
    event_from: Utc | None = None
    """Of the absent rows; None without any, or where the contract names no event time."""
    event_until: Utc | None = None
    digest: str = ""
    """Over every column of the absent rows, in no order."""


class Replay(Record):
    """One replay, exactly: the recipe, the bounds, and what came of both when it was looked at."""

    recipe: ReplayRecipe
    bounds: ReplayRange
    key: tuple[str, ...]
    """A row whose key lives already is left as it is."""
    position: str | None
    position_partition: str | None
    event_time: str | None
    rows: int
    digest: str
