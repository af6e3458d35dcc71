"""A declared replay: what rows can be made from again, and which of them are meant."""

from datetime import timedelta
from typing import Self

from pydantic import Field, model_validator

from bot.observation.kafka import KafkaSettings
from bot.observation.record import Documented, Record, Utc

JSON = "json"


class ReplaySettings(Documented):
    """How the rows of a table are made once more from its source. Exactly one of `kafka`, `sql` and `function` is
    named."""

    kafka: str | None = Field(default=None, min_length=1, examples=["json"])
    """Reads the job's topic again (`jobs.<name>.kafka`), and of it only the offsets that are needed. `json`: each
    record has the table's columns by name. Else a Spark SQL SELECT with the table's columns from `records`, which has
    key, value, topic, partition, offset, timestamp and headers."""

    sql: str | None = Field(
        default=None,
        examples=["SELECT order_id, event_time, amount, source_position FROM parquet.`s3://landing/orders`"],
    )
    """A Spark SQL SELECT with the table's columns; Waterline adds the bounds."""
    function: str | None = Field(
        default=None, pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$", examples=["recipes.orders:again"]
    )
    """A PySpark function `module:name`. It gets the Spark Connect session and the bounds
    (`bot.observation.replay.ReplayRange`), and returns a DataFrame with the table's columns."""
    source: str = Field(default="", examples=["topic orders, kept for 7 days"])
    """What is read, and how far back it goes, in words for approvers. With `kafka`, by default topic and broker."""
    settled_after: timedelta = Field(default=timedelta(hours=1), gt=timedelta(0), examples=["PT1H"])
    """If rows have no source position: the job has surely read events that are this much older than the newest. Younger
    events are never replayed."""
    most_rows: int = Field(default=1_000_000, ge=1, examples=[1_000_000], json_schema_extra={"unit": "rows"})
    """A replay of more rows is refused: use a job for it."""

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if sum(way is not None for way in (self.kafka, self.sql, self.function)) != 1:
            raise ValueError("name exactly one of `kafka`, `sql` and `function`")
        if not self.source and self.kafka is None:
            raise ValueError("say in `source` what is read")
        return self

    def of(self, broker: KafkaSettings | None) -> "ReplayRecipe":
        """The same, for a table whose job reads from that broker."""
        told = dict(self)
        if self.kafka is None or broker is None:
            return ReplayRecipe(**told)
        source = self.source or f"Kafka topic {', '.join(broker.topics)} at {broker.servers}"
        return ReplayRecipe(**{**told, "source": source, "broker": broker})


class ReplayRecipe(ReplaySettings):
    """The same with all that reading the source takes, but for a password: that is looked up where it is read."""

    broker: KafkaSettings | None = Field(default=None, exclude_if=lambda told: told is None)
    """Where `kafka` is read."""


class PositionRange(Record):
    """Source positions of one source partition, both bounds inclusive."""

    first: int
    last: int
    partition: str | None = None
    """None: of every source partition."""


class ReplayRange(Record):
    """Which rows of the source are meant: those that any of `positions` names; else, by their event time."""

    positions: tuple[PositionRange, ...] = ()
    event_from: Utc | None = None
    """Inclusive."""
    event_until: Utc | None = None
    """Exclusive."""


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
