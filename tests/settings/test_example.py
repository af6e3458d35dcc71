"""The example file and the reference know every setting."""

import re
from datetime import timedelta
from pathlib import Path

from bot.domain.ids import TableName
from bot.settings import JarStartSettings, Settings, SqlGatewayStartSettings
from bot.settings.reference import settings_of

EXAMPLE = Path(__file__).parents[2] / "deploy" / "waterline.example.yaml"
SETTINGS = list(settings_of(Settings))


def test_the_example_file_loads() -> None:
    """What people copy is well formed, and durations and both ways of starting arrive as written."""
    settings = Settings.load(EXAMPLE)

    assert settings.tables[TableName("sales.orders")].contract.commit_every == timedelta(minutes=1)
    assert isinstance(settings.jobs["orders-to-iceberg"].start, SqlGatewayStartSettings)
    assert isinstance(settings.jobs["payments-to-iceberg"].start, JarStartSettings)
    assert settings.setups[TableName("sales.orders")].policies["rewind_table_and_job"].required == 2


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
