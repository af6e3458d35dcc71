"""A real Flink job that writes a real Iceberg table on this machine, for the demo and for tests."""

import contextlib
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import Self

from bot.lab import orders
from bot.lab.consumers import QUERIES, Read, Readers
from bot.lab.errors import until
from bot.lab.external_writers import Machines, OtherHands
from bot.lab.flink_cluster import Backend, FlinkCluster
from bot.lab.flink_rest import FlinkRest, SqlGateway
from bot.lab.home import Home, LabState
from bot.lab.jars import Flink, generator_jar
from bot.lab.orders import Format, Kind, Sink
from bot.lab.process import Kept, resident_bytes
from bot.lab.proof import Proof, open_catalog, prove
from bot.lab.spark_server import SparkServer
from bot.lab.stories import story_named
from bot.lab.wire import mend
from bot.lab.world import Say, Told, World

CHECKPOINT_EVERY = timedelta(milliseconds=1500)


class Lab:
    """Owns the processes; they end when the block ends, or when this process does, however it does.

    One home, one table, one job. `reset` gives the next test a new table and a new job on the same cluster.
    """

    def __init__(
        self,
        home: Path,
        sink: Sink = "v2",
        say: Say = print,
        checkpoint_every: timedelta = CHECKPOINT_EVERY,
        flink: Flink = "2.1",
        last_position: int = orders.LAST_POSITION,
        taskmanagers: int = 1,
        wired: bool = False,
        backend: Backend = "hashmap",
        consumers: Sequence[str] = tuple(QUERIES),
    ) -> None:
        """`taskmanagers` (1 or 2) and `wired`: what some stories need; see `bot.lab.flink_cluster`. `backend`: with
        RocksDB the job remembers each position in keyed state, so that there is something to keep. `consumers`: who
        reads the table once at its beginning, and in stories; each read is a Spark of its own and takes seconds."""
        self.home = Home(home)
        self._kind = Kind(sink=sink, consumers=tuple(consumers))
        self._flink: Flink = flink
        self._last_position = last_position
        self._taskmanagers = taskmanagers
        self._wired = wired
        self._backend: Backend = backend
        self._checkpoint_every = checkpoint_every
        self._speak = say
        self._began = time.monotonic()
        self._processes: list[Kept] = []
        self._cluster: FlinkCluster | None = None
        self._spark: SparkServer | None = None
        self._readers: Readers | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def state(self) -> LabState:
        """What `lab.json` says."""
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
        self.home.empty()
        return self._begin()

    def rest(self) -> None:
        """Cancels all jobs, and ends consumers that still read; the cluster runs on. Safe to call twice."""
        if self._readers is not None:
            self._readers.close()
        mend(self.home / "scratch")
        with contextlib.closing(FlinkRest(self.state.flink_url)) as flink:
            for job in flink.running():
                flink.cancel(job)

    def tell(self, story: str, early: bool = False) -> Told:
        """Makes a story happen; see `bot.lab.stories`. The job runs on afterwards."""
        return tell(self.home, story, self._say, early)

    def consume(self, *consumers: str) -> list[Read]:
        """Lets these consumers read the table now."""
        return Readers(self.home, consumers).wait()

    def proof(self) -> Proof:
        """What the table says about itself, read from outside the bot."""
        return proof(self.home)

    def resident_bytes(self) -> int:
        """Resident memory of the lab's JVMs together."""
        return resident_bytes([process.pid for process in self._processes if process.pid])

    def check(self) -> None:
        """Raises LabError when a process has ended by itself."""
        for process in self._processes:
            process.check()

    def close(self) -> None:
        """Ends all processes; safe to call twice."""
        if self._readers is not None:
            self._readers.close()
        for process in self._processes:
            process.ask_to_end()
        for process in self._processes:
            process.wait_for_end()
        self._processes.clear()

    def _start_processes(self) -> None:
        self._say(f"Starting Flink {self._flink} (JobManager, TaskManager, SQL gateway) and Spark")
        more = [generator_jar(self.home / "conf", self._flink, orders.TABLE)] if self._kind.sink == "dynamic" else []
        self._cluster = FlinkCluster(
            self.home, self._checkpoint_every, self._flink, self._taskmanagers, self._wired, self._backend, more
        )
        self._processes += self._cluster.processes
        self._spark = SparkServer(self.home, orders.CATALOG, self.home.jdbc_uri, self.home.warehouse)
        self._processes.append(self._spark.process)
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

    def _make_table(self, state: LabState) -> None:
        """PyIceberg makes the table; it does not write format 3 yet, so Spark raises the empty table to that."""
        catalog = open_catalog(orders.CATALOG, self.home.catalog_uri, self.home.warehouse)
        with contextlib.closing(catalog):
            orders.create_table(catalog, self._kind.upsert)
        if self._kind.format_version > 2:
            self._await("Spark", self._require_spark().is_ready)
            raised = f"ALTER TABLE {{table}} SET TBLPROPERTIES ('format-version' = '{self._kind.format_version}')"
            OtherHands(self.home, state).sql(raised)

    def _begin(self) -> LabState:
        """Makes the table, starts the job, lets its consumers read once, and waits until the job has committed."""
        if self._cluster is None:
            raise RuntimeError("start() comes first")
        pids = {process.name: process.pid or 0 for process in self._processes}
        spark = self._require_spark().remote
        once = self._backend == "rocksdb"
        state = self._kind.state(self.home, self._flink, self._cluster, spark, self._last_position, pids, once)
        self.home.write_state(state)
        self._make_table(state)
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


def tell(home: Home, story: str, say: Say, early: bool = False) -> Told:
    """Makes a story happen in the running lab of this home, and writes `story.json`."""
    chosen = story_named(story)
    with World(home, say) as world:
        chosen.tell(world, early)
        return world.told(story)


def proof(home: Home) -> Proof:
    """Rows, positions and chain of the table of this home, read from outside the bot."""
    with World(home, lambda _: None) as world:
        return prove(world.table)
