"""What a terminal shows while evidence is collected, and what Ctrl-C does to it."""

import io
import json
import os
import re
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import typer
from rich.console import Console

import spark_tasks
from bot.adapters.clock import SystemClock
from bot.bootstrap import build, failure_modes
from bot.cli.options import NobodyThere
from bot.cli.tables import followed
from bot.evidence import Collector, find_tasks
from bot.observation.evidence import Verdict
from bot.service.examining import Examiner
from bot.settings import Settings
from tests.adapters.lake import ORDERS, Lake
from tests.slack.looking import ArrowRunner
from tests.slack.people import eventually

A_TASK = "freshness: 3 of 8 Spark tasks, 2.0 MB read"
A_DIAGNOSIS = r"0 of \d+ tasks answered; "


@pytest.fixture
def runner() -> ArrowRunner:
    """It answers at once, or waits where a test says so."""
    return ArrowRunner()


@pytest.fixture
def examiner(tmp_path: Path, runner: ArrowRunner) -> Iterator[Examiner]:
    """Over a real table in a real catalog."""
    lake = Lake(tmp_path)
    lake.append(1, 2, 3)
    content = {
        "home": str(tmp_path / "home"),
        "catalog": {"name": "lake", "properties": dict(lake.properties)},
        "tables": {
            str(ORDERS): {"contract": {"key": ["order_id"]}, "policies": {"default": {"users": ["U0BEN00002"]}}}
        },
    }
    (tmp_path / "waterline.yaml").write_text(json.dumps(content))
    with build(Settings.load(tmp_path / "waterline.yaml"), NobodyThere(), keep_record=False) as built:
        collector = Collector(find_tasks(spark_tasks), runner, SystemClock())
        yield Examiner(built.services.observer, collector, failure_modes())
    lake.close()


def terminal() -> Console:
    """Somebody looks at it."""
    return Console(file=io.StringIO(), force_terminal=True, width=200)


def shown(console: Console) -> str:
    """What has been written to it."""
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def once(runner: ArrowRunner, is_running: int, console: Console, shows: str, do: Callable[[], None]) -> None:
    """When so many tasks have begun, and the terminal shows how far they are."""

    def watch() -> None:
        try:
            eventually(lambda: runner.runs >= is_running and re.search(shows, shown(console)) is not None)
        finally:
            do()  # else the test hangs where it should fail

    threading.Thread(target=watch, daemon=True).start()


def test_a_terminal_is_shown_how_far_a_task_is(examiner: Examiner, runner: ArrowRunner) -> None:
    """What Spark has done of it, and what was read; the answer comes as without."""
    console = terminal()
    runner.slow()
    once(runner, 1, console, A_TASK, runner.quick)

    found = followed(examiner, lambda course: examiner.collect(ORDERS, "freshness", course=course), console)

    assert Verdict.INCONCLUSIVE is found.verdict
    assert A_TASK in shown(console)


def test_a_terminal_is_shown_how_many_tasks_have_answered(examiner: Examiner, runner: ArrowRunner) -> None:
    """Of a diagnosis, which asks them all."""
    console = terminal()
    runner.slow()
    once(runner, 2, console, A_DIAGNOSIS, runner.quick)

    found = followed(examiner, lambda course: examiner.examine(ORDERS, without_rows=True, course=course), console)

    assert f"0 of {len(found.case.evidence)} tasks answered; " in shown(console)


def test_nothing_is_shown_where_nobody_looks(examiner: Examiner) -> None:
    """A log of a pipeline is no terminal."""
    console = Console(file=io.StringIO())

    followed(examiner, lambda course: examiner.collect(ORDERS, "freshness", course=course), console)

    assert "" == shown(console)


@pytest.mark.parametrize("tasks", [1, 2])
def test_ctrl_c_ends_what_runs_on_spark(examiner: Examiner, runner: ArrowRunner, tasks: int) -> None:
    """Exit code 130 with a plain word, every task interrupted, and none begun after it."""
    console = terminal()
    runner.slow()
    shows = A_TASK if tasks == 1 else A_DIAGNOSIS
    once(runner, tasks, console, shows, lambda: os.kill(os.getpid(), signal.SIGINT))

    with pytest.raises(typer.Exit) as left:
        followed(
            examiner,
            lambda course: (
                examiner.collect(ORDERS, "freshness", course=course)
                if tasks == 1
                else examiner.examine(ORDERS, without_rows=True, course=course)
            ),
            console,
        )

    assert 130 == left.value.exit_code
    assert "Cancelled." in shown(console)
    assert tasks == runner.runs
    assert runner.is_idle


def test_an_error_is_told_as_without(examiner: Examiner, runner: ArrowRunner) -> None:
    """Followed or not, it is the same error."""
    runner.fails()

    with pytest.raises(Exception, match="Spark went away"):
        followed(examiner, lambda course: examiner.collect(ORDERS, "freshness", course=course), terminal())
