"""A real broker tells what it still holds; and each way in which it cannot be asked is told apart."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from bot.adapters.clock import SystemClock
from bot.adapters.kafka import Kafka
from bot.kept_process import free_ports
from bot.lab.home import Home
from bot.lab.kafka_stack import broker_command
from bot.lab.topic import Topic
from bot.observation.errors import CouldNotLook
from bot.observation.kafka import KafkaPartition
from bot.settings import KafkaSettings
from tests.adapters.test_logins import certificate

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180), pytest.mark.rotating]
PASSWORD = "hunter2-is-not-told"
LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"


class Broker:
    """One with a door without a login, one with passwords, and one with TLS."""

    def __init__(self, folder: Path) -> None:
        home = Home(folder)
        for each in ("broker", "logs"):
            (home / each).mkdir(parents=True)
        self.ca, key = certificate(folder, "broker")
        plain, controller, sasl, tls = free_ports(4)
        self.doors = {"PLAINTEXT": plain, "SASL_PLAINTEXT": sasl, "SSL": tls}
        doors = ",".join(f"{name}://127.0.0.1:{port}" for name, port in self.doors.items())
        more = {
            "listeners": f"{doors},CONTROLLER://127.0.0.1:{controller}",
            "advertised.listeners": doors,
            "listener.security.protocol.map": ",".join(f"{each}:{each}" for each in self.doors)
            + ",CONTROLLER:PLAINTEXT",
            "sasl.enabled.mechanisms": "PLAIN",
            "listener.name.sasl_plaintext.plain.sasl.jaas.config": f'{LOGIN} user_waterline="{PASSWORD}" '
            f'user_reader="{PASSWORD}";',
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.certificate.chain": self.ca.read_text().replace("\n", "\\n"),
            "ssl.keystore.key": key.read_text().replace("\n", "\\n"),
        }
        with (home / "logs" / "broker.log").open("ab") as log:
            self.process = subprocess.Popen(broker_command(home, plain, controller, more), stdout=log, stderr=log)
        until = time.monotonic() + 90
        while not self.topic("").answers() and time.monotonic() < until:
            assert self.process.poll() is None
            time.sleep(0.3)

    def topic(self, name: str) -> Topic:
        """By the door without a login."""
        return Topic(f"127.0.0.1:{self.doors['PLAINTEXT']}", name)

    def allows(self, user: str, topic: str) -> None:
        """Lets the user describe the topic, and nothing else."""
        admin = AdminClient({"bootstrap.servers": f"127.0.0.1:{self.doors['PLAINTEXT']}"})
        right = (AclOperation.DESCRIBE, AclPermissionType.ALLOW)
        rule = AclBinding(ResourceType.TOPIC, topic, ResourcePatternType.LITERAL, f"User:{user}", "*", *right)
        for asked in admin.create_acls([rule]).values():
            asked.result(20)

    def asked(
        self, *topics: str, door: str = "PLAINTEXT", protocol: str = "", limit_s: float = 10, **told: object
    ) -> tuple[KafkaPartition, ...]:
        """What the adapter says, by this door."""
        settings = {"servers": f"127.0.0.1:{self.doors[door]}", "topics": topics or ("orders",)}
        whole = KafkaSettings.model_validate({**settings, "protocol": protocol or door, **told})
        return Kafka(whole, SystemClock(), {"THE_PASSWORD": PASSWORD, "ANOTHER": "guessed"}, limit_s).partitions()


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """With the topic `orders` of three partitions."""
    made = Broker(tmp_path_factory.mktemp("broker"))
    try:
        made.topic("orders").make_anew(3)
        made.topic("orders").write(30)
        yield made
    finally:
        made.process.kill()
        made.process.wait()


def until_allowed(broker: Broker, **told: object) -> tuple[KafkaPartition, ...]:
    """A rule of access counts a moment after it was made."""
    for _ in range(40):
        with suppress(CouldNotLook):
            return broker.asked(door="SASL_PLAINTEXT", **told)
        time.sleep(0.25)
    return broker.asked(door="SASL_PLAINTEXT", **told)


def test_offsets_times_and_rules_are_those_of_the_broker(broker: Broker) -> None:
    """And a record stays at least its retention after the moment that is told."""
    topic = broker.topic("paid")
    topic.make_anew(2)
    for _ in range(3):
        topic.write(40)
        time.sleep(0.3)
    topic.configure({"retention.ms": "600000", "retention.bytes": "5000000", "cleanup.policy": "compact,delete"})

    told = broker.asked("orders", "paid")

    assert [each.name for each in told] == ["orders/0", "orders/1", "orders/2", "paid/0", "paid/1"]
    assert {each.partition: each.latest for each in told if each.topic == "paid"} == topic.ends()
    assert {each.earliest for each in told} == {0}
    assert {each.retention for each in told} == {timedelta(days=7), timedelta(minutes=10)}
    paid = told[3]
    assert (paid.retention_bytes, paid.is_compacted, paid.is_retention_known) == (5_000_000, True, True)
    assert told[0].topic_id != paid.topic_id
    assert [each.offset for each in paid.times] == sorted({each.offset for each in paid.times})
    assert paid.times[0].offset == 0
    assert 3 <= len(paid.times) <= 30
    kept = [paid.kept_until(offset) for offset in range(60)]
    assert None not in kept
    assert kept == sorted(at for at in kept if at is not None)


def test_what_was_deleted_is_lost_and_a_topic_made_anew_has_another_id(broker: Broker) -> None:
    """Its log begins where deletion ended; one of the same name begins at 0 again."""
    topic = broker.topic("short")
    topic.make_anew(1)
    topic.write(20)
    topic.delete_below_the_end()
    topic.write(5)
    (before,) = broker.asked("short")
    topic.make_anew(1)
    (after,) = broker.asked("short")

    assert before.lost(10, 22) == (10, 19)
    assert before.times[0].offset == 20
    assert (after.earliest, after.latest, after.times) == (0, 0, ())
    assert before.topic_id != after.topic_id


def test_a_user_who_may_only_describe_learns_the_offsets(broker: Broker) -> None:
    """How long records are kept is not known then, and nothing is said to last."""
    broker.allows("waterline", "orders")

    told = until_allowed(broker, user="waterline", secret_variable="THE_PASSWORD")

    assert [each.latest for each in told] == [10, 10, 10]
    assert not any(each.is_retention_known for each in told)
    assert told[0].times
    assert told[0].kept_until(5) is None


def test_tls_is_trusted_by_its_authority(broker: Broker) -> None:
    """The broker's certificate signs itself."""
    assert len(broker.asked(door="SSL", ca_file=broker.ca)) == 3


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"topics": ("nothing",)}, "has no topic nothing"),
        ({"topics": ("orders", "nothing")}, "has no topic nothing"),
        ({"door": "SASL_PLAINTEXT", "user": "waterline", "secret_variable": "ANOTHER"}, "refused the login"),
        ({"door": "SASL_PLAINTEXT", "user": "reader", "secret_variable": "THE_PASSWORD"}, "does not let Waterline"),
        ({"door": "SASL_PLAINTEXT", "user": "reader", "secret_variable": "NOT_SET"}, "cannot be used"),
        ({"door": "SASL_PLAINTEXT", "user": "reader", "secret_file": "/nowhere"}, "cannot be used"),
        ({"door": "SSL"}, "TLS with"),
        ({"door": "SSL", "ca_file": "/nowhere"}, "cannot be used"),
        ({"door": "SSL", "protocol": "PLAINTEXT"}, "not reachable"),
        ({"door": "PLAINTEXT", "protocol": "SSL"}, "not reachable"),
    ],
)
def test_each_trouble_is_told_apart(
    broker: Broker, capfd: pytest.CaptureFixture[str], asked: dict[str, object], said: str
) -> None:
    """In time, without the password, and without a word of the client on the terminal."""
    began = time.monotonic()

    with pytest.raises(CouldNotLook) as raised:
        broker.asked(*asked.pop("topics", ()), **asked)  # type: ignore[misc]

    assert said in raised.value.happened
    assert PASSWORD not in str(raised.value)
    assert time.monotonic() - began < 12
    assert capfd.readouterr().err == ""


def test_a_frozen_broker_ends_the_look_in_time(broker: Broker) -> None:
    """Its connections stay open, and no answer comes; afterwards it is asked again."""
    os.kill(broker.process.pid, signal.SIGSTOP)
    began = time.monotonic()
    try:
        with pytest.raises(CouldNotLook, match="not reachable"):
            broker.asked(limit_s=2)
    finally:
        os.kill(broker.process.pid, signal.SIGCONT)

    assert 2 <= time.monotonic() - began < 6


def test_nobody_there_is_said_before_the_time_is_up() -> None:
    """No process listens: waiting longer is no use."""
    settings = KafkaSettings(servers=f"127.0.0.1:{free_ports(1)[0]}", topics=("orders",))
    began = time.monotonic()

    with pytest.raises(CouldNotLook, match="not reachable"):
        Kafka(settings, SystemClock()).partitions()

    assert time.monotonic() - began < 8
