"""Exact JSON, the list of commands, and the doctor."""

import subprocess
import sys

import pytest
from typer.testing import CliRunner

from bot.cli import app
from bot.cli.doctor import policies_of
from bot.cli.on_demand import LATE
from bot.cli.options import exact
from bot.domain.approval import ApprovalPolicy, People
from bot.domain.ids import SnapshotId, UserId
from bot.domain.setup import TableSetup
from bot.domain.table import Window
from tests.tables import CONTRACT, ORDERS


def test_a_snapshot_id_is_text_as_it_does_not_fit_a_double() -> None:
    """jq 1.6 made 8648112722606858000 of this one."""
    window = Window(since=None, until=SnapshotId(8648112722606858536))

    told = exact(window.model_dump(mode="json"))

    assert isinstance(told, dict)
    assert told["until"] == "8648112722606858536"


def test_what_fits_stays_a_number() -> None:
    """In lists and in dictionaries, at any depth; a yes is no number."""
    assert exact({"rows": [1, (2**53 - 1, 2**53)], "is": True, "not": None}) == {
        "rows": [1, [2**53 - 1, str(2**53)]],
        "is": True,
        "not": None,
    }


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


ANA, BEN, CLEO = (UserId(f"U0{name}0001") for name in ("ANAAA", "BENNN", "CLEOO"))
TWO_TEAMS = ApprovalPolicy(teams={"a": People(users=(ANA,)), "b": People(users=(BEN,))})


@pytest.mark.parametrize(
    ("policies", "told"),
    [
        ({"default": TWO_TEAMS}, None),
        ({"default": ApprovalPolicy(users=(ANA, BEN), different_teams=1)}, None),
        ({"default": ApprovalPolicy(users=(ANA, BEN))}, "only two people can approve"),
        ({"default": ApprovalPolicy(users=(ANA, BEN, CLEO))}, "two people approve destructive actions"),
        ({"default": ApprovalPolicy(groups=("S0APPROVE1",))}, "two people approve destructive actions"),
        ({"default": ApprovalPolicy(users=(ANA,)), "destructive": TWO_TEAMS}, None),
        ({"default": TWO_TEAMS, "destructive/sev1": ApprovalPolicy(users=(ANA, BEN))}, "only two people can approve"),
    ],
)
def test_policies_that_two_teams_cannot_fulfil_are_named(policies: dict[str, ApprovalPolicy], told: str | None) -> None:
    """A number that the policy says itself was meant; what holds by default is said with the way out."""
    setup = TableSetup(
        name=ORDERS, job=None, contract=CONTRACT, consumers=(), policies=policies, next_update_minutes=30
    )

    found = [text for _what, _is_good, text, _remedy in policies_of([setup])]

    assert [told] * (told is not None) == [told for text in found if told is not None and told in text]
    assert len(found) == (told is not None)
