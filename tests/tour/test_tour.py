"""`waterline tour`: a recorded incident is walked by the real bot, and nothing real is there."""

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import psutil
import pytest

from bot.cli.tour import CHANNEL, playing
from bot.cli.walk import Walk
from bot.tour.recording import find_recording, recordings
from bot.workspace import SeenMessage, Workspace


@contextmanager
def tour(name: str) -> Iterator[Workspace]:
    """The recorded incident, played without its pauses."""
    stopping = threading.Event()
    with playing(find_recording(name), stopping, pause=lambda _s: None) as workspace:
        yield workspace


def said(workspace: Workspace, channel: str = CHANNEL, person: str = "ana") -> str:
    """Everything in a channel and its threads."""
    seen = workspace.person(person).messages(channel)
    return "\n".join(message.plain for each in seen for message in (each, *each.replies))


def can_be_approved(message: SeenMessage) -> bool:
    return "Approve" in message.buttons


def test_rows_that_are_there_twice_are_taken_off_and_the_incident_is_closed() -> None:
    """Card, evidence, diagnosis, proposal, approval, execution, notices and record, as `make walk` does it."""
    with tour("rows-twice") as workspace:
        clicked = Walk(workspace, find_recording("rows-twice").runbook, lambda _line: None).run()

        assert "This is a recording" in said(workspace)
        assert "Propose" in clicked
        assert "Verified at head" in said(workspace)
        assert len(workspace.person("dana").messages("revenue-analytics")) == 2


def test_a_proposal_that_was_refused_twice_can_be_made_again() -> None:
    """Nothing is executed, and each refusal is answered."""
    with tour("rows-twice") as workspace:
        ana, ben = workspace.person("ana"), workspace.person("ben")
        opens(workspace, "duplicate-rows")
        ana.waits_for(lambda m: "Propose" in m.buttons, CHANNEL, timeout=60)
        ana.clicks("Propose")
        for _ in range(2):
            proposed = ben.waits_for(can_be_approved, CHANNEL, timeout=60)
            ben.clicks("Reject…", proposed)
            ben.fills({"reason": "I want to look at it first."})
            ben.submits()
            ana.waits_for(lambda m, ts=proposed.ts: m.ts == ts and "Rejected" in m.plain, CHANNEL, timeout=60)
            ana.types("/waterline propose rewind_table_and_job", CHANNEL)

        again = ben.waits_for(can_be_approved, CHANNEL, timeout=60)

        assert "Rewind table and job" in again.plain
        assert "Started by" not in said(workspace)


def test_what_was_not_recorded_is_said_to_be_not_recorded() -> None:
    """It is never answered from another moment, and never as "nothing found"."""
    with tour("rows-twice") as workspace:
        ana = workspace.person("ana")
        opens(workspace, "duplicate-rows")
        ana.waits_for(lambda m: "Propose" in m.buttons, CHANNEL, timeout=60)
        ana.types("/waterline run orphan_files", CHANNEL)

        ana.waits_for(lambda m: any("nobody asked this" in reply.plain for reply in m.replies), CHANNEL, timeout=60)


def opens(workspace: Workspace, runbook: str) -> None:
    """Ana opens an incident and sends the first warning."""
    walk = Walk(workspace, runbook, lambda _line: None)
    walk._open()


@pytest.mark.parametrize("name", recordings())
def test_no_recording_names_a_folder_of_the_machine_on_which_it_was_made(name: str) -> None:
    """Paths begin with /lab."""
    text = find_recording(name).model_dump_json()

    assert set() == set(re.findall(r"/(?:tmp|work|home|root|usr)/[^\" ]*", text))


def test_the_list_says_what_each_recording_is_about() -> None:
    """And every name in it can be played."""
    listed = waterline("tour", "--list")

    assert listed.returncode == 0
    assert list(recordings()) == [line.split()[0] for line in listed.stdout.splitlines()]
    assert "rows-twice" in recordings()


def test_a_name_that_is_not_there_is_answered_with_those_that_are() -> None:
    """What happened, what was expected and found, what to do."""
    refused = waterline("tour", "rows-thrice")

    assert refused.returncode == 1
    assert "There is no recorded incident rows-thrice." in refused.stderr
    assert "Expected one of" in refused.stderr
    assert "waterline tour --list" in refused.stderr


def test_it_needs_no_java_and_leaves_nothing_behind(tmp_path: Path) -> None:
    """It starts no process, and Ctrl-C ends it with its folder."""
    environment = {**os.environ, "PATH": str(tmp_path), "TMPDIR": str(tmp_path)}
    environment.pop("JAVA_HOME", None)
    command = [sys.executable, "-m", "bot.cli", "tour", "--no-browser"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = next(line.split()[-1] for line in process.stdout if "http://" in line)
        page = httpx.get(address)
        children = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(signal.SIGINT)
        ended = process.wait(30)

    assert page.status_code == 200
    assert children == []
    assert ended == 0
    assert list(tmp_path.iterdir()) == []


def waterline(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "bot.cli", *arguments], capture_output=True, text=True, timeout=60, check=False
    )
