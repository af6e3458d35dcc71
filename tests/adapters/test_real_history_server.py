"""A real Flink history server over a real archive: what it serves is what the adapter reads."""

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from bot.adapters.flink_rest import FlinkHistory
from bot.lab.jars import flink_jars
from bot.observation.flink import CheckpointKind
from bot.pinned_jars import LEAN, OPENS, Jar, java, present
from tests.adapters.flink_wire import ARCHIVE, ENDED

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]
WEB = Jar(
    needed_by="flink-2.1",
    group="org.apache.flink",
    artifact="flink-runtime-web",
    version="2.1.1",
    sha256="f5896a6063ff97c4d125115e7fcbca1d7d333c955fcf9486d5ab01357c9b3e55",
)
"""The history server's own jar; the lab has no use for it."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """The address of a history server that looks into the archive twice a second."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    shutil.copytree(ARCHIVE, tmp_path / "archive")
    conf, web = tmp_path / "conf", tmp_path / "web"
    conf.mkdir()
    web.mkdir()
    settings = {
        "historyserver.archive.fs.dir": (tmp_path / "archive").as_uri(),
        "historyserver.archive.fs.refresh-interval": "500 ms",
        "historyserver.web.address": "127.0.0.1",
        "historyserver.web.port": port,
        "historyserver.web.tmpdir": web,
    }
    (conf / "config.yaml").write_text("".join(f"{key}: {value}\n" for key, value in settings.items()), encoding="utf-8")
    jars = ":".join(str(jar) for jar in [*flink_jars("2.1"), *present([WEB])])
    main = "org.apache.flink.runtime.webmonitor.history.HistoryServer"
    command = [str(java()), "-Xmx256m", *LEAN, *OPENS, "-cp", jars, main, "--configDir", str(conf)]
    with (tmp_path / "log").open("w") as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


def lists_a_run(url: str) -> bool:
    """Whether it is up and has fetched the archive."""
    try:
        answer = httpx.get(f"{url}/jobs/overview", trust_env=False)
    except httpx.TransportError:
        return False
    return answer.is_success and bool(answer.json()["jobs"])


def test_a_real_history_server_tells_the_run_that_ended(server: str) -> None:
    """The same pages as a JobManager: the run, where it was restored from, its stop-savepoint, its settings."""
    deadline = time.monotonic() + 90
    while not lists_a_run(server) and time.monotonic() < deadline:
        time.sleep(0.2)
    history = FlinkHistory(server)

    [run] = history.past_runs("orders-to-iceberg", [])

    assert (run.job_id, run.state, run.from_history) == (ENDED, "FINISHED", True)
    assert run.restored is not None
    assert run.restored.checkpoint_id == 17
    assert run.checkpoints[0].kind is CheckpointKind.STOP_SAVEPOINT
    assert run.settings is not None
    assert run.settings.storage == "FileSystemCheckpointStorage"
    assert (max(vertex.attempt for vertex in run.vertices), run.failures != ()) == (1, True)
    history.close()
