"""What an action of one's own declares is looked at when it is found: at the start, and by `waterline lint`."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

import spark_tasks
from bot import actions
from bot.actions._support.completing import TASKS, scan
from bot.cli import app
from bot.evidence import find_tasks
from bot.observation.errors import BadConfiguration

OURS = """
from bot.incident.action import Action

ACTION = Action(
    name="ours", title="Ours", promise="It is ours.", needs=("ledger",), proofs=(), on_request=True,
)


def propose(plan):
    raise NotImplementedError
"""
PROVEN = 'proofs=(("duplicate_rows", "No duplicate rows"),), moves_waterline="trusted"'


@pytest.mark.parametrize(
    ("was", "written", "says"),
    [
        ('needs=("ledger",)', 'needs=("legder",)', "Expected evidence tasks in its needs; found legder."),
        ("proofs=()", 'proofs=(("rows", "No row"),)', "Expected evidence tasks in its proofs; found rows."),
        ("proofs=()", 'proofs=(), proofs_of_start=(("rows", "No row"),)', "in its proofs_of_start; found rows."),
        ("proofs=()", 'proofs=(), no_more_than_before=("duplicate_rows",)', "no_more_than_before only proofs of it"),
        (
            "proofs=()",
            'proofs=(("ledger", "Told"),), no_more_than_before=("ledger",)',
            "missing_positions; found ledger.",
        ),
        ("proofs=()", 'proofs=(), moves_waterline="trusted"', "no proof of it checks the rows"),
        ("proofs=()", 'proofs=(("ledger", "Told"),), moves_waterline="trusted"', "found ledger."),
    ],
)
def test_what_it_cannot_rest_on_stops_the_start(own: Path, was: str, written: str, says: str) -> None:
    """A name that is written wrong is found at three in the morning otherwise."""
    (own / "ours.py").write_text(OURS.replace(was, written), encoding="utf-8")

    with pytest.raises(BadConfiguration) as refused:
        scan(actions, ["own_actions.ours"])

    assert says in str(refused.value)


@pytest.mark.parametrize(("proofs", "moves"), [("proofs=()", "no"), (PROVEN, "trusted")])
def test_it_says_nothing_of_the_table_unless_it_proves_it(own: Path, proofs: str, moves: str) -> None:
    """Trust is declared, never had by leaving something out."""
    (own / "ours.py").write_text(OURS.replace("proofs=()", proofs), encoding="utf-8")

    assert scan(actions, ["own_actions.ours"])["ours"].action.moves_waterline == moves


def test_lint_names_the_tasks_that_there_are(own: Path) -> None:
    """And ends otherwise than well."""
    (own / "ours.py").write_text(OURS.replace("ledger", "legder"), encoding="utf-8")

    done = CliRunner().invoke(app, ["lint", "--action", "own_actions.ours"])

    assert done.exit_code != 0
    assert isinstance(done.exception, BadConfiguration)
    assert "late_rows, leaked_manifests, ledger" in str(done.exception)


def test_the_tasks_are_those_that_are_found() -> None:
    """Named without loading them."""
    assert set(find_tasks(spark_tasks)) == set(TASKS)
