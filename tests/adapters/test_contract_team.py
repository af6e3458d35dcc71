"""Whose table it is stands in its contract: both forms are read; what is odd is named and not fatal."""

from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from bot.adapters.contracts import contract_of, team_of
from bot.bootstrap import setups_of
from bot.cli.doctor import teams
from bot.domain.errors import BadConfiguration
from bot.domain.ids import TableName, UserId
from bot.domain.setup import Team, TeamMember
from bot.settings import Settings

ORDERS = TableName("sales.orders")
HEAD = """\
apiVersion: v3.1.0
kind: DataContract
id: orders
version: 1.0.0
status: active
contractCreatedTs: 2026-01-05T10:00:00Z
schema:
- name: orders
  properties:
  - {name: order_id, primaryKey: true}
"""
MEMBERS = """\
- username: eve
  role: Data Scientist
  dateIn: 2022-08-02
  dateOut: 2026-10-01
  replacedByUsername: dana
- username: ben@acme.example
  name: Ben Okafor
  role: Data Steward
  customProperties: [{property: slackUserId, value: <@U0BEN00001>}]
- username: U0DANA0004
  name: Dana Weiss
  role: Data Owner
  dateIn: 2026-10-01
- {username: finn, dateIn: 2027-01-01}
"""
LIST = f"{HEAD}team:\n{MEMBERS}"
OBJECT = f"{HEAD}team:\n  id: orders-team\n  name: Orders\n  members:\n" + "".join(
    f"  {line}\n" for line in MEMBERS.splitlines()
)
TODAY = date(2026, 11, 3)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where the contract stands."""
    return tmp_path / "orders.odcs.yaml"


def read(file: Path, text: str) -> tuple[Team | None, tuple[str, ...]]:
    """The team of a contract with this text."""
    file.write_text(text, encoding="utf-8")
    return team_of(file)


@pytest.mark.parametrize(("text", "name"), [(LIST, None), (OBJECT, "Orders")], ids=["v3.0 list", "v3.1 object"])
def test_both_forms_name_the_same_people(file: Path, text: str, name: str | None) -> None:
    """Dates as YAML writes them, people of Slack by custom property or username, and who left is there no more."""
    team, problems = read(file, text)

    assert team is not None
    assert problems == ()
    assert team.name == name
    assert [(each.name, each.slack) for each in team.current(TODAY)] == [
        ("Dana Weiss", "U0DANA0004"),
        ("Ben Okafor", "U0BEN00001"),
    ]
    assert contract_of(file, ORDERS).key == ("order_id",)


def test_a_day_counts_from_its_begin_and_not_at_its_end() -> None:
    """`dateIn` is the first day, `dateOut` the first without."""
    member = TeamMember(name="Dana", since=date(2026, 10, 1), until=date(2026, 11, 3))

    assert [member.is_there(date(2026, *day)) for day in ((9, 30), (10, 1), (11, 2), (11, 3))] == [
        False, True, True, False,
    ]  # fmt: skip


def test_an_owner_answers_before_a_steward_and_before_others(file: Path) -> None:
    """Only whom Slack knows can be handed anything."""
    ben, dana, finn = (
        TeamMember(name="Ben", role="data STEWARD", slack=UserId("U0BEN00001")),
        TeamMember(name="Dana", role="Product Owner", slack=UserId("U0DANA0004")),
        TeamMember(name="Finn", slack=UserId("U0FINN0005")),
    )

    assert Team(members=(finn, ben, dana)).answering(TODAY) == "U0DANA0004"
    assert Team(members=(finn, ben, dana.model_copy(update={"slack": None}))).answering(TODAY) == "U0BEN00001"
    assert Team(members=(finn,)).answering(TODAY) == "U0FINN0005"
    assert Team(name="Orders").answering(TODAY) is None


def test_a_team_is_said_in_a_line() -> None:
    """Its name, then people with their role, owners first, the others counted."""
    many = tuple(TeamMember(name=f"P{n}") for n in range(7))

    assert Team(name="Orders", members=(*many, TeamMember(name="Dana", role="Owner"))).in_words(TODAY) == (
        "Orders: Dana (Owner), P0, P1, P2, P3 and 3 more"
    )
    assert (Team(name="Orders").in_words(TODAY), Team(members=many[:1]).in_words(TODAY)) == ("Orders", "P0")


@pytest.mark.parametrize(
    ("team", "kept", "problem"),
    [
        ("team: platform", [], "`team` is text, not a list of members"),
        ("team: {name: Orders, members: ana}", [], "`team.members` is text, not a list of members"),
        ("team: {name: Orders, memebrs: []}", [], None),
        ("team: [ana, {username: ben}]", ["ben"], "member 1 of `team` is text, not an object"),
        ("team: [{role: Owner}, {username: ben}]", ["ben"], "member 1 of `team` has no username"),
        ("team: [{username: ben, dateOut: soon}]", ["ben"], "dateOut of member 1 of `team` (ben) is no day: soon"),
        ("team: [{username: ben, unheard: of}]", ["ben"], None),
        (
            "team: [{username: ben, customProperties: [{property: slackId, value: '@ben'}]}]",
            ["ben"],
            "slackId of member 1 of `team` (ben) is no Slack user id: @ben",
        ),
        (
            "team: [{username: ben, customProperties: {slackId: U0BEN00001}}]",
            ["ben"],
            "`customProperties` of member 1 of `team` (ben) is an object, not a list",
        ),
    ],
)
def test_what_is_written_otherwise_is_named_and_ends_nothing(
    file: Path, team: str, kept: list[str], problem: str | None
) -> None:
    """The promises of the table are read all the same, and the other members count."""
    found, problems = read(file, f"{HEAD}{team}\n")

    assert [each.name for each in (found.members if found else ())] == kept
    assert problems == ((problem,) if problem else ())
    assert contract_of(file, ORDERS).key == ("order_id",)


def test_a_contract_without_team_has_none_and_a_file_that_is_no_yaml_is_refused(file: Path) -> None:
    """Nobody is made up."""
    assert read(file, HEAD) == (None, ())
    with pytest.raises(BadConfiguration, match="cannot be read"):
        read(file, "team: [")


@pytest.fixture
def config(file: Path) -> Path:
    """A configuration that names the contract."""
    at = file.parent / "waterline.yaml"
    at.write_text(
        "catalog: {name: lake, properties: {type: sql}}\n"
        "tables:\n"
        "  sales.orders:\n"
        "    contract_file: orders.odcs.yaml\n"
        "    policies: {default: {users: [U0BEN00001]}}\n",
        encoding="utf-8",
    )
    return at


def test_the_team_comes_with_the_table(file: Path, config: Path) -> None:
    """At the start, beside the promises."""
    file.write_text(OBJECT, encoding="utf-8")

    [setup] = setups_of(Settings.load(config)).values()

    assert setup.team is not None
    assert setup.team.answering(TODAY) == "U0DANA0004"


def test_doctor_names_what_is_odd_and_a_team_that_slack_does_not_know(file: Path, config: Path) -> None:
    """The first is to be corrected, the second is said."""
    file.write_text(f"{HEAD}team: [ana, {{username: ben}}]\n", encoding="utf-8")
    odd, unknown = teams(Settings.load(config))
    year = datetime.now(UTC).year
    file.write_text(f"{HEAD}team: [{{username: U0BEN00001, dateOut: {year + 9}-01-01}}]\n", encoding="utf-8")
    fine = list(teams(Settings.load(config)))

    assert (odd[0], odd[1], odd[2]) == ("team of sales.orders", False, "member 1 of `team` is text, not an object")
    assert (unknown[1], "Slack id" in unknown[2]) == (True, True)
    assert fine == []
