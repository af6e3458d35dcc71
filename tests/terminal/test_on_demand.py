"""Commands are imported when they are run; the list of commands knows them all the same."""

import subprocess
import sys

import pytest
from typer.testing import CliRunner

from bot.cli import app
from bot.cli.on_demand import LATE

HEAVY = {"pyspark", "pyiceberg", "pyarrow", "pandas", "slack_bolt", "sqlalchemy"}


@pytest.mark.parametrize("name", LATE)
def test_the_list_says_what_the_command_says(name: str) -> None:
    """A sentence that was changed in one place only would be found by a person at night."""
    said = LATE[name].imported(name).help.partition("\n\n")[0]

    assert LATE[name].help == " ".join(said.split())


def test_help_is_there_at_once() -> None:
    """It imports nothing of what takes seconds: neither Spark nor catalogs nor Slack nor the record."""
    code = (
        "import sys; from bot.cli import app; sys.argv = ['waterline', '--help'];\n"
        "try: app()\n"
        f"except SystemExit: print(sorted({HEAVY} & {{*sys.modules}}))"
    )

    done = subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.PIPE, text=True)

    assert "trust" in done.stdout
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_mistyped_command_is_told_the_nearest() -> None:
    """As for commands that are not late."""
    said = CliRunner().invoke(app, ["trst"])

    assert said.exit_code == 2
    assert "Did you mean 'trust'?" in said.output
