"""A declared replay: what rows can be made from again, and which of them are meant."""

from datetime import timedelta
from typing import Self

from pydantic import Field, model_validator

from bot.domain.record import Record, Utc


class ReplayRecipe(Record):
    """How the rows of a table are made once more from its source. Exactly one of `sql` and `function` is named."""

    sql: str | None = Field(
        default=None,
        description="A SELECT in Spark SQL whose columns are the table's; Waterline puts the bounds around it.",
        examples=["SELECT order_id, event_time, amount, source_position FROM parquet.`s3://landing/orders`"],
    )
    function: str | None = Field(
        default=None,
        pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$",
        description="A PySpark function `module:name`, called with the Spark Connect session and the bounds "
        "(`bot.domain.replay.ReplayRange`); it returns a DataFrame with the table's columns.",
        examples=["recipes.orders:again"],
    )
    source: str = Field(
        min_length=1,
        description="What is read, and how far back it goes, as an approver should read it.",
        examples=["topic orders, kept for 7 days"],
    )
    settled_after: timedelta = Field(
        default=timedelta(hours=1),
        gt=timedelta(0),
        description="Where rows carry no source position: an event this much older than the table's newest has surely "
        "been read by the job. Younger ones are never replayed, for the job may still bring them.",
        examples=["PT1H"],
    )
    most_rows: int = Field(
        default=1_000_000,
        ge=1,
        description="A replay of more rows is refused: it is better made by a job.",
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


class ReplayRange(Record):
    """Which rows of the source are meant: a row is, if any of `positions` names it; without any, by its event time."""

    positions: tuple[PositionRange, ...] = ()
    event_from: Utc | None = None
    """Inclusive."""
    event_until: Utc | None = None
    """Exclusive."""


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
