"""What the bot's own process holds. As a program (`python -m tests.bench.memory CATALOG_FOLDER`) it is that process."""

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
    peak_mb: float
    load_s: float


def held(home: Path) -> Held:
    """A new process with the whole bot imported loads the table of that catalog."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.bench.memory", str(home)], check=True, stdout=subprocess.PIPE, text=True
    )
    return Held(**json.loads(done.stdout))


def _measure(home: Path) -> Held:
    import bot.cli  # noqa: F401 - what the process weighs is what is measured
    from bot.adapters.clock import SystemClock
    from bot.adapters.iceberg import PyIcebergCatalog
    from bot.domain.ids import TableName

    process = psutil.Process()
    catalog = PyIcebergCatalog("lake", {"type": "sql", "uri": f"sqlite:///{home}/catalog.db"}, SystemClock())
    catalog.tables()
    before = process.memory_info().rss / _MB
    began = time.perf_counter()
    table = catalog.load(TableName("sales.orders"))
    load_s = time.perf_counter() - began
    assert len(table.chain) == len(table.snapshots)
    after = process.memory_info().rss / _MB
    return Held(before, after, _peak_mb(), load_s)


def _peak_mb() -> float:
    """Of this process alone: `getrusage` would tell what its parent held when it was forked."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


if __name__ == "__main__":
    sys.stdout.write(json.dumps(vars(_measure(Path(sys.argv[1])))))
