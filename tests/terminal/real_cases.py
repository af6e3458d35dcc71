"""Cases that were saved on a real Flink, and a look at the world that they are given instead."""

from pathlib import Path

from typer.testing import CliRunner

from bot.history.case import Case

RUN = CliRunner()
CASES = Path(__file__).parents[1] / "data" / "cases"
REAL = CASES / "restored-from-older-savepoint-v2.json.gz"


def with_world(case: Case, **seen: object) -> Case:
    """The same case over another look at the world."""
    return case.model_copy(update={"observation": case.observation.model_copy(update=seen)})
