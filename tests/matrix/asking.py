"""Asks `waterline diagnose --json` as a person would, with a configuration for the lab."""

import json
import subprocess
import sys
from pathlib import Path

from bot.cli.demo_config import write_config
from bot.lab.errors import LabError
from bot.lab.home import LabState
from bot.lab.lab import Lab
from bot.workspace import default_cast
from tests.matrix.plan import Run
from tests.matrix.told import Told

LIMIT_S = 400
NOWHERE = "http://127.0.0.1:9"
"""No Slack listens there; a diagnosis needs none."""


def asked(folder: Path, lab: Lab, run: Run) -> Told:
    """What the bot says of the lab's table now; an answer without codes holds the bot's error as its headline."""
    config = configured(folder, lab.state)
    command = [sys.executable, "-m", "bot.cli", "diagnose", lab.state.table, "--json", "--config", str(config)]
    try:
        ended = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    except subprocess.TimeoutExpired:
        return _nothing(run, lab, f"No answer within {LIMIT_S} s.")
    (folder / f"{run.name}.json").write_text(ended.stdout, encoding="utf-8")
    (folder / f"{run.name}.err").write_text(ended.stderr, encoding="utf-8")
    if ended.returncode:
        return _nothing(run, lab, ended.stderr.strip()[-600:] or f"Ended with code {ended.returncode}.")
    said = json.loads(ended.stdout)
    by_verdict: dict[str, list[str]] = {"matches": [], "excluded": [], "cannot-tell": []}
    headlines = {}
    for result in said["results"]:
        examined = result["examined"]
        by_verdict[examined["verdict"]].append(result["mode"]["code"])
        headlines[result["mode"]["code"]] = examined.get("headline", "")
    codes = tuple(said["codes"])
    return Told(
        name=run.name,
        codes=codes,
        headline=headlines[codes[0]] if codes else "No mode matches.",
        excluded=tuple(by_verdict["excluded"]),
        undecided=tuple(by_verdict["cannot-tell"]),
        proof=counted(lab),
    )


def configured(folder: Path, state: LabState) -> Path:
    """The configuration of the demo, in a folder of its own, so that no answer of an earlier run is used."""
    folder.mkdir(parents=True, exist_ok=True)
    return write_config(folder, state, NOWHERE, default_cast())


def counted(lab: Lab) -> str:
    """What the table holds, read from outside the bot; PyIceberg reads no equality deletes, so Spark counts upserts."""
    if lab.state.upsert:
        return "an upsert table; not counted"
    try:
        proof = lab.proof()
    except (LabError, FileNotFoundError) as error:
        return f"cannot be read ({type(error).__name__})"
    missing = f"{proof.missing_positions} missing" if proof.missing else "none missing"
    return f"{proof.rows} rows, {proof.duplicates} duplicates, {missing}"


def _nothing(run: Run, lab: Lab, why: str) -> Told:
    return Told(name=run.name, codes=(), headline=why, excluded=(), undecided=(), proof=counted(lab))
