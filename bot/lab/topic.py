"""A topic of the lab's broker: made, hurt and read from outside. Only the stack `kafka` has one."""

import contextlib
import json
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any, NamedTuple

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    ResourceType,
)

from bot.lab.errors import LabError, until
from bot.lab.producer import Orders, Producing

_LOG = "the broker's log in the lab's logs folder"
_WITHIN_S = 20.0
_QUIET_S = 3.0
"""So long without a record: what was there when the reading began has been read. While a transaction is open, no end
of a partition is told."""


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
        with contextlib.suppress(KafkaException):
            self._admin.list_topics(timeout=1)
            return True
        return False

    def make_anew(self, partitions: int) -> None:
        """Deletes the topic if there is one, and makes it; its offsets begin at 0."""
        if self._partitions():
            _done(self._admin.delete_topics([self.name], operation_timeout=_WITHIN_S))
        new = NewTopic(self.name, num_partitions=partitions, replication_factor=1)

        def tried(what: Callable[[], object]) -> bool | None:
            """The old one goes in its own time, and a new one has no leader at once."""
            with contextlib.suppress(KafkaException, LabError):
                what()
                return True
            return None

        until(f"topic {self.name}", lambda: tried(lambda: _done(self._admin.create_topics([new]))), _WITHIN_S, _LOG)
        until(f"topic {self.name}", lambda: tried(self.ends), _WITHIN_S, _LOG)

    def add_partition(self) -> int:
        """The answer is its number."""
        count = len(self._partitions())
        _done(self._admin.create_partitions([NewPartitions(self.name, count + 1)]))
        until("the new partition", lambda: len(self._partitions()) > count or None, _WITHIN_S, _LOG)
        return count

    def delete_below_the_end(self) -> dict[int, int]:
        """Deletes every record that is there now, as retention would; partition -> where its log begins since."""
        ends = self.ends()
        asked = [TopicPartition(self.name, partition, end) for partition, end in ends.items()]
        _done(self._admin.delete_records(asked))
        return ends

    def configure(self, config: Mapping[str, str]) -> None:
        entries = [
            ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET) for name, value in config.items()
        ]
        asked = ConfigResource(ResourceType.TOPIC, self.name, incremental_configs=entries)
        _done(self._admin.incremental_alter_configs([asked]))

    def write(self, count: int) -> None:
        producer, orders, partitions = Producer({"bootstrap.servers": self._servers}), Orders("r"), self._partitions()
        for number in range(count):
            key, value = orders.next(Producing())
            producer.produce(self.name, value, key, partitions[number % len(partitions)])
        producer.flush(_WITHIN_S)

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
                f"Read {_LOG}.",
            )
        asked = self._admin.list_offsets({TopicPartition(self.name, each): at for each in partitions})
        return {place.partition: told.result(_WITHIN_S).offset for place, told in asked.items()}


def _done(asked: Mapping[Any, Future[Any]]) -> None:
    """Raises KafkaException where one of them failed."""
    for answer in asked.values():
        answer.result(_WITHIN_S)
