"""The wire between JobManager and TaskManager: it loses what it is told to lose, in one direction, and nothing else."""

import contextlib
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.kept_process import free_ports
from bot.lab.errors import LabError, until
from bot.lab.external_writers import Machines
from bot.lab.flink_rest import FlinkRest
from bot.lab.home import Home
from bot.lab.wire import LOSE_FILE, NOTIFICATION, PROGRAM, lose, mend

CALL = b"\x00rpc\x00" + NOTIFICATION.encode() + b"\x00"


@pytest.fixture
def ends(tmp_path: Path) -> Iterator[tuple[socket.socket, socket.socket]]:
    """(The TaskManager's end, the JobManager's end) of a wire that runs as the lab runs it."""
    port, behind = free_ports(2)
    with contextlib.ExitStack() as stack:
        jobmanager = stack.enter_context(socket.create_server(("127.0.0.1", behind)))
        command = [sys.executable, str(PROGRAM), str(port), str(behind), str(tmp_path / LOSE_FILE)]
        process = stack.enter_context(subprocess.Popen(command))
        stack.callback(process.terminate)

        def connected() -> socket.socket | None:
            try:
                return socket.create_connection(("127.0.0.1", port), timeout=10)
            except ConnectionError:
                return None

        taskmanager = stack.enter_context(until("the wire", connected, 20, "its output"))
        accepted, _ = jobmanager.accept()
        accepted.settimeout(10)
        yield taskmanager, stack.enter_context(accepted)


def send(end: socket.socket, frame: bytes) -> None:
    """One message of Flink's."""
    end.sendall(struct.pack(">I", len(frame)) + frame)


def received(end: socket.socket) -> bytes:
    with end.makefile("rb", buffering=0) as stream:
        head = stream.read(4)
        assert head is not None
        (length,) = struct.unpack(">I", head)
        frame = b""
        while len(frame) < length:
            frame += stream.read(length - len(frame)) or b""
        return frame


def test_only_the_named_call_to_a_taskmanager_is_lost(
    ends: tuple[socket.socket, socket.socket], tmp_path: Path
) -> None:
    """Heartbeats and triggers arrive, so nothing but the notification is missing."""
    taskmanager, jobmanager = ends
    lose(tmp_path, NOTIFICATION)

    for frame in (b"before", CALL, b"after"):
        send(jobmanager, frame)
    send(taskmanager, CALL)

    assert [b"before", b"after"] == [received(taskmanager), received(taskmanager)]
    assert received(jobmanager) == CALL


def test_a_mended_wire_passes_everything_on(ends: tuple[socket.socket, socket.socket], tmp_path: Path) -> None:
    """The next story begins with a whole wire, also where there was nothing to mend."""
    taskmanager, jobmanager = ends
    lose(tmp_path, NOTIFICATION)
    mend(tmp_path)
    mend(tmp_path)

    send(jobmanager, CALL * 10_000)

    assert received(taskmanager) == CALL * 10_000


def test_a_lab_without_a_wire_says_how_to_start_one(tmp_path: Path) -> None:
    """A story that cannot be told says so before it waits for anything."""
    flink = FlinkRest("http://127.0.0.1:9")
    with contextlib.closing(flink), pytest.raises(LabError) as refused:
        Machines(Home(tmp_path), flink).lose_notifications()

    assert "--wire" in refused.value.next_step
