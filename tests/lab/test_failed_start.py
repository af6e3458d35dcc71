"""A lab that does not come up leaves nothing behind, and the next start in its folder is as good as a first."""

import socket
from pathlib import Path

import pytest

from bot.kept_process import free_ports, pid_in
from bot.lab import flink_cluster
from bot.lab.errors import LabError
from bot.lab.lab import Lab

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def test_a_start_that_fails_ends_what_had_come_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody took the JobManager's port just before: the JobManager ends, and so do Spark and the other two."""
    (taken,) = free_ports(1)
    monkeypatch.setattr(flink_cluster, "free_ports", lambda count: [taken, *free_ports(count - 1)])
    with Lab(tmp_path / "lab", consumers=()) as lab:
        with socket.create_server(("127.0.0.1", taken)), pytest.raises(LabError, match="jobmanager ended by itself"):
            lab.start("v2")

        assert not [file for file in (tmp_path / "lab" / "run").glob("*.pid") if pid_in(file)]
        assert lab.start("v2").sink == "v2"
