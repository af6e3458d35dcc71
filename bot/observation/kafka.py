"""How a job's Kafka broker is reached; what it still holds of the topics that the job reads, and until when. Pure."""

from bisect import bisect_right
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Literal

from pydantic import Field

from bot.observation.record import Documented, Record, Utc
from bot.observation.sentences import counted, span


class KafkaSettings(Documented):
    """The broker that a job reads from: asked what it still holds, and read by a replay. Its password is
    elsewhere."""

    servers: str = Field(min_length=1, examples=["kafka-1:9092,kafka-2:9092"])
    """Bootstrap servers, with commas between them."""
    topics: tuple[str, ...] = Field(min_length=1, examples=[["orders"]])
    """Topics that the job reads."""
    protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = Field(
        default="PLAINTEXT", examples=["SASL_SSL"]
    )
    """Kafka's `security.protocol`."""
    mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] = Field(default="PLAIN", examples=["SCRAM-SHA-512"])
    """Kafka's `sasl.mechanism`, for the two SASL protocols."""
    user: str | None = Field(default=None, examples=["waterline"])
    """User of the SASL login."""
    secret_file: Path | None = Field(default=None, examples=["/var/run/secrets/kafka-password"])
    """File with its password. Waterline reads it each time it connects."""
    secret_variable: str | None = Field(default=None, examples=["KAFKA_PASSWORD"])
    """Environment variable with the password, instead of a file."""
    ca_file: Path | None = Field(default=None, examples=["/etc/waterline/kafka-ca.pem"])
    """Certificate authority of the brokers, as PEM, if the system does not know it."""
    certificate_file: Path | None = Field(default=None, examples=["/etc/waterline/kafka.crt"])
    """Client certificate, as PEM, for brokers that ask for one."""
    key_file: Path | None = Field(default=None, examples=["/etc/waterline/kafka.key"])
    """Its key, as PEM, unencrypted."""


class OffsetTime(Record):
    """The record at `offset` has the timestamp `at`. Kafka deletes from the oldest on, so every later record of its
    partition stays at least as long."""

    offset: int
    at: Utc


class KafkaPartition(Record):
    """One partition of one topic, as the broker describes it at one moment."""

    topic: str
    topic_id: str | None = None
    """The broker's own id of the topic; a topic that was deleted and made anew has another. None: it tells none."""
    partition: int
    earliest: int
    """The first offset that can still be read. Records below it are gone for good."""
    latest: int
    """The offset that the next record gets."""
    times: tuple[OffsetTime, ...] = ()
    """By rising offset, of records that the broker still holds."""
    retention: timedelta | None = None
    """After this age a record may be deleted (`retention.ms`); None: never for its age, or not deleted at all."""
    retention_bytes: int | None = None
    """Above this size the oldest records may be deleted at any time; None: no such limit."""
    is_compacted: bool = False
    """Records of a key that has a newer one may be deleted at any time (`cleanup.policy`)."""
    is_retention_known: bool = True
    """False: the broker did not tell these three, so records may go at any time."""

    @property
    def name(self) -> str:
        """`orders/0`."""
        return f"{self.topic}/{self.partition}"

    def lost(self, first: int, last: int) -> tuple[int, int] | None:
        """The part of `first` to `last`, both inclusive, that the broker no longer has; None: it has all of them."""
        return (first, min(last, self.earliest - 1)) if first < self.earliest else None

    def kept_until(self, offset: int) -> datetime | None:
        """The record at `offset`, and each later one, stays at least until then for its age; the size of the topic may
        remove it earlier. None: no age removes it, or no time or retention is known of it."""
        position = bisect_right(self.times, offset, key=lambda each: each.offset)
        if self.retention is None or position == 0:
            return None
        return self.times[position - 1].at + self.retention


def in_words(partitions: Sequence[KafkaPartition]) -> str:
    """What a broker holds, by topic: `orders: 3 partitions, back to 2026-11-28 14:20 UTC, kept for 7 d`."""
    topics = {each.topic: [other for other in partitions if other.topic == each.topic] for each in partitions}
    return "; ".join(f"{topic}: {_of_topic(each)}" for topic, each in topics.items())


def _of_topic(partitions: Sequence[KafkaPartition]) -> str:
    first = partitions[0]
    oldest = min((each.times[0].at for each in partitions if each.times), default=None)
    back = f"back to {oldest:%Y-%m-%d %H:%M} UTC" if oldest is not None else "empty"
    if oldest is None and any(each.earliest < each.latest for each in partitions):
        back = "with records of unknown age"
    kept = f"kept for {span(first.retention)}" if first.retention is not None else "kept without a time limit"
    if not first.is_retention_known:
        kept = "kept for an unknown time"
    limits = ", up to a size" if first.retention_bytes is not None else ""
    limits += ", compacted" if first.is_compacted else ""
    return f"{counted(len(partitions), 'partition')}, {back}, {kept}{limits}"
