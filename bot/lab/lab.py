"""A real Flink job that writes a real Iceberg table on this machine, for the demo and for tests."""

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Self

from pyiceberg.schema import Schema

from bot.lab import orders
from bot.lab.consumers import QUERIES, Read, Readers
from bot.lab.errors import LabError, until
from bot.lab.external_writers import ExternalWriter, Machines
from bot.lab.flink_cluster import Backend, FlinkCluster
from bot.lab.flink_rest import FlinkRest, SqlGateway
from bot.lab.home import Home, LabState, Stack
from bot.lab.jars import Flink, generator_jar
from bot.lab.orders import Format, Kind, Sink
from bot.lab.process import Kept
from bot.lab.proof import Proof, open_catalog, prove, prove_topic
from bot.lab.spark_server import SparkServer
from bot.lab.stories import story_named
from bot.lab.wire import mend
from bot.lab.world import Fact, Say, World

if TYPE_CHECKING:
    from bot.lab.kafka_stack import KafkaStack

TOPIC = "orders"
CHECKPOINT_EVERY: Mapping[Stack, timedelta] = {
    "small": timedelta(milliseconds=1500),
    "kafka": timedelta(seconds=4),
}
"""On S3 a look at the table costs what its commits are many."""


class Lab:
    """Owns the processes; they end when the block ends, or when this process does, however it does.

    One home, one table, one job. `reset` gives the next test a new table and a new job on the same cluster.
    """

    def __init__(
        self,
        home: Path,
        sink: Sink = "v2",
        say: Say = print,
        checkpoint_every: timedelta | None = None,
        flink: Flink = "2.1",
        last_position: int = orders.LAST_POSITION,
        taskmanagers: int = 1,
        parallelism: int = 1,
        wired: bool = False,
        backend: Backend = "hashmap",
        consumers: Sequence[str] = tuple(QUERIES),
        stack: Stack = "small",
    ) -> None:
        """`taskmanagers` (1 or 2), `parallelism` (1 or 2) and `wired`: what some stories need; see
        `bot.lab.flink_cluster`. `backend`: with RocksDB the job remembers each position in keyed state, so that there
        is something to keep. `consumers`: who reads the table once at its beginning, and in stories; each read is a
        Spark of its own and takes seconds."""
        self.home = Home(home)
        self._kind = Kind(sink=sink, consumers=tuple(consumers), parallelism=parallelism)
        self._flink: Flink = flink
        self._last_position = last_position
        self._taskmanagers = taskmanagers
        self._wired = wired
        self._backend: Backend = backend
        self._checkpoint_every = checkpoint_every or CHECKPOINT_EVERY[stack]
        self._speak = say
        self._began = time.monotonic()
        self._processes: list[Kept] = []
        self._cluster: FlinkCluster | None = None
        self._spark: SparkServer | None = None
        self._stack: Stack = stack
        self._kafka: KafkaStack | None = None
        self._readers: Readers | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def state(self) -> LabState:
        return self.home.state()

    def start(
        self,
        sink: Sink | None = None,
        format_version: Format = 2,
        upsert: bool = False,
        consumers: Sequence[str] | None = None,
    ) -> LabState:
        """Starts everything in this home, makes the table and the job; returns after its first commit.

        Raises: LabError when the home is taken, a jar or Java is missing, or a process does not come up; what had come
        up is ended again.
        """
        self._kind = self._kind.with_choice(sink, format_version, upsert, consumers)
        self.home.prepare()
        with contextlib.ExitStack() as where_it_fails:
            where_it_fails.callback(self.close)
            self._start_processes()
            state = self._begin()
            where_it_fails.pop_all()
        return state

    def reset(
        self,
        sink: Sink | None = None,
        format_version: Format = 2,
        upsert: bool = False,
        forget: bool = False,
        consumers: Sequence[str] | None = None,
    ) -> LabState:
        """Cancels all jobs, deletes table, checkpoints and lineage, and begins anew on the same cluster.

        `forget`: with a new JobManager, so that Flink lists no job of before. `consumers`: others than before.
        """
        self._kind = self._kind.with_choice(sink, format_version, upsert, consumers)
        self.rest()
        if forget:
            with contextlib.closing(FlinkRest(self.state.flink_url)) as flink:
                Machines(self.home, flink).restart_jobmanager()
        if self._kafka is None:
            self.home.empty()
        else:
            with contextlib.closing(open_catalog(self._kafka.storage)) as catalog:
                catalog.drop_table(orders.TABLE)
            self.home.empty_lineage()
        return self._begin()

    def rest(self) -> None:
        """Cancels all jobs, and ends consumers that still read; the cluster runs on. Safe to call twice."""
        if self._readers is not None:
            self._readers.close()
        mend(self.home / "scratch")
        with contextlib.closing(FlinkRest(self.state.flink_url)) as flink:
            for job in flink.running():
                flink.cancel(job)
        if self._kafka is not None:
            self._kafka.rest()

    def tell(self, story: str) -> Mapping[str, Fact]:
        """Makes a story happen; see `bot.lab.stories`. The job runs on afterwards. The answer is what it notes."""
        return tell(self.home, story, self._say)

    def consume(self, *consumers: str) -> list[Read]:
        return Readers(self.home, consumers).wait()

    def proof(self) -> Proof:
        """What the table says about itself, read from outside the bot."""
        return proof(self.home)

    def check(self) -> None:
        """Raises LabError when a process has ended by itself."""
        for process in self._everything():
            process.check()

    def close(self) -> None:
        """Ends all processes; safe to call twice."""
        if self._readers is not None:
            self._readers.close()
        for process in self._everything():
            process.ask_to_end()
        for process in self._everything():
            process.end()
        self._processes.clear()
        self._kafka = None

    def _everything(self) -> list[Kept]:
        return [*self._processes, *(self._kafka.processes if self._kafka else ())]

    def _start_processes(self) -> None:
        self._say(f"Starting Flink {self._flink} (JobManager, TaskManager, SQL gateway) and Spark")
        more = [generator_jar(self.home / "conf", self._flink, orders.TABLE)] if self._kind.sink == "dynamic" else []
        storage = self.home.small_storage(orders.CATALOG)
        if self._stack == "kafka":
            self._kafka = _kafka_stack(self.home, self._flink)
            storage = self._kafka.storage
            more += self._kafka.flink_jars
        self._cluster = FlinkCluster(
            self.home,
            storage,
            self._checkpoint_every,
            self._flink,
            self._taskmanagers,
            self._wired,
            self._backend,
            more,
        )
        self._processes += self._cluster.processes
        self._spark = SparkServer(self.home, storage)
        self._processes.append(self._spark.process)
        if self._kafka is not None:
            self._await("S3, the catalog and the broker", self._kafka.is_ready)
            self._say("The broker, S3 and the REST catalog are ready")
        with contextlib.closing(SqlGateway(self._cluster.gateway_url)) as gateway:
            self._await("the SQL gateway", gateway.is_ready)
        with contextlib.closing(FlinkRest(self._cluster.flink_url)) as flink:
            self._await("the TaskManager", lambda: flink.taskmanagers() == self._taskmanagers or None)
        self._say("Flink is ready")

    def _say(self, text: str) -> None:
        self._speak(f"{time.monotonic() - self._began:5.1f} s  {text}")

    def _await(self, what: str, probe: Callable[[], bool | int | None]) -> None:
        def ready() -> bool | int | None:
            self.check()
            return probe()

        until(what, ready, 90, str(self.home / "logs"))

    def _make_table(self, state: LabState, schema: Schema) -> None:
        """PyIceberg makes the table; it does not write format 3 yet, so Spark raises the empty table to that."""
        with contextlib.closing(open_catalog(state)) as catalog:
            orders.create_table(catalog, schema, self._kind.upsert)
        if self._kind.format_version > 2:
            self._await("Spark", self._require_spark().is_ready)
            raised = f"ALTER TABLE {{table}} SET TBLPROPERTIES ('format-version' = '{self._kind.format_version}')"
            ExternalWriter(self.home, state).sql(raised)

    def _begin(self) -> LabState:
        """Makes the table, starts the job, lets its consumers read once, and waits until the job has committed."""
        if self._cluster is None:
            raise RuntimeError("start() comes first")
        if self._kafka is None:
            storage, of_stack = self.home.small_storage(orders.CATALOG), {}
            first_event = orders.first_event_now(datetime.now(UTC))
            source = orders.numbers(first_event, self._last_position, each_once=self._backend == "rocksdb")
        else:
            self._kafka.begin()
            storage, source = self._kafka.storage, orders.topic(self._kafka.servers, TOPIC)
            of_stack = {"stack": "kafka", "kafka_servers": self._kafka.servers, "topic": TOPIC}
        pids = {process.name: process.pid or 0 for process in self._everything()}
        spark = self._require_spark().remote
        state = self._kind.state(self.home, storage, self._flink, self._cluster, spark, source, pids, **of_stack)
        self.home.write_state(state)
        self._make_table(state, source.schema)
        self._readers = Readers(self.home, self._kind.consumers) if self._kind.consumers else None
        with World(self.home, self._say) as world:
            job = world.start_job()
            self._say(f"The job runs ({job[:8]}, {state.sink} sink)")
            self._await("Spark", self._require_spark().is_ready)
            world.await_commits(job, 1)
        self._say("The job has committed; Spark is ready")
        return state

    def _require_spark(self) -> SparkServer:
        if self._spark is None:
            raise RuntimeError("start() comes first")
        return self._spark


def tell(home: Home, story: str, say: Say) -> Mapping[str, Fact]:
    """Makes a story happen in the running lab of this home; the answer is what it notes for who looks afterwards."""
    chosen = story_named(story)
    with World(home, say) as world:
        if chosen.stack not in (None, world.state.stack):
            raise LabError(
                f"The story {story} needs another lab.",
                f"Expected one of the stack {chosen.stack}; this one is of {world.state.stack}.",
                f"Start one: waterline lab up --stack {chosen.stack}.",
            )
        chosen.tell(world)
        return world.facts


def proof(home: Home) -> Proof:
    """Rows, positions and chain of the table of this home, read from outside the bot."""
    with World(home, lambda _: None) as world:
        return prove_topic(world.table, world.topic()) if world.state.stack == "kafka" else prove(world.table)


def _kafka_stack(home: Home, flink: Flink) -> "KafkaStack":
    """Raises: LabError without the packages of the extra `lab`, or for a Flink that its jars do not fit."""
    if flink != "2.1":
        raise LabError(
            f"The stack kafka does not run with Flink {flink}.",
            f"Expected Flink 2.1, for which its connector is pinned; found {flink}.",
            "Choose --flink 2.1, or --stack small.",
        )
    absent = [name for name in ("confluent_kafka", "moto", "flask") if find_spec(name) is None]
    if absent:
        raise LabError(
            "The stack kafka needs packages that are not installed.",
            f"Expected confluent-kafka, moto and flask; {absent[0]} is missing.",
            "Install them: pip install 'waterline[lab]'.",
        )
    from bot.lab.kafka_stack import KafkaStack  # needs the extra `lab`

    return KafkaStack(home, TOPIC)
