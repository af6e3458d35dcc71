"""`waterline tour`: a recorded incident is walked by the real bot, and nothing real is there."""

import os
import re
import signal
import socket
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
from bot.observation.errors import CommitRefused
from bot.observation.ids import TableName
from bot.ports import TableChange
from bot.tour.recording import PlayedClock, find_recording, recordings
from bot.tour.replaying import Replay, ports_of
from bot.workspace import Workspace
from tests.words.measure import Text, measure

MOST_WORDS = 2500
"""Of a record, as one reads it without unfolding anything."""


@contextmanager
def tour(name: str) -> Iterator[Workspace]:
    """The recorded incident, played without its pauses."""
    with playing(find_recording(name), threading.Event(), pause=lambda _s: None) as workspace:
        yield workspace


def said(workspace: Workspace, channel: str = CHANNEL, person: str = "ana") -> str:
    """Everything in a channel and its threads."""
    seen = workspace.person(person).messages(channel)
    return "\n".join(message.plain for each in seen for message in (each, *each.replies))


@pytest.mark.parametrize(
    ("name", "cause", "is_repaired"),
    [
        ("rows-twice", "F2", True),
        pytest.param("rows-missing", "F6", True, marks=pytest.mark.full),
        pytest.param("planned-restart", "healthy", False, marks=pytest.mark.full),
    ],
)
def test_a_recorded_incident_is_walked_to_its_end(name: str, cause: str, is_repaired: bool) -> None:
    """Card, evidence, diagnosis, proposal, approval, execution, notices and record, as `make walk` does it."""
    with tour(name) as workspace:
        clicked = Walk(workspace, find_recording(name).runbook, lambda _line: None).run()

        assert "This is a recording" in said(workspace)
        assert f"{cause}: " in said(workspace)
        assert is_repaired == ("Propose" in clicked)
        assert is_repaired == ("Verified at head" in said(workspace))
        assert "could not look" not in said(workspace)
        # A first warning gives way to the all-clear where the machine is too slow to send it before.
        assert len(workspace.person("dana").messages("revenue-analytics")) in {1, 2}
        read = measure([Text(channel, said(workspace, channel)) for channel in (CHANNEL, "revenue-analytics")])
        assert ([], [], True) == (read.too_long, read.forbidden, read.sentences > 40)
        whole, unfolded = words_of_record(workspace)
        assert 500 < unfolded <= MOST_WORDS < whole


def words_of_record(workspace: Workspace) -> tuple[int, int]:
    """(words of the exported Markdown, words that one reads without unfolding anything)."""
    ana = workspace.person("ana")
    ana.clicks("Export the record", ana.waits_for(lambda m: "Export the record" in m.buttons, CHANNEL))
    sent = ana.waits_for("The record of ", CHANNEL, timeout=60)
    [markdown] = [each["url_private"] for each in sent.shown["files"] if each["name"].endswith(".md")]
    text = re.sub(r"<!--.*?-->", "", httpx.get(markdown).text, flags=re.DOTALL)
    return len(text.split()), len(re.sub(r"<details>.*?</details>", "", text, flags=re.DOTALL).split())


@pytest.mark.full
def test_what_was_not_recorded_is_said_to_be_not_recorded() -> None:
    """It is never answered from another moment, and never as "nothing found"."""
    with tour("rows-twice") as workspace:
        ana = workspace.person("ana")
        opens(workspace, "duplicate-rows")
        ana.waits_for(lambda m: "Propose" in m.buttons, CHANNEL, timeout=60)
        ana.types("/waterline run orphan_files", CHANNEL)

        ana.waits_for(lambda m: any("nobody asked this" in reply.plain for reply in m.replies), CHANNEL, timeout=60)


def test_an_effect_that_was_not_recorded_is_refused() -> None:
    """A visitor may propose something else; it is not taken for the recorded step."""
    recording = find_recording("rows-twice")
    catalog = ports_of(Replay(recording, PlayedClock(recording.moments[0].at)), recording).catalog
    table = catalog.load(TableName("sales.orders"))
    change = TableChange(
        expected_uuid=str(table.uuid), expected_head=table.head, move_main_to=table.chain[1].snapshot_id
    )

    with pytest.raises(CommitRefused, match="this step is not part of it"):
        catalog.commit(table.name, change)

    assert table == catalog.load(table.name)


def opens(workspace: Workspace, runbook: str) -> None:
    """Ana opens an incident and sends the first warning."""
    _Opening(workspace, runbook, lambda _line: None).run()


class _Opening(Walk):
    def run(self) -> list[str]:
        self._open()
        return []


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


def test_a_port_that_is_taken_is_answered_with_what_to_do() -> None:
    """Not with a traceback."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        refused = waterline("tour", "--no-browser", "--port", str(taken.getsockname()[1]))

    assert refused.returncode == 1
    assert "The page was not started." in refused.stderr
    assert "Choose another `--port`." in refused.stderr


@pytest.mark.full
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
