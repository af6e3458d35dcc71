"""Source partitions that fell silent below what is listed; and one task, asked in a terminal."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from ruamel.yaml import YAML
from typer.testing import CliRunner

from bot.adapters.spark_server import SparkServer
from bot.cli import app
from bot.observation.evidence import Verdict
from bot.observation.ids import SnapshotId, short
from spark_tasks._support import tails as _tails
from tests.evidence.conftest import Asks
from tests.evidence.restore_points import stored
from tests.evidence.test_ledger_manifests import MERGING
from tests.evidence.test_missing_positions import BY_PARTITION
from tests.evidence.test_recovery_extent import reading_on
from tests.tables import ORDERS, OrdersTable, job, of_flink, rows

pytestmark = pytest.mark.slow


def writes(orders: OrdersTable, checkpoint: int, *partitions: int) -> SnapshotId:
    """One checkpoint that brings the next five rows of each of these partitions, as if each wrote with every one."""
    places = range(5 * (checkpoint - 1), 5 * checkpoint)
    parts = [rows(places, partition=each, orders=(1000 * each + place for place in places)) for each in partitions]
    return orders.appends(pa.concat_tables(parts), of_flink("a", checkpoint))


def goes_silent(orders: OrdersTable, until: int) -> list[SnapshotId]:
    """Partition 1 stops after checkpoint 2, which has expired; partition 0 goes on. What is listed, oldest first."""
    gone = [writes(orders, 1, 0, 1), writes(orders, 2, 0, 1)]
    listed = [writes(orders, checkpoint, 0) for checkpoint in range(3, until + 1)]
    orders.expires(*gone)
    return listed


@pytest.mark.parametrize("version", ["1", "2"])
def test_from_the_first_listed_commit_a_silent_partition_is_named(tmp_path: Path, asks: Asks, version: str) -> None:
    """The usual window of a table with a short retention. Manifest lists of format v1 do not tell which manifest came
    last."""
    orders = OrdersTable(tmp_path, {"format-version": version})
    first = goes_silent(orders, 4)[0]

    answer = asks("missing_positions", orders.ask(None, contract=BY_PARTITION))
    orders.close()

    assert (answer.verdict, answer.finding) == (Verdict.INCONCLUSIVE, None)
    assert f"Source partition 1 (last 9) has no row from {short(first)}" in answer.headline
    assert "the oldest commit that is listed" in answer.headline


def test_above_a_few_listed_commits_it_is_named_as_well(orders: OrdersTable, asks: Asks) -> None:
    """Fewer than are looked at: what has expired below them makes up for it."""
    since = goes_silent(orders, 6)[1]

    answer = asks("missing_positions", orders.ask(since, contract=BY_PARTITION))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert f"Source partition 1 (last 9) has no row after {short(since)}" in answer.headline


def test_where_every_partition_goes_on_nothing_is_open(orders: OrdersTable, asks: Asks) -> None:
    """A table that is well stays decidable, also where one does not write with each commit."""
    gone = [writes(orders, 1, 0, 1), writes(orders, 2, 0, 1)]
    writes(orders, 3, 0, 1)
    writes(orders, 4, 0)
    orders.expires(*gone)

    answer = asks("missing_positions", orders.ask(None, contract=BY_PARTITION))

    assert (answer.verdict, answer.could_not_look) == (Verdict.RULED_OUT, ())


def test_no_older_file_is_read_whose_bounds_name_no_other_partition(session: SparkSession, orders: OrdersTable) -> None:
    """The cost follows the window, and what is silent, not what has expired."""
    goes_silent(orders, 4)
    ask = orders.ask(None, contract=BY_PARTITION)
    oldest = ask.observation.table.chain[-1]

    both, one = (_tails.expired_tops(session, ask, oldest, 20, known) for known in ({"0", "1"}, {"0"}))

    assert both == {}
    assert one["1"] == 9


@pytest.mark.parametrize(("following", "verdict"), [(10, Verdict.RULED_OUT), (14, Verdict.INCONCLUSIVE)])
def test_the_jobs_own_state_tells_whether_it_is_idle(
    orders: OrdersTable, asks: Asks, following: int, verdict: Verdict
) -> None:
    """As above listed commits."""
    goes_silent(orders, 4)
    point = reading_on(stored(job("a"), 4, owes=()), 20, following)

    answer = asks("missing_positions", orders.ask(None, contract=BY_PARTITION, checkpoints=[point]))

    assert answer.verdict is verdict


def test_a_gap_is_confirmed_beside_it(orders: OrdersTable, asks: Asks) -> None:
    """What was seen to be missing is missing, whatever is silent."""
    goes_silent(orders, 4)
    writes(orders, 6, 0)

    answer = asks("missing_positions", orders.ask(None, contract=BY_PARTITION))

    assert (answer.verdict, answer.finding.missing) == (Verdict.CONFIRMED, 5)
    assert answer.could_not_look[0].source == "source partition 1 (last 9)"


def test_rows_that_the_oldest_listed_commit_compacted_are_below_it(orders: OrdersTable, asks: Asks) -> None:
    """Its files are its own, and their rows came before."""
    gone = [writes(orders, 1, 0, 1), writes(orders, 2, 0)]
    orders.compacts(orders.live())
    writes(orders, 3, 0)
    orders.expires(*gone)

    answer = asks("missing_positions", orders.ask(None, contract=BY_PARTITION))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert "Source partition 1 (last 4)" in answer.headline


@pytest.mark.parametrize("merges", [False, True], ids=["a manifest each", "merged manifests"])
def test_one_that_had_stopped_long_before_is_not_named(
    tmp_path: Path, asks: Asks, monkeypatch: pytest.MonkeyPatch, merges: bool
) -> None:
    """It is silent in all commits below the window that are looked at, as where these are listed: partition 2 wrote
    last in the fifth commit below the oldest, partition 1 in the third."""
    monkeypatch.setattr(_tails, "BELOW", 3)
    table = OrdersTable(tmp_path, MERGING if merges else {})
    told = {1: (0, 1, 2), 2: (0, 1), 3: (0, 1)}
    below = [writes(table, checkpoint, *told.get(checkpoint, (0,))) for checkpoint in range(1, 6)]
    writes(table, 6, 0)
    writes(table, 7, 0)
    table.expires(*below)

    answer = asks("missing_positions", table.ask(None, contract=BY_PARTITION))
    table.close()

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert answer.could_not_look[0].source == "source partition 1 (last 14)"


@pytest.mark.parametrize("bound", ["_MOST_FILES", "_MOST_MANIFESTS"])
def test_too_much_to_be_looked_at_leaves_it_open(
    orders: OrdersTable, asks: Asks, monkeypatch: pytest.MonkeyPatch, bound: str
) -> None:
    """Could not look is no answer that nothing is there."""
    monkeypatch.setattr(_tails, bound, 1)
    first = goes_silent(orders, 4)[0]

    answer = asks("missing_positions", orders.ask(None, contract=BY_PARTITION))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert answer.could_not_look[0].source == f"what lay below snapshot {first} of sales.orders"
    assert "begins 20 commits later" in answer.could_not_look[0].remedy


def test_a_column_that_had_another_name_leaves_it_open(orders: OrdersTable, asks: Asks) -> None:
    """The expired commits' files hold it under the old one."""
    goes_silent(orders, 4)
    orders.renames_column("source_position", "place")
    named = BY_PARTITION.model_copy(update={"position": "place"})

    answer = asks("missing_positions", orders.ask(None, contract=named))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert answer.could_not_look[0].source == "column place of sales.orders"


def test_where_the_table_begins_nothing_lies_below(orders: OrdersTable, asks: Asks) -> None:
    """A partition that stops inside the window is not silent in all of it."""
    writes(orders, 1, 0, 1)
    writes(orders, 2, 0)

    answer = asks("missing_positions", orders.ask(None, contract=BY_PARTITION))

    assert answer.verdict is Verdict.RULED_OUT


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
    assert "  problem: " in told.stdout


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
