"""Writes orders into a topic at a rate, as a program, until it is ended; it does what `producer.json` says.

Usage: python -m bot.lab.producer HOME SERVERS TOPIC
"""

import json
import signal
import sys
import threading
import time
from datetime import UTC, datetime
from pathlib import Path

from confluent_kafka import KafkaError, KafkaException, Producer

from bot.lab.home import Home
from bot.lab.topic import CONTROL, Producing

RECORDS_PER_SECOND = 20
_TICK_S = 0.1
_TRANSACTION_S = 1.0
_ABORTED = 4
"""Each so many-th transaction."""


class Orders:
    """Counts the orders; no two of a lab have one id, whoever starts the producer again."""

    def __init__(self) -> None:
        self._began = int(time.time())
        self._count = 0

    def next(self, what: Producing) -> tuple[bytes, bytes]:
        """Key and value of the next record."""
        self._count += 1
        number = self._count % what.keys if what.keys else self._count
        order_id = f"o-{self._began}-{number:08d}"
        if what.garbage_every and self._count % what.garbage_every == 0:
            return order_id.encode(), b"no JSON"
        value = {
            "order_id": order_id,
            "event_time": datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "customer": f"c-{self._count * 7919 % 97:03d}",
            "amount": f"{self._count * 373 % 20_000 / 100:.2f}",
        }
        return order_id.encode(), json.dumps(value).encode()

    @property
    def count(self) -> int:
        """So many were made."""
        return self._count


def told(control: Path) -> Producing:
    """What the producer is to do now."""
    try:
        return Producing.model_validate_json(control.read_bytes())
    except FileNotFoundError:
        return Producing()


def main(arguments: list[str]) -> None:
    """Each tick writes a tenth of a second's records, one partition after the other; in transactions a second's."""
    home, servers, first_topic = Home(Path(arguments[0])), arguments[1], arguments[2]
    settings = {"bootstrap.servers": servers, "topic.metadata.refresh.interval.ms": 1000, "linger.ms": 5}
    plain, orders = Producer(settings), Orders()
    transactional: Producer | None = None
    ended, transactions = threading.Event(), 0
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    pause_s = _TICK_S
    while not ended.wait(pause_s):
        what = told(home / "scratch" / CONTROL)
        pause_s = _TRANSACTION_S if what.in_transactions else _TICK_S
        if what.is_paused:
            plain.flush(5)
            continue
        topic = what.topic or first_topic
        producer = plain
        if what.in_transactions:
            if transactional is None:
                transactional = Producer({**settings, "transactional.id": "orders-producer"})
                transactional.init_transactions(20)
            producer = transactional
            producer.begin_transaction()
        partitions = what.partitions or tuple(sorted(producer.list_topics(topic, timeout=5).topics[topic].partitions))
        for _ in range(round(RECORDS_PER_SECOND * pause_s)) if partitions else ():
            key, value = orders.next(what)
            try:
                producer.produce(topic, value, key, partitions[orders.count % len(partitions)])
            except KafkaException as error:  # a producer does not know a new partition at once
                if error.args[0].code() != KafkaError._UNKNOWN_PARTITION:
                    raise
        producer.poll(0)
        if what.in_transactions:
            transactions += 1
            producer.flush(10)
            (producer.abort_transaction if transactions % _ABORTED == 0 else producer.commit_transaction)(20)
    plain.flush(5)


if __name__ == "__main__":
    main(sys.argv[1:])
