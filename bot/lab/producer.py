"""Writes orders into a topic at a rate, as a program, until it is ended; it does what `Producing` says.

Usage: python -m bot.lab.producer HOME SERVERS TOPIC
"""

import json
import signal
import sys
import threading
import time
from datetime import UTC, datetime
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from bot.lab.home import PRODUCER_FILE, Home

RECORDS_PER_SECOND = 20
_TICK_S = 0.1
_TRANSACTION_S = 1.0
_ABORTED = 4
"""Each so many-th transaction."""


class Producing(BaseModel):
    """What the producer writes from now on; it obeys within a tenth of a second, or a second in transactions."""

    model_config = ConfigDict(frozen=True)

    partitions: tuple[int, ...] = ()
    """Empty: all that there are."""
    is_paused: bool = False
    in_transactions: bool = False
    """A transaction a second, of which each fourth is aborted."""
    garbage_every: int = 0
    """Each so many-th record is no JSON; 0: none is."""
    keys: int = 0
    """So many Kafka keys come again and again; 0: each record has one of its own."""

    def begin(self, home: Home) -> None:
        """Tells the producer of this lab."""
        half = home / "scratch" / f"{PRODUCER_FILE}.new"
        half.write_text(self.model_dump_json(), encoding="utf-8")
        half.replace(home / "scratch" / PRODUCER_FILE)


def _producing(home: Home) -> Producing:
    try:
        return Producing.model_validate_json((home / "scratch" / PRODUCER_FILE).read_bytes())
    except FileNotFoundError:
        return Producing()


class Orders:
    """Counts the orders; no two of a lab have one id, whoever starts the producer again."""

    def __init__(self, prefix: str = "o") -> None:
        self._name = f"{prefix}-{int(time.time() * 10)}"
        self.count = 0

    def next(self, what: Producing) -> tuple[bytes, bytes]:
        """Key and value of the next record."""
        self.count += 1
        order_id = f"{self._name}-{self.count:08d}"
        key = f"k-{self.count % what.keys}" if what.keys else order_id
        if what.garbage_every and self.count % what.garbage_every == 0:
            return key.encode(), b"no JSON"
        value = {
            "order_id": order_id,
            "event_time": datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "customer": f"c-{self.count * 7919 % 97:03d}",
            "amount": f"{self.count * 373 % 20_000 / 100:.2f}",
        }
        return key.encode(), json.dumps(value).encode()


def main(arguments: list[str]) -> None:
    """Each tick writes a tenth of a second's records, one partition after the other; in transactions a second's."""
    from confluent_kafka import KafkaError, KafkaException, Producer  # of the extra `lab`, and only this program's

    home, servers, topic = Home(Path(arguments[0])), arguments[1], arguments[2]
    settings = {"bootstrap.servers": servers, "topic.metadata.refresh.interval.ms": 1000, "linger.ms": 5}
    plain, orders = Producer(settings), Orders()
    transactional: Producer | None = None
    ended, transactions = threading.Event(), 0
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    pause_s = _TICK_S
    while not ended.wait(pause_s):
        what = _producing(home)
        pause_s = _TRANSACTION_S if what.in_transactions else _TICK_S
        if what.is_paused:
            plain.flush(5)
            continue
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
