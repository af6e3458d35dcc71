"""The parts of the stack `kafka`: a broker, a producer, an S3 server and Iceberg's REST catalog, on loopback.

The broker is Kafka's own (KRaft, one JVM), S3 is moto's server, the catalog is Iceberg's reference server over SQLite.
"""

import json
import subprocess
from collections.abc import Mapping
from types import MappingProxyType
from uuid import uuid4

import httpx

from bot.kept_process import free_ports, listens
from bot.lab import orders
from bot.lab.errors import LabError
from bot.lab.home import Home, Storage
from bot.lab.jars import jars_for
from bot.lab.process import IMPORTS_US, Kept, program
from bot.lab.topic import Topic
from bot.pinned_jars import LEAN, java, last_lines

_BUCKETS = ("warehouse", "flink-state")
_KEYS = {"AWS_ACCESS_KEY_ID": "lab", "AWS_SECRET_ACCESS_KEY": "lab-secret", "AWS_REGION": "us-east-1"}
PARTITIONS = 3


class KafkaStack:
    """Starts its processes at once; `is_ready` says when they answer."""

    def __init__(self, home: Home, topic: str) -> None:
        self._home = home
        self._topic = topic
        s3, rest, broker, controller = free_ports(4)
        self._web_ports = s3, rest
        self.servers = f"127.0.0.1:{broker}"
        self._s3 = f"http://127.0.0.1:{s3}"
        self._rest = f"http://127.0.0.1:{rest}"
        self.storage = self._storage()
        plugin = home / "plugins" / "s3-fs-hadoop"
        plugin.mkdir(parents=True, exist_ok=True)
        for jar in jars_for("s3-plugin"):
            (plugin / jar.name).unlink(missing_ok=True)
            (plugin / jar.name).symlink_to(jar)
        self.flink_jars = jars_for("kafka-flink", "s3-iceberg")
        served = {
            **self.storage.engine_properties,
            "catalog-impl": "org.apache.iceberg.jdbc.JdbcCatalog",
            "uri": f"jdbc:sqlite:{home.catalog_file}?busy_timeout=10000",
            "jdbc.schema-version": "V1",
            "clients": "1",
        }
        catalog = program("bot.lab.rest_catalog", str(rest), json.dumps(served))
        moto = program("moto.server", "-H", "127.0.0.1", "-p", str(s3))
        self.processes = [
            Kept("s3", moto, home.folder, {"TMPDIR": str(home / "scratch")}, restarts="never"),
            Kept("rest-catalog", catalog, home.folder, {**IMPORTS_US, **self.storage.environment}, restarts="never"),
            Kept("broker", broker_command(home, broker, controller), home.folder, {}, restarts="killed"),
        ]
        self._producer: Kept | None = None

    def is_ready(self) -> bool:
        """Whether S3, the catalog and the broker answer."""
        are_up = all(listens("127.0.0.1", port) for port in self._web_ports)
        return are_up and Topic(self.servers, self._topic).answers()

    def begin(self) -> None:
        """Empties S3, makes the topic anew, and has the producer write into it."""
        self.rest()
        with httpx.Client(base_url=self._s3, trust_env=False) as s3:
            s3.post("/moto-api/reset").raise_for_status()
            for bucket in _BUCKETS:
                s3.put(f"/{bucket}").raise_for_status()
        Topic(self.servers, self._topic).make_anew(PARTITIONS)
        producer = program("bot.lab.producer", str(self._home.folder), self.servers, self._topic)
        self._producer = Kept("producer", producer, self._home.folder, IMPORTS_US, restarts="never")
        self.processes.append(self._producer)

    def rest(self) -> None:
        """Ends the producer; safe to call twice."""
        if self._producer is not None:
            self._producer.end()
            self.processes.remove(self._producer)
            self._producer = None

    def _storage(self) -> Storage:
        """Clients read files themselves, by the catalog's properties; the keys are in the environment for Java."""
        keys = {"s3.access-key-id": _KEYS["AWS_ACCESS_KEY_ID"], "s3.secret-access-key": _KEYS["AWS_SECRET_ACCESS_KEY"]}
        shared = {"uri": self._rest, "warehouse": "s3://warehouse/wh", "s3.endpoint": self._s3}
        return Storage(
            catalog_name=orders.CATALOG,
            catalog_properties={"type": "rest", **shared, **keys, "s3.region": _KEYS["AWS_REGION"]},
            engine_properties={
                "catalog-impl": "org.apache.iceberg.rest.RESTCatalog",
                **shared,
                "io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
                "s3.path-style-access": "true",
                "client.region": _KEYS["AWS_REGION"],
            },
            warehouse=shared["warehouse"],
            checkpoint_dir="s3://flink-state/checkpoints",
            savepoint_dir="s3://flink-state/savepoints",
            environment={"AWS_ENDPOINT_URL": self._s3, **_KEYS},
        )


def broker_command(home: Home, port: int, controller: int, more: Mapping[str, str] = MappingProxyType({})) -> list[str]:
    """The command of a broker whose storage is formatted, and whose retention and compaction are looked after each
    second. `more`: settings in the place of these."""
    folder = home / "broker"
    settings = {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": f"1@127.0.0.1:{controller}",
        "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}",
        "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}",
        "controller.listener.names": "CONTROLLER",
        "log.dirs": str(folder / "log"),
        "offsets.topic.num.partitions": "1",
        "offsets.topic.replication.factor": "1",
        "transaction.state.log.num.partitions": "1",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "group.initial.rebalance.delay.ms": "0",
        "auto.create.topics.enable": "false",
        "log.retention.check.interval.ms": "1000",
        "log.initial.task.delay.ms": "1000",
        "log.cleaner.backoff.ms": "500",
        "log.cleaner.dedupe.buffer.size": str(2**24),
        **more,
    }
    file = folder / "server.properties"
    file.write_text("".join(f"{name}={value}\n" for name, value in settings.items()), encoding="utf-8")
    class_path = ":".join(str(jar) for jar in jars_for("broker"))
    kafka = [str(java()), "-Xmx256m", *LEAN, "-cp", class_path]
    tool = [*kafka, "kafka.tools.StorageTool", "format", "-t", uuid4().hex[:22], "-c", str(file)]
    log = home / "logs" / "broker.log"
    with log.open("ab") as told:
        code = subprocess.run(tool, stdout=told, stderr=told, check=False).returncode
    if code:
        raise LabError(
            "The broker's storage could not be formatted.",
            f"Expected Kafka's StorageTool to end well; it ended with code {code}:\n{last_lines(log)}\n",
            f"Read {log}.",
        )
    return [*kafka, "kafka.Kafka", str(file)]
