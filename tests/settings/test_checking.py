"""`waterline check-config`: what a pipeline learns of a configuration file before anybody runs it."""

import json
from pathlib import Path

import jsonschema
import pytest
from typer.testing import CliRunner, Result

from bot.cli import app
from bot.observation.errors import BadConfiguration
from bot.settings.reading import yaml_of
from tests.settings.test_loading import GOOD

EXAMPLE = Path("deploy/waterline.example.yaml")


def check(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["check-config", *arguments])


def test_the_example_is_right_and_fits_its_schema() -> None:
    """Nothing is reached: no host of the example exists."""
    told, schema = check("--config", str(EXAMPLE)), json.loads(check("--schema").stdout)

    written = {name: value for name, value in json.loads(json.dumps(yaml_of(EXAMPLE))).items() if value is not None}

    assert told.exit_code == 0
    assert "1 table, 3 jobs, no error, 0 remarks" in told.stdout
    jsonschema.validate(written, schema)
    with pytest.raises(jsonschema.ValidationError, match="catalogue"):
        jsonschema.validate({**written, "catalogue": {}}, schema)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("    job: ", "    jop: ", "tables.sales.orders.jop"),
        ("{key: [order_id]}", "{}\n    contract_file: gone.yaml", "gone.yaml"),
        ("tables:", "actions: [ourteam.gone]\ntables:", "ourteam.gone"),
    ],
    ids=["a setting", "a data contract", "an action"],
)
def test_each_problem_is_an_error(tmp_path: Path, old: str, new: str, said: str) -> None:
    """Also in the files that it names."""
    file = tmp_path / "waterline.yaml"
    file.write_text(GOOD.replace(old, new), encoding="utf-8")

    refused = check("--config", str(file))

    assert isinstance(refused.exception, BadConfiguration)
    assert said in str(refused.exception)
