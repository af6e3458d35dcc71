"""The Flink session cluster: one JobManager, one TaskManager, one SQL gateway, on loopback.

The same settings serve Flink 2.1 and 1.20. Where a story needs it: a second TaskManager (each then has one slot), or
a wire between the JobManager and its TaskManagers that can lose messages.
"""

import re
import sys
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Literal

from bot.kept_process import free_ports
from bot.lab.home import Home, Storage
from bot.lab.jars import Flink, flink_jars, rocksdb_jars
from bot.lab.process import Kept
from bot.lab.wire import LOSE_FILE, PROGRAM
from bot.pinned_jars import LEAN, OPENS, java, log4j, pyspark_jars

Backend = Literal["hashmap", "rocksdb"]
"""Where state lives: on the heap, or in RocksDB, which checkpoints what changed since the last one (incremental). Of it
each piece is a file of its own, as in a job with much state, and none is in `_metadata`."""

_JOBMANAGER = "org.apache.flink.runtime.entrypoint.StandaloneSessionClusterEntrypoint"
_TASKMANAGER = "org.apache.flink.runtime.taskexecutor.TaskManagerRunner"
_GATEWAY = "org.apache.flink.table.gateway.SqlGateway"
TASKMANAGERS = ("taskmanager", "taskmanager-2")
"""Their processes' names, which Flink knows them by too."""
_TASKMANAGER_SIZES = {
    "taskmanager.cpu.cores": "2",
    "taskmanager.memory.task.heap.size": "256m",
    "taskmanager.memory.task.off-heap.size": "0",
    "taskmanager.memory.managed.size": "64m",
    "taskmanager.memory.network.min": "32m",
    "taskmanager.memory.network.max": "32m",
    "taskmanager.memory.framework.heap.size": "128m",
    "taskmanager.memory.framework.off-heap.size": "128m",
    "taskmanager.memory.jvm-metaspace.size": "256m",
    "taskmanager.memory.jvm-overhead.min": "192m",
    "taskmanager.memory.jvm-overhead.max": "192m",
}


class FlinkCluster:
    """Starts the three processes at once; whoever uses it polls `flink_url` and `gateway_url`."""

    def __init__(
        self,
        home: Home,
        storage: Storage,
        checkpoint_every: timedelta,
        version: Flink,
        taskmanagers: int = 1,
        wired: bool = False,
        backend: Backend = "hashmap",
        more_jars: Sequence[Path] = (),
    ) -> None:
        """`more_jars` come first: where Flink has an older one of them, that is left out."""
        rest, rpc, blob, gateway, behind = free_ports(5)
        self.flink_url = f"http://127.0.0.1:{rest}"
        self.gateway_url = f"http://127.0.0.1:{gateway}"
        conf = home / "conf"
        settings = _settings(home, storage, checkpoint_every, rest, rpc, blob, gateway)
        settings["taskmanager.numberOfTaskSlots"] = 4 if taskmanagers == 1 else 1
        settings["state.backend.type"] = backend
        if backend == "rocksdb":
            settings["execution.checkpointing.incremental"] = "true"
            settings["execution.checkpointing.data-inline-threshold"] = "0 b"
        lines = [f"{key}: {value}" for key, value in settings.items()]
        (conf / "config.yaml").write_text("\n".join(lines) + "\n", encoding="utf-8")
        (conf / "log4j.properties").write_text(log4j("INFO"), encoding="utf-8")
        hadoop = sorted(pyspark_jars().glob("hadoop-client-*.jar"))
        kept_by = rocksdb_jars(version) if backend == "rocksdb" else []
        newer = {_artifact(jar) for jar in more_jars}
        own = [jar for jar in flink_jars(version) if _artifact(jar) not in newer]
        class_path = ":".join(str(jar) for jar in [*more_jars, *own, *kept_by, *hadoop])
        shared = [*LEAN, *OPENS, f"-Dlog4j.configurationFile={conf / 'log4j.properties'}", "-cp", class_path]
        given = ["--configDir", str(conf)]
        sizes = [part for key, value in _TASKMANAGER_SIZES.items() for part in ("-D", f"{key}={value}")]
        jobmanager = ["-Xmx512m", *shared, _JOBMANAGER, *given, "-D", "jobmanager.memory.off-heap.size=128m"]
        taskmanager = ["-Xmx384m", "-XX:MaxDirectMemorySize=320m", *shared, _TASKMANAGER, *given, *sizes]
        if wired:
            jobmanager += ["-D", f"jobmanager.rpc.bind-port={behind}"]
        gateway_command = ["-Xmx384m", *shared, _GATEWAY, "-Dsql-gateway.endpoint.rest.address=127.0.0.1"]
        program = str(java())
        env = {"FLINK_CONF_DIR": str(conf), "FLINK_PLUGINS_DIR": str(home / "plugins"), **storage.environment}
        self.processes = [
            Kept("jobmanager", [program, *jobmanager], home.folder, env, restarts="killed"),
            *(
                Kept(name, [program, *taskmanager, *_named(name)], home.folder, env, restarts="always")
                for name in TASKMANAGERS[:taskmanagers]
            ),
            Kept("gateway", [program, *gateway_command], home.folder, env, restarts="never"),
        ]
        if wired:
            wire = [sys.executable, str(PROGRAM), str(rpc), str(behind), str(home / "scratch" / LOSE_FILE)]
            self.processes.append(Kept("wire", wire, home.folder, {}, restarts="never"))


def _artifact(jar: Path) -> str:
    return re.sub(r"-\d.*$", "", jar.stem)


def _named(taskmanager: str) -> list[str]:
    return ["-D", f"taskmanager.resource-id={taskmanager}"]


def _settings(
    home: Home, storage: Storage, checkpoint_every: timedelta, rest: int, rpc: int, blob: int, gateway: int
) -> dict[str, str | int]:
    interval_ms = int(checkpoint_every.total_seconds() * 1000)
    return {
        "jobmanager.rpc.address": "127.0.0.1",
        "jobmanager.rpc.port": rpc,
        "jobmanager.bind-host": "127.0.0.1",
        "jobmanager.execution.failover-strategy": "region",
        "blob.server.port": blob,
        "taskmanager.host": "127.0.0.1",
        "taskmanager.bind-host": "127.0.0.1",
        "rest.address": "127.0.0.1",
        "rest.bind-address": "127.0.0.1",
        "rest.port": rest,
        "sql-gateway.endpoint.rest.address": "127.0.0.1",
        "sql-gateway.endpoint.rest.bind-address": "127.0.0.1",
        "sql-gateway.endpoint.rest.port": gateway,
        "io.tmp.dirs": str(home / "scratch"),
        "parallelism.default": 1,
        "execution.checkpointing.interval": f"{interval_ms} ms",
        "execution.checkpointing.mode": "EXACTLY_ONCE",
        "execution.checkpointing.dir": storage.checkpoint_dir,
        "execution.checkpointing.savepoint-dir": storage.savepoint_dir,
        "execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION",
        "execution.checkpointing.num-retained": 20,
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": 20,
        "restart-strategy.fixed-delay.delay": "1 s",
        "heartbeat.interval": "1 s",
        "heartbeat.timeout": "10 s",
        "cluster.registration.error-delay": "300 ms",
        "cluster.registration.initial-timeout": "200 ms",
        "web.refresh-interval": 500,
        "web.checkpoints.history": 50,
        "classloader.check-leaked-classloader": "false",
        **_of_s3(storage),
    }


def _of_s3(storage: Storage) -> dict[str, str | int]:
    """For Flink's own state; tables are reached by the catalog's properties."""
    told = storage.environment
    if not told:
        return {}
    return {
        "s3.endpoint": told["AWS_ENDPOINT_URL"],
        "s3.access-key": told["AWS_ACCESS_KEY_ID"],
        "s3.secret-key": told["AWS_SECRET_ACCESS_KEY"],
        "s3.path.style.access": "true",
    }
