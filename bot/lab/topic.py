"""A topic of the lab's broker: made, hurt and read from outside. Only the stack `kafka` has one.

How many partitions get records, and of which kind, is the producer's: `Producing` is what it is told.
"""

import contextlib
import json
import time
from collections.abc import Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any, NamedTuple

from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic, OffsetSpec
from pydantic import BaseModel, ConfigDict

from bot.lab.errors import LabError, until

_WITHIN_S = 20.0
_QUIET_S = 3.0
"""So long without a record: what was there when the reading began has been read. While a transaction is open, no end
of a partition is told."""
CONTROL = "producer.json"
"""In the lab's `scratch`; what the producer is told."""


class Producing(BaseModel):
    """What the producer writes from now on."""

    model_config = ConfigDict(frozen=True)

    topic: str | None = None
    """Another one than it began with."""
    partitions: tuple[int, ...] = ()
    """Empty: all that there are."""
    is_paused: bool = False
    in_transactions: bool = False
    """A transaction a second, of which each fourth is aborted."""
    garbage_every: int = 0
    """Each so many-th record is no JSON; 0: none is."""
    keys: int = 0
    """So many keys come again and again; 0: each record has one of its own."""


def produce(scratch: Path, what: Producing) -> None:
    """Tells the producer; it obeys within a tenth of a second, and a second where it writes in transactions."""
    half = scratch / f"{CONTROL}.new"
    half.write_text(what.model_dump_json(), encoding="utf-8")
    half.replace(scratch / CONTROL)


class Record(NamedTuple):
    """Where a record lies, and which order it tells of."""

    partition: int
    offset: int
    order_id: str


class Topic:
    """One topic; every call asks the broker anew."""

    def __init__(self, servers: str, name: str) -> None:
        self.name = name
        self._servers = servers
        # librdkafka would write to stderr that it cannot connect, while the broker starts
        self._admin = AdminClient({"bootstrap.servers": servers, "log_level": 0})

    def answers(self) -> bool:
        """Whether the broker does."""
        with contextlib.suppress(KafkaException):
            self._admin.list_topics(timeout=1)
            return True
        return False

    def make_anew(self, partitions: int, config: Mapping[str, str] | None = None) -> None:
        """Deletes the topic if there is one, and makes it; its offsets begin at 0."""
        if self._partitions():
            _done(self._admin.delete_topics([self.name], operation_timeout=_WITHIN_S))
            until(
                f"topic {self.name} to go", lambda: None if self._partitions() else True, _WITHIN_S, "the broker's log"
            )
        new = NewTopic(self.name, num_partitions=partitions, replication_factor=1, config=dict(config or {}))

        def made() -> bool | None:
            try:
                _done(self._admin.create_topics([new]))
            except KafkaException:  # the old one is marked as deleted, and goes in its own time
                return None
            return True

        until(f"topic {self.name}", made, _WITHIN_S, "the broker's log")
        until(
            f"topic {self.name}", lambda: len(self._partitions()) == partitions or None, _WITHIN_S, "the broker's log"
        )

    def add_partition(self) -> int:
        """The answer is its number."""
        count = len(self._partitions())
        _done(self._admin.create_partitions([NewPartitions(self.name, count + 1)]))
        until("the new partition", lambda: len(self._partitions()) > count or None, _WITHIN_S, "the broker's log")
        return count

    def delete_below_the_end(self) -> dict[int, int]:
        """Deletes every record that is there now, as retention would; partition -> where its log begins since."""
        ends = self.ends()
        asked = [TopicPartition(self.name, partition, end) for partition, end in ends.items()]
        _done(self._admin.delete_records(asked))
        return ends

    def starts(self) -> dict[int, int]:
        """Partition -> the first offset that the broker still has."""
        return self._offsets(OffsetSpec.earliest())

    def ends(self) -> dict[int, int]:
        """Partition -> the offset that the next record gets."""
        return self._offsets(OffsetSpec.latest())

    def records(self) -> list[Record]:
        """Every record that the broker has now and that no transaction withholds; what is no JSON is none."""
        settings = {
            "bootstrap.servers": self._servers,
            "group.id": "outside",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "log_level": 0,
        }
        ends, consumer = self.ends(), Consumer(settings)
        found: list[Record] = []
        reached = dict.fromkeys(ends, 0)
        try:
            consumer.assign([TopicPartition(self.name, partition, at) for partition, at in self.starts().items()])
            last = time.monotonic()
            while time.monotonic() - last < _QUIET_S and any(reached[each] < ends[each] for each in ends):
                for message in consumer.consume(500, timeout=0.5):
                    last = time.monotonic()
                    partition, offset = message.partition() or 0, message.offset() or 0
                    reached[partition] = offset + 1
                    with contextlib.suppress(ValueError, TypeError):
                        found.append(Record(partition, offset, json.loads(message.value() or b"")["order_id"]))
        finally:
            consumer.close()
        return found

    def _partitions(self) -> list[int]:
        known = self._admin.list_topics(timeout=_WITHIN_S).topics.get(self.name)
        return sorted(known.partitions) if known is not None and known.error is None else []

    def _offsets(self, at: OffsetSpec) -> dict[int, int]:
        partitions = self._partitions()
        if not partitions:
            raise LabError(
                f"There is no topic {self.name}.",
                f"Expected the broker at {self._servers} to have it; it has none of this name.",
                "Read the broker's log in the lab's logs folder.",
            )
        asked = self._admin.list_offsets({TopicPartition(self.name, each): at for each in partitions})
        return {place.partition: told.result(_WITHIN_S).offset for place, told in asked.items()}


def _done(asked: Mapping[Any, Future[Any]]) -> None:
    """Raises KafkaException where one of them failed."""
    for answer in asked.values():
        answer.result(_WITHIN_S)
