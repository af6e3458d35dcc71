"""Asks the bot as a person would, with a configuration for the lab: saves the case, then has it diagnosed."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from typer.testing import CliRunner

from bot.cli import app
from bot.cli.demo import write_config
from bot.lab.errors import LabError
from bot.lab.external_writers import ExternalWriter
from bot.lab.home import LabState
from bot.lab.lab import Lab
from bot.workspace import default_cast
from tests.matrix.plan import Run
from tests.matrix.told import Told

LIMIT_S = 600
NOWHERE = "http://127.0.0.1:9"
"""No Slack listens there; a diagnosis needs none."""
CASES = Path(__file__).parent.parent / "data" / "cases"
MOST_BYTES = 60_000


def name_of(case: Path) -> str:
    """`job-failed-v2` of `job-failed-v2.json.gz`."""
    return case.name.removesuffix(".json.gz")


class NoAnswer(RuntimeError):
    """Raised with the last words of the bot when a command of it failed."""


def asked(folder: Path, lab: Lab, run: Run) -> Told:
    """What the bot says of the lab's table now; an answer without codes holds the bot's error as its headline.

    The case stays in `tests/data/cases`, where a test has it diagnosed again with each change of the bot.
    """
    config = configured(folder, lab.state)
    case = CASES / f"{run.name}.json.gz"
    case.parent.mkdir(parents=True, exist_ok=True)
    case.unlink(missing_ok=True)
    try:
        said = ("case", "save", lab.state.table, "--to", str(case), "--config", str(config))
        _waterline(*said, environment=lab.state.environment)
        return asked_again(case, counted(lab))
    except NoAnswer as error:
        return Told(name=run.name, codes=(), headline=str(error), excluded=(), undecided=(), proof=counted(lab))


def asked_again(case: Path, proof: str) -> Told:
    """What the bot says of a saved case, of which the lab had counted `proof`; in this process, which is faster."""
    answer = CliRunner().invoke(app, ["diagnose", "--case", str(case), "--json"])
    if answer.exit_code:
        raise NoAnswer(f"{case.name}: {answer.exception}")
    return told_in(name_of(case), json.loads(answer.stdout), proof)


def told_in(name: str, said: dict[str, object], proof: str) -> Told:
    """The part of the bot's JSON that the page shows."""
    results = said["results"]
    assert isinstance(results, list)
    by_verdict: dict[str, list[str]] = {"matches": [], "excluded": [], "cannot-tell": []}
    headlines = {}
    is_open = ""
    for result in results:
        if result["mode"]["code"] == "healthy" and result["examined"]["verdict"] == "cannot-tell":
            is_open = f" Not known: {'; '.join(result['examined']['missing'])}."
        by_verdict[result["examined"]["verdict"]].append(result["mode"]["code"])
        headlines[result["mode"]["code"]] = result["examined"].get("headline", "")
    codes = said["codes"]
    assert isinstance(codes, list)
    return Told(
        name=name,
        codes=tuple(codes),
        headline=headlines[codes[0]] if codes else f"No mode matches.{is_open}",
        excluded=tuple(by_verdict["excluded"]),
        undecided=tuple(by_verdict["cannot-tell"]),
        proof=proof,
    )


def configured(folder: Path, state: LabState) -> Path:
    """The configuration of the demo, in a folder of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    return write_config(folder, state, NOWHERE, default_cast())


def counted(lab: Lab) -> str:
    """What the table holds, read from outside the bot: by PyIceberg, and where rows replace others by the lab's Spark,
    because PyIceberg reads no equality deletes."""
    if lab.state.upsert:
        return counted_by_key(lab)
    try:
        proof = lab.proof()
    except (LabError, FileNotFoundError) as error:
        return f"cannot be read ({type(error).__name__})"
    missing = f"{proof.missing_positions} missing" if proof.missing_positions else "none missing"
    if proof.partitions:
        gone = sum(last - first + 1 for each in proof.partitions for first, last in each.deleted)
        missing += f" in {len(proof.partitions)} partitions" + (f" ({gone} gone from the topic)" if gone else "")
        missing += f", {sum(each.later for each in proof.partitions)} later records in the topic"
    return f"{proof.rows} rows, {proof.duplicates} duplicates, {missing}"


def counted_by_key(lab: Lab) -> str:
    """Live rows and keys of a table in which a row replaces the one with its key."""
    question = "SELECT count(*) AS live, count(DISTINCT order_id) AS keys FROM {table}"
    (row,) = ExternalWriter(lab.home, lab.state).sql(question)
    live, keys = int(str(row["live"])), int(str(row["keys"]))
    return f"{live} rows of {keys} keys, {live - keys} rows too many"


def _waterline(*arguments: str, environment: Mapping[str, str]) -> str:
    command = [sys.executable, "-m", "bot.cli", *arguments]
    env = {**os.environ, **environment}
    try:
        ended = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False, env=env)
    except subprocess.TimeoutExpired as error:
        raise NoAnswer(f"No answer within {LIMIT_S} s.") from error
    if ended.returncode:
        last = ended.stderr.strip().splitlines()[-1:] or [f"Ended with code {ended.returncode}."]
        raise NoAnswer(last[0][:300])
    return ended.stdout
