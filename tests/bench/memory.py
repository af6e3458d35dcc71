"""What the bot's own process holds.

As a program (`python -m tests.bench.memory CATALOG_FOLDER SPARK_ADDRESS`) it is that process.
"""

import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import psutil

_MB = 1024 * 1024


@dataclass(frozen=True)
class Held:
    """Megabytes of resident memory, and seconds."""

    before_mb: float
    """Everything imported, nothing loaded."""
    after_mb: float
    """One table held."""
    tasked_mb: float
    """And every window task of the benchmark answered once."""
    own_mb: float
    """Of that: what no other process could share, so without the libraries' code."""
    peak_mb: float
    load_s: float


def held(home: Path, spark: str) -> Held:
    """A new process with the whole bot and its pages imported loads the table of that catalog, and asks that Spark."""
    command = [sys.executable, "-m", "tests.bench.memory", str(home), spark]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return Held(**json.loads(done.stdout))


def _measure(home: Path, spark: str) -> Held:
    import bot.cli.web  # noqa: F401 - what the process weighs is what is measured
    import spark_tasks
    from bot.adapters.clock import SystemClock
    from bot.adapters.iceberg import PyIcebergCatalog
    from bot.adapters.spark import SparkEvidenceRunner
    from bot.evidence import find_tasks
    from bot.observation.ids import TableName

    process = psutil.Process()
    catalog = PyIcebergCatalog("lake", {"type": "sql", "uri": f"sqlite:///{home}/catalog.db"}, SystemClock())
    catalog.tables()
    tasks = find_tasks(spark_tasks)
    before = process.memory_info().rss / _MB
    began = time.perf_counter()
    table = catalog.load(TableName("sales.orders"))
    load_s = time.perf_counter() - began
    assert len(table.chain) == len(table.snapshots)
    after = process.memory_info().rss / _MB
    from tests.bench.window_cost import TASKS, ask_of

    runner = SparkEvidenceRunner(tasks, spark)
    for name in TASKS:
        runner.run(tasks[name].task, ask_of(table), tag=f"memory-{name}", on_progress=lambda _progress: None)
    tasked, own = process.memory_info().rss / _MB, process.memory_full_info().uss / _MB
    runner.close()
    return Held(before, after, tasked, own, _peak_mb(), load_s)


def _peak_mb() -> float:
    """Of this process alone: `getrusage` would tell what its parent held when it was forked."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


if __name__ == "__main__":
    sys.stdout.write(json.dumps(vars(_measure(Path(sys.argv[1]), sys.argv[2]))))
