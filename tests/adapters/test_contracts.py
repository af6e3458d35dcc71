"""Contracts are read from their files: promises and owners; what is not understood is refused."""

from datetime import date, timedelta
from pathlib import Path

import pytest

from bot.adapters.contracts import contract_of, merged, team_of
from bot.bootstrap import setups_of
from bot.incident.setup import Team, TeamMember
from bot.observation.contract import ContractColumn, TableContract
from bot.observation.errors import BadConfiguration
from bot.observation.ids import TableName, UserId
from bot.settings import Settings

ORDERS = TableName("sales.orders")
GOOD = """\
apiVersion: v3.1.0
kind: DataContract
id: 0b6c5a3e
name: orders
version: 1.2.0
status: active
schema:
- name: payments
  physicalName: lake.sales.payments
  properties:
  - {name: payment_id, primaryKey: true}
- name: orders
  physicalType: table
  physicalName: lake.sales.orders
  customProperties:
  - {property: lateAfter, value: PT5M}
  - {property: checkpointEvery, value: 60}
  properties:
  - {name: line, logicalType: integer, physicalType: INT, primaryKey: true, primaryKeyPosition: 2}
  - {name: order_id, logicalType: string, physicalType: VARCHAR(18), primaryKey: true, primaryKeyPosition: 1, required: true}
  - {name: event_time, logicalType: timestamp, physicalType: timestamp}
  - {name: amount, physicalType: "decimal(12,2)"}
  - {name: source_position, physicalType: bigint, customProperties: [{property: position, value: true}]}
  - {name: source_partition, customProperties: [{property: positionPartition, value: true}]}
  - {name: customer, classification: restricted}
  - {name: note, customProperties: [{property: redacted, value: true}]}
slaProperties:
- {property: latency, value: 15, unit: minutes, element: orders.event_time}
- {property: freshness, value: 1, unit: h}
- {property: latency, value: 3, unit: d, element: payments.paid_at}
- {property: Frequency, value: 5, unit: minutes}
- {property: retention, value: 3, unit: y}
- {property: availability, value: "99.9", unit: percent}
"""  # noqa: E501 - a column a line, as contracts are written


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A well-formed contract, to be spoilt."""
    path = tmp_path / "orders.odcs.yaml"
    path.write_text(GOOD, encoding="utf-8")
    return path


def test_a_contract_says_key_columns_and_service_levels(file: Path) -> None:
    """Each promise comes from where the standard puts it; of several tables the right one is taken."""
    contract = contract_of(file, ORDERS)

    assert contract.key == ("order_id", "line")
    assert (contract.position, contract.position_partition) == ("source_position", "source_partition")
    assert contract.event_time == "event_time"
    assert contract.redacted == ("customer", "note")
    assert contract.freshness == timedelta(minutes=15)
    assert contract.commit_every == timedelta(minutes=5)
    assert contract.keep_snapshots == timedelta(days=3 * 365)
    assert (contract.late_after, contract.checkpoint_every) == (timedelta(minutes=5), timedelta(minutes=1))


def test_a_contract_says_that_positions_are_not_dense(file: Path) -> None:
    """Without a word nobody knows."""
    said = GOOD.replace("{property: lateAfter", "{property: positionIsDense, value: false}\n  - {property: lateAfter")
    file.write_text(said, encoding="utf-8")

    assert said != GOOD
    assert contract_of(file, ORDERS).position_is_dense is False
    assert TableContract().position_is_dense is None


@pytest.mark.parametrize(
    ("told", "meant"),
    [
        ("900000, unit: ms", timedelta(minutes=15)),
        ("900000, unit: milliseconds", timedelta(minutes=15)),
        ("90, unit: Seconds", timedelta(seconds=90)),
        ("15, unit: mins", timedelta(minutes=15)),
        ("15, unit: m", timedelta(minutes=15)),
        ("2, unit: yrs", timedelta(days=730)),
    ],
)
def test_a_unit_is_read_as_it_is_meant(file: Path, told: str, meant: timedelta) -> None:
    """A promise of 900,000 ms is not one of 900,000 minutes."""
    file.write_text(GOOD.replace("15, unit: minutes", told), encoding="utf-8")

    assert contract_of(file, ORDERS).freshness == meant


@pytest.mark.parametrize(
    "element",
    [
        "orders.eventTime",
        "orders.event_time",
        "lake.sales.orders.eventTime",
        "orders.eventTime, payments.paid_at",
        "payments.paid_at,orders.eventTime",
        "orders, orders.eventTime",
    ],
)
def test_the_column_of_a_latency_is_this_tables_as_the_table_has_it(file: Path, element: str) -> None:
    """Elements are written with logical names, several of them with commas between, those of other tables too."""
    said = GOOD.replace("{name: event_time,", "{name: eventTime, physicalName: event_time,")
    file.write_text(said.replace("element: orders.event_time", f'element: "{element}"'), encoding="utf-8")

    contract = contract_of(file, ORDERS)

    assert (contract.event_time, contract.freshness) == ("event_time", timedelta(minutes=15))


def test_types_are_taken_only_where_they_are_clear(file: Path) -> None:
    """Engines' words become Iceberg's; a bare `timestamp` means different things and promises none."""
    columns = {column.name: column for column in contract_of(file, ORDERS).columns}

    assert columns["order_id"] == ContractColumn(name="order_id", type="string", required=True)
    assert columns["amount"].type == "decimal(12, 2)"
    assert columns["source_position"].type == "long"
    assert columns["event_time"].type is None


def test_what_the_settings_say_wins_over_the_file(file: Path) -> None:
    """Only what is said: a field that the settings leave out stays the contract's."""
    inline = TableContract.model_validate({"freshness": "PT1M", "redacted": []})

    contract = merged(inline, contract_of(file, ORDERS))

    assert contract.freshness == timedelta(minutes=1)
    assert contract.redacted == ()
    assert contract.key == ("order_id", "line")


def test_the_settings_name_the_file_beside_themselves(file: Path) -> None:
    """`contract_file` is relative to the configuration, and no key need be repeated there."""
    config = file.parent / "waterline.yaml"
    config.write_text(
        "catalog: {name: lake, properties: {type: sql}}\n"
        "tables:\n"
        "  sales.orders:\n"
        "    contract_file: orders.odcs.yaml\n"
        "    contract: {position: offset}\n"
        "    policies: {default: {users: [U0BEN00001]}}\n",
        encoding="utf-8",
    )

    [setup] = setups_of(Settings.load(config)).values()

    assert setup.contract.key == ("order_id", "line")
    assert setup.contract.position == "offset"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("kind: DataContract", "kind: DataProduct", "another kind of contract"),
        ("apiVersion: v3.1.0", "apiVersion: v2.2.2", "another kind of contract"),
        ("lake.sales.orders", "lake.sales.returns", None),
        ("value: 15, unit: minutes", "value: soon, unit: minutes", "service level latency cannot be understood"),
        ("value: 15, unit: minutes", "value: 15, unit: percent", "service level latency cannot be understood"),
        ("value: 15, unit: minutes", "value: 15, unit: ds", "service level latency cannot be understood"),
        ("value: 15, unit: minutes", "value: .nan, unit: s", "service level latency cannot be understood"),
        ("value: 15, unit: minutes", "value: .inf, unit: s", "service level latency cannot be understood"),
        ("value: 15, unit: minutes", "value: 1.0e+300, unit: s", "service level latency cannot be understood"),
        ("status: active", "status: active\nprise: 3", "not a data contract"),
        ("status: active", "status: [", "not a data contract"),
        ("lateAfter, value: PT5M", "lateAfter, value: PT5", "not a data contract"),
        ("{name: note,", "{description: note,", "a property has no name"),
    ],
)
def test_a_contract_that_is_not_understood_is_refused(file: Path, old: str, new: str, words: str | None) -> None:
    """A promise that is read wrongly is worse than none: each problem names the file and what to do.

    Where the physical name differs, the schema object's own name still tells the table.
    """
    assert old in GOOD
    file.write_text(GOOD.replace(old, new), encoding="utf-8")
    if words is None:
        assert contract_of(file, ORDERS).key == ("order_id", "line")
        return

    with pytest.raises(BadConfiguration, match=words) as refused:
        contract_of(file, ORDERS)

    assert refused.value.happened.startswith(f"{file}: ")
    assert refused.value.remedy


def test_a_table_that_the_contract_does_not_describe_is_refused(file: Path) -> None:
    """The tables that it does describe are named."""
    with pytest.raises(BadConfiguration, match=r"does not describe sales\.refunds.*lake\.sales\.payments"):
        contract_of(file, TableName("sales.refunds"))


def test_a_contract_that_is_not_there_is_a_bad_configuration(tmp_path: Path) -> None:
    """The path is named with what to correct."""
    with pytest.raises(BadConfiguration, match=r"none\.yaml: the data contract cannot be read"):
        contract_of(tmp_path / "none.yaml", ORDERS)


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
def team_file(tmp_path: Path) -> Path:
    """Where the contract stands."""
    return tmp_path / "orders.odcs.yaml"


def read(team_file: Path, text: str) -> Team | None:
    """The team of a contract with this text."""
    team_file.write_text(text, encoding="utf-8")
    return team_of(team_file)


@pytest.mark.parametrize(("text", "name"), [(LIST, None), (OBJECT, "Orders")], ids=["v3.0 list", "v3.1 object"])
def test_both_forms_name_the_same_people(team_file: Path, text: str, name: str | None) -> None:
    """Dates as YAML writes them, people of Slack by custom property or username, and who left is there no more."""
    team = read(team_file, text)

    assert team is not None
    assert team.name == name
    assert [(each.name, each.slack) for each in team.current(TODAY)] == [
        ("Dana Weiss", "U0DANA0004"),
        ("Ben Okafor", "U0BEN00001"),
    ]
    assert contract_of(team_file, ORDERS).key == ("order_id",)


def test_a_day_counts_from_its_begin_and_not_at_its_end() -> None:
    """`dateIn` is the first day, `dateOut` the first without."""
    member = TeamMember(name="Dana", since=date(2026, 10, 1), until=date(2026, 11, 3))

    assert [member.is_there(date(2026, *day)) for day in ((9, 30), (10, 1), (11, 2), (11, 3))] == [
        False, True, True, False,
    ]  # fmt: skip


def test_a_team_is_said_in_a_line() -> None:
    """Its name, then people with their role, owners first, the others counted."""
    many = tuple(TeamMember(name=f"P{n}") for n in range(7))

    assert Team(name="Orders", members=(*many, TeamMember(name="Dana", role="Owner"))).in_words(TODAY) == (
        "Orders: Dana (Owner), P0, P1, P2, P3 and 3 more"
    )
    assert (Team(name="Orders").in_words(TODAY), Team(members=many[:1]).in_words(TODAY)) == ("Orders", "P0")


@pytest.mark.parametrize(
    ("team", "words"),
    [
        ("team: platform", "this is not a data contract"),
        ("team: [ana, {username: ben}]", "this is not a data contract"),
        ("team: [{username: ben, customProperties: {slackId: U0BEN00001}}]", "this is not a data contract"),
        ("team: [{role: Owner}, {username: ben}]", "member 1 of `team`.*name None"),
        ("team: [{username: ben}, {username: eve, dateOut: soon}]", "member 2 of `team`.*soon"),
        ("team: [{username: ben, customProperties: [{property: slackId, value: '@ben'}]}]", "Slack user id @ben"),
    ],
)
def test_a_team_that_is_not_understood_is_refused(team_file: Path, team: str, words: str) -> None:
    """At the start, with the file and what to write: nobody is left out silently."""
    with pytest.raises(BadConfiguration, match=words):
        read(team_file, f"{HEAD}{team}\n")


def test_a_contract_without_team_has_none(team_file: Path) -> None:
    """Nobody is made up."""
    assert read(team_file, HEAD) is None
    assert read(team_file, f"{HEAD}team: {{members: []}}\n") is None


@pytest.fixture
def config(team_file: Path) -> Path:
    """A configuration that names the contract."""
    at = team_file.parent / "waterline.yaml"
    at.write_text(
        "catalog: {name: lake, properties: {type: sql}}\n"
        "tables:\n"
        "  sales.orders:\n"
        "    contract_file: orders.odcs.yaml\n"
        "    policies: {default: {users: [U0BEN00001]}}\n",
        encoding="utf-8",
    )
    return at


def test_the_team_comes_with_the_table(team_file: Path, config: Path) -> None:
    """At the start, beside the promises."""
    team_file.write_text(OBJECT, encoding="utf-8")

    [setup] = setups_of(Settings.load(config)).values()

    assert setup.team is not None
    assert setup.team.has(UserId("U0DANA0004"), TODAY)
