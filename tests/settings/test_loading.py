"""Settings, the example file and secrets: read, known, and refused with file and line."""

import re
from datetime import timedelta
from pathlib import Path

import pytest

from bot.observation.errors import BadConfiguration
from bot.observation.ids import TableName
from bot.settings import JarStartSettings, Settings, SqlGatewayStartSettings
from bot.settings.reading import settings_of

GOOD = """\
catalog:
  name: lake
  properties: {type: sql, uri: "sqlite:///lake.db"}
jobs:
  orders-to-iceberg:
    flink: http://127.0.0.1:8081
    start:
      kind: sql-gateway
      url: http://127.0.0.1:8083
      statements: [INSERT INTO a SELECT 1]
tables:
  sales.orders:
    job: orders-to-iceberg
    contract: {key: [order_id]}
    policies:
      default: {users: [U0BEN00001]}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A well-formed file, to be spoilt."""
    path = tmp_path / "waterline.yaml"
    path.write_text(GOOD, encoding="utf-8")
    return path


def refusal(file: Path, old: str, new: str) -> BadConfiguration:
    """The refusal of the good file with one part replaced."""
    assert old in GOOD
    file.write_text(GOOD.replace(old, new), encoding="utf-8")
    with pytest.raises(BadConfiguration) as refused:
        Settings.load(file)
    return refused.value


@pytest.mark.parametrize(
    ("old", "new", "line", "setting", "found", "remedy"),
    [
        ("    job: ", "    jop: ", 13, "tables.sales.orders.jop", "found jop", "Did you mean `job`?"),
        ("jobs:", "lineage: {events: e.jsonl, marquez: 'http://m:5000'}\njobs:", 4, "lineage.marquez",
         "found both", "Remove one"),
        ("  name: lake\n", "", 1, "catalog.name", "Expected name; found nothing", "Add it"),
        ("http://127.0.0.1:8081", "flink:8081", 6, "jobs.orders-to-iceberg.flink", "'flink:8081'", "Correct it"),
        (": sql-gateway", ": yarn", 7, "jobs.orders-to-iceberg.start", "found yarn", "which kind"),
        ("127.0.0.1:8083", "", 9, "jobs.orders-to-iceberg.start.url", "'http://'", "Correct it"),
        ("job: orders-to-iceberg", "job: order-to-iceberg", 13, "tables.sales.orders.job",
         "found order-to-iceberg", "Did you mean `orders-to-iceberg`?"),
        ("    contract:", "    other_jobs: [orders-to-iceburg]\n    contract:", 14, "tables.sales.orders.other_jobs",
         "found orders-to-iceburg", "Did you mean `orders-to-iceberg`?"),
        ("    contract:", "    other_jobs: [orders-to-iceberg]\n    contract:", 14, "tables.sales.orders.other_jobs",
         "found orders-to-iceberg", "the table's own as `job`"),
        ("default:", "rewind:", 15, "tables.sales.orders.policies", "found rewind", "Add `default`"),
        ("[U0BEN00001]", "[]", 16, "tables.sales.orders.policies.default", "found 0 users", "Name more"),
        ("[U0BEN00001]", "[U0BEN00001], different_teams: 2", 16,
         "tables.sales.orders.policies.default.different_teams", "found none", "Name more teams"),
        ("[U0BEN00001]", "[U0BEN00001], veto: {hold: PT5M}", 16, "tables.sales.orders.policies.default.veto",
         "found neither", "Name them"),
        ("[U0BEN00001]", "[U0BEN00001], veto: {users: [U0DANA0001], hold: PT30M}", 16,
         "tables.sales.orders.policies.default.veto.hold", "less than `expires_after`", "Shorten the hold"),
        ("[U0BEN00001]", "[U0BEN00001], break_glass: {users: [U0DANA0001], owners: []}", 16,
         "tables.sales.orders.policies.default.break_glass.owners", "found []", "Correct it"),
        ("[U0BEN00001]}", "[U0BEN00001]}\n      default/sev9: {users: [U0BEN00001]}", 17,
         "tables.sales.orders.policies.default/sev9", "found sev9", "Write it as"),
        ("[U0BEN00001]}", "[U0BEN00001]}\n      destructive: {users: [U0BEN00001]}", 17,
         "tables.sales.orders.policies.destructive.different_teams", "at least 2 `teams`", "set `different_teams`"),
        ("[U0BEN00001]}", "[U0BEN00001]}\n      notice:update: {users: [U0BEN00001], required: 2}", 17,
         "tables.sales.orders.policies.notice:update.required", "one of them sends", "Remove this line"),
        ("sales.orders:", "orders:", 12, "tables.orders", "found orders", "without the catalog's name"),
        ("{key: [order_id]}", "{key: [1]}", 14, "tables.sales.orders.contract.key.0", "found 1", "Correct it"),
        ("  name: lake", "  name: lake\n  name: lake", 3, "this is not YAML", "duplicate key", "occurs twice"),
        ("    contract:", "    replay: {kafka: json}\n    contract:", 14, "tables.sales.orders.replay.kafka",
         "found no such settings", "Set `servers` and `topics`"),
        ("    contract:", "    replay: {kafka: json, sql: SELECT 1}\n    contract:", 14, "tables.sales.orders.replay",
         "exactly one of `kafka`, `sql` and `function`", "Correct it"),
        ("    contract:", "    replay: {sql: SELECT 1}\n    contract:", 14, "tables.sales.orders.replay",
         "what is read", "Correct it"),
        ("catalog:", "slack: {bot_token: xoxb-1}\ncatalog:", 1, "slack.bot_token", "found bot_token", "Remove"),
    ],
)  # fmt: skip
def test_a_wrong_setting_is_named_with_its_line(
    file: Path, old: str, new: str, line: int, setting: str, found: str, remedy: str
) -> None:
    """Whoever edits the file is told where to look, what was found, and what to do."""
    refused = refusal(file, old, new)

    assert refused.happened.startswith(f"{file}:{line}: {setting}")
    assert found in refused.found
    assert remedy in refused.remedy


@pytest.mark.parametrize(
    ("topics", "contract", "found"),
    [
        ("[orders]", "key: [order_id]", "found no `position` and no `position_partition`"),
        ("[orders]", "key: [order_id], position: offset", "found no `position_partition`"),
        ("[orders, returns]", "key: [order_id], position: offset, position_partition: part", "found orders, returns"),
    ],
)
def test_a_replay_from_kafka_needs_one_topic_and_the_place_of_each_row(
    file: Path, topics: str, contract: str, found: str
) -> None:
    """Else nobody knows what is to be read; with both, the table's recipe has its job's broker."""
    good = GOOD.replace(
        "    start:", "    kafka: {servers: 'kafka:9092', topics: [orders], secret_file: word}\n    start:"
    )
    good = good.replace("    contract: {key: [order_id]}", "    replay: {kafka: json}\n    contract: {CONTRACT}")
    placed = "key: [order_id], position: offset, position_partition: part"
    file.write_text(good.replace("CONTRACT", placed), encoding="utf-8")
    recipe = Settings.load(file).setups[TableName("sales.orders")].replay
    assert recipe is not None
    assert recipe.broker is not None
    assert recipe.broker.secret_file == file.parent / "word"

    file.write_text(good.replace("[orders]", topics).replace("CONTRACT", contract), encoding="utf-8")
    with pytest.raises(BadConfiguration) as refused:
        Settings.load(file)

    assert "tables.sales.orders.replay.kafka" in refused.value.happened
    assert found in refused.value.found


def test_further_problems_are_counted(file: Path) -> None:
    """The first problem by line is shown; that there are more is said."""
    refused = refusal(file, "    job: orders-to-iceberg", "    jop: orders-to-iceberg\n    chanel: C1")

    assert "jop" in refused.happened
    assert "1 more problem in this file" in refused.remedy


def test_a_file_that_is_not_there_is_a_bad_configuration(tmp_path: Path) -> None:
    """A missing file is named, and where to get one."""
    with pytest.raises(BadConfiguration, match=r"cannot be read.*--config"):
        Settings.load(tmp_path / "no.yaml")


@pytest.mark.parametrize("text", ["", "- a\n", "just words", "a: [", "\x00"])
def test_what_is_not_settings_is_refused(file: Path, text: str) -> None:
    """Empty, a list, prose, half a YAML, binary: each is refused, none is a crash."""
    file.write_text(text, encoding="utf-8")

    with pytest.raises(BadConfiguration) as refused:
        Settings.load(file)

    assert str(file) in refused.value.happened


def test_further_jobs_of_a_table_are_part_of_its_setup(file: Path) -> None:
    """Blue/green: the rules and the observer know both."""
    text = GOOD.replace("tables:", "  orders-green:\n    flink: http://127.0.0.1:8082\ntables:")
    file.write_text(text.replace("    contract:", "    other_jobs: [orders-green]\n    contract:"), encoding="utf-8")

    setup = Settings.load(file).setups[TableName("sales.orders")]

    assert (setup.job, setup.other_jobs) == ("orders-to-iceberg", ("orders-green",))


def test_paths_are_relative_to_the_file(file: Path) -> None:
    """The bot may be started from anywhere."""
    file.write_text(GOOD + "home: state\nlineage: {events: events.jsonl}\n", encoding="utf-8")

    settings = Settings.load(file)

    assert settings.home == file.parent / "state"
    assert settings.lineage.events == file.parent / "events.jsonl"
    assert settings.journal_url == f"sqlite:///{file.parent}/state/journal.db"


EXAMPLE = Path(__file__).parents[2] / "deploy" / "waterline.example.yaml"
SETTINGS = list(settings_of(Settings))


def test_pages_are_served_where_they_are_asked_for_and_probes_everywhere(file: Path) -> None:
    """A bot without the section `web` can be probed, too."""
    without = Settings.load(file).web
    file.write_text(GOOD + "web: {port: 8371}\n", encoding="utf-8")

    assert (without.pages, without.is_loopback, without.port) == (False, True, 8370)
    assert Settings.load(file).web.pages


def test_the_example_file_loads() -> None:
    """What people copy is well formed, and durations and both ways of starting arrive as written."""
    settings = Settings.load(EXAMPLE)

    assert settings.tables[TableName("sales.orders")].contract.commit_every == timedelta(minutes=1)
    assert isinstance(settings.jobs["orders-to-iceberg"].start, SqlGatewayStartSettings)
    assert isinstance(settings.jobs["payments-to-iceberg"].start, JarStartSettings)
    assert settings.setups[TableName("sales.orders")].policies["roll_back_table_and_restore_job"].required == 2


def test_every_setting_is_in_the_example() -> None:
    """A setting that the example does not show, if only as a comment, is not found by anyone."""
    shown = set(re.findall(r"(?:^|[\s#])(\w+):", EXAMPLE.read_text(encoding="utf-8")))

    assert [] == [setting.name for setting in SETTINGS if setting.name.rsplit(".", 1)[-1] not in shown]


def test_every_setting_is_described() -> None:
    """Each setting has a description, and each that holds a value an example."""
    assert [] == [setting.name for setting in SETTINGS if not setting.description.endswith((".", "`"))]
    assert [] == [setting.name for setting in SETTINGS if not setting.example and not setting.is_group]


def test_the_reference_names_every_setting_and_secret() -> None:
    """The Markdown table is made from the models: nothing can be left out."""
    reference = Settings.reference()

    assert [each.name for each in SETTINGS if f"| `{each.name}` |" not in reference] == []
    assert "SLACK_SIGNING_SECRET" in reference
    assert "| `tables.<name>.next_update_minutes` |" in reference
    assert "Unit: minutes." in reference


def test_the_reference_in_the_repository_is_the_current_one() -> None:
    """`deploy/settings.md` is written by `Settings.reference()`; write it anew when a setting changes."""
    written = EXAMPLE.with_name("settings.md").read_text(encoding="utf-8")

    assert written == Settings.reference()


def test_files_of_the_spark_server_are_beside_the_configuration(file: Path) -> None:
    """From wherever the bot is started."""
    spark = "spark: {remote: sc://spark:15002, token_file: token, ca_file: /etc/ca.pem}\n"
    file.write_text(GOOD + spark, encoding="utf-8")

    read = Settings.load(file).spark

    assert (file.parent / "token", Path("/etc/ca.pem")) == (read.token_file, read.ca_file)
