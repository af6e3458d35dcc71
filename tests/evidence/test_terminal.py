"""The commands of the terminal on a real table with a real Spark: what they print, and what a saved case keeps."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML
from typer.testing import CliRunner

from bot.adapters.case_file import raw_of, read_case
from bot.adapters.case_rereading import read_again
from bot.adapters.spark_server import SparkServer
from bot.adapters.storage import entries_in
from bot.adapters.writer_schema import SCHEMA
from bot.cli import app
from tests.tables import ORDERS, OrdersTable

pytestmark = pytest.mark.slow

RUN = CliRunner()


@pytest.fixture
def config(tmp_path: Path, orders: OrdersTable, server: SparkServer) -> str:
    """Run b repeats what run a had committed: positions 20 to 39 live twice."""
    for run, checkpoint, positions in [("a", 1, range(20)), ("a", 2, range(20, 40)), ("b", 2, range(20, 40))]:
        orders.commits(run, checkpoint, positions)
    content = {
        "home": str(tmp_path / "home"),
        "catalog": {"name": "lake", "properties": {"type": "sql", "uri": f"sqlite:///{tmp_path}/catalog.db"}},
        "spark": {"remote": server.url},
        "tables": {
            str(ORDERS): {
                "contract": {"key": ["order_id"], "position": "source_position", "redacted": ["customer"]},
                "policies": {"default": {"users": ["U0BEN00002"]}},
            }
        },
    }
    path = tmp_path / "waterline.yaml"
    with path.open("w") as file:
        YAML().dump(content, file)
    return str(path)


def test_one_task_answers_for_the_window_that_was_asked(config: str, orders: OrdersTable) -> None:
    """`--window` chooses the commits, `--json` gives the whole answer."""
    first = orders.state().snapshots[0].snapshot_id

    told = RUN.invoke(app, ["evidence", "duplicate_rows", ORDERS, "--window", str(first), "--json", "-c", config])

    answer = json.loads(told.stdout)
    assert "confirmed" == answer["verdict"]
    assert 20 == answer["finding"]["keys"]
    assert str(first) == answer["window"]["since"]


def test_ctrl_c_at_a_terminal_ends_the_task_and_leaves_stdout_clean(config: str, orders: OrdersTable) -> None:
    """A real process with a real terminal at stderr: progress there, nothing on stdout, exit code 130."""
    ours, theirs = os.openpty()
    command = [sys.executable, "-m", "bot.cli", "evidence", "duplicate_rows", ORDERS, "--json", "-c", config]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs)
    os.close(theirs)
    shown = b""

    try:
        while b"duplicate_rows" not in shown:
            shown += os.read(ours, 4096)
        process.send_signal(signal.SIGINT)
        shown += b"".join(_until_closed(ours))
        answered = process.communicate()[0]
    finally:
        process.kill()
        os.close(ours)

    assert b"Cancelled." in shown
    assert (130, b"") == (process.returncode, answered)


def _until_closed(terminal: int) -> Iterator[bytes]:
    """What comes until the other side is closed."""
    with contextlib.suppress(OSError):
        while told := os.read(terminal, 4096):
            yield told


def test_an_unknown_task_is_refused_with_those_that_exist(config: str) -> None:
    """A typing error costs no Spark."""
    told = RUN.invoke(app, ["evidence", "duplicate_row", ORDERS, "-c", config])

    assert "There is no evidence task duplicate_row. There are: " in str(told.exception)


def test_the_tasks_are_listed_with_question_and_cost() -> None:
    """Nobody must read the source to know what can be asked."""
    told = RUN.invoke(app, ["tasks"])

    assert "duplicate_rows" in told.stdout
    assert "  confirmed: " in told.stdout


def test_the_doctor_says_that_positions_are_taken_for_those_of_one_source_partition(config: str) -> None:
    """Before anybody needs to know whether rows are missing."""
    blind = RUN.invoke(app, ["doctor", "-c", config], env={"COLUMNS": "300"}).stdout
    content = YAML().load(Path(config))
    content["tables"][str(ORDERS)]["contract"]["position_partition"] = "source_partition"
    with Path(config).open("w") as file:
        YAML().dump(content, file)

    told = RUN.invoke(app, ["doctor", "-c", config], env={"COLUMNS": "300"}).stdout

    assert "source_position is compared as if the source had one partition" in blind
    assert "`position_partition`" in blind
    assert "as if the source had one partition" not in told


def verdicts(told: dict[str, Any]) -> list[tuple[str, str]]:
    """(Code, verdict) of each mode; their words name ages, and the case was saved a moment later."""
    return [(each["mode"]["code"], each["examined"]["verdict"]) for each in told["results"]]


def test_a_saved_case_is_diagnosed_the_same_without_any_source(config: str, tmp_path: Path) -> None:
    """The other machine has neither catalog nor Spark nor Flink."""
    path = str(tmp_path / "orders.case")
    here = json.loads(RUN.invoke(app, ["diagnose", ORDERS, "--json", "-c", config]).stdout)
    saved = RUN.invoke(app, ["case", "save", ORDERS, "--to", path, "-c", config])

    there = RUN.invoke(app, ["diagnose", "--case", path, "--json", "-c", str(tmp_path / "no-such-file.yaml")])

    assert "F2" in saved.stdout
    assert here["codes"] == json.loads(there.stdout)["codes"]
    assert verdicts(here) == verdicts(json.loads(there.stdout))


def test_a_saved_case_holds_no_value_of_a_row_unless_asked(config: str, tmp_path: Path) -> None:
    """Bounds in manifests and sample rows are values: they leave the machine only with `--values`."""
    bare, whole = tmp_path / "bare.case", tmp_path / "whole.case"
    RUN.invoke(app, ["case", "save", ORDERS, "--to", str(bare), "-c", config])
    RUN.invoke(app, ["case", "save", ORDERS, "--to", str(whole), "--values", "-c", config])

    raw = [raw_of(path) for path in (bare, whole)]
    keys = [{any(bound) for bound in _bounds_of_keys(found)} for found in raw]

    assert [{False}, {True}] == keys
    assert all(any(name.endswith(".metadata.json") for name in found) for found in raw)
    assert [[], []] == [read_again(read_case(path).case, raw_of(path)).differences for path in (bare, whole)]


def _bounds_of_keys(raw: dict[str, bytes]) -> list[bytes]:
    """The lowest value of the first column in each manifest."""
    files = ((name, content) for name, content in raw.items() if not name.startswith(SCHEMA))
    manifests = [content for name, content in files if name.endswith("-m0.avro")]
    return [entry.data_file.lower_bounds[1] for content in manifests for entry in entries_in(content)]
