"""A real Kafka broker for slow tests: one listener without a login, and one that asks for all that a broker can ask."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka import Producer

from bot.kept_process import free_ports
from bot.lab.errors import until
from bot.lab.home import Home
from bot.lab.kafka_stack import broker_command
from bot.lab.process import Kept
from bot.lab.topic import Topic
from bot.observation.kafka import KafkaSettings
from tests.adapters.test_logins import certificate

PASSWORD = 'bro"ker\\s own'
"""With what Java's configuration of logins must have escaped."""
_JAAS = "org.apache.kafka.common.security.plain.PlainLoginModule"


class Broker:
    """Its topic `orders` has two partitions."""

    def __init__(self, servers: str, guarded: KafkaSettings) -> None:
        self.servers = servers
        """Without a login."""
        self.guarded = guarded
        """TLS with a certificate authority of its own, a client certificate, and a password."""
        self.topic = Topic(servers, "orders")

    def writes(self, values: dict[int, list[bytes | None]]) -> None:
        """Values by partition, in this order."""
        producer = Producer({"bootstrap.servers": self.servers})
        for partition, each in values.items():
            for value in each:
                producer.produce("orders", value, b"key", partition)
        assert producer.flush(20) == 0

    def aborts(self, partition: int, values: list[bytes]) -> None:
        """A transaction that never counts; its values and the mark of its end have offsets when this returns."""
        end = self.topic.ends()[partition] + len(values) + 1
        producer = Producer({"bootstrap.servers": self.servers, "transactional.id": "aborting"})
        producer.init_transactions(20)
        producer.begin_transaction()
        for value in values:
            producer.produce("orders", value, b"key", partition)
        producer.flush(20)
        producer.abort_transaction(20)
        until("the mark of the abort", lambda: self.topic.ends()[partition] == end or None, 20, "the broker's log")


@contextmanager
def kafka_broker(folder: Path) -> Iterator[Broker]:
    """One that is ready; about 10 s."""
    home = Home(folder / "kafka")
    for each in ("broker", "logs", "run"):
        (home / each).mkdir(parents=True)
    (port, guarded, controller) = free_ports(3)
    server, client = certificate(folder, "server"), certificate(folder, "client")
    store = folder / "keystore.pem"
    store.write_bytes(server[1].read_bytes() + server[0].read_bytes())
    told = PASSWORD.replace("\\", "\\\\").replace('"', '\\"')
    jaas = f'{_JAAS} required user_waterline="{told}";'
    more = {
        "listeners": f"PLAINTEXT://127.0.0.1:{port},SASL_SSL://127.0.0.1:{guarded},CONTROLLER://127.0.0.1:{controller}",
        "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port},SASL_SSL://127.0.0.1:{guarded}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SASL_SSL:SASL_SSL,CONTROLLER:PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.sasl_ssl.plain.sasl.jaas.config": jaas.replace("\\", "\\\\"),  # of a properties file
        "listener.name.sasl_ssl.ssl.client.auth": "required",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(store),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(client[0]),
    }
    secret = folder / "password"
    secret.write_text(f"{PASSWORD}\n", encoding="utf-8")
    settings = KafkaSettings(
        servers=f"127.0.0.1:{guarded}",
        topics=("orders",),
        protocol="SASL_SSL",
        user="waterline",
        secret_file=secret,
        ca_file=server[0],
        certificate_file=client[0],
        key_file=client[1],
    )
    kept = Kept("broker", broker_command(home, port, controller, more), home.folder, {}, restarts="never")
    try:
        broker = Broker(f"127.0.0.1:{port}", settings)
        until("the broker", lambda: broker.topic.answers() or None, 60, str(kept.log))
        broker.topic.make_anew(2)
        yield broker
    finally:
        kept.end()
        shutil.rmtree(home.folder, ignore_errors=True)
