"""The text of a data contract -> the standard's own model, and its `team` as it was written; or what is wrong with it.

The team is kept out of the model: a member that is written unlike the standard says must not keep the promises of the
table from being read. Dates stay text, as the standard has them: YAML would make days of them, which its model refuses.
"""

from pathlib import Path

from open_data_contract_standard.model import OpenDataContractStandard
from ruamel.yaml import YAML
from ruamel.yaml.constructor import SafeConstructor

from bot.domain.errors import BadConfiguration


class _DatesAsText(SafeConstructor):
    """Of YAML's own types all but the moment."""


_DatesAsText.add_constructor("tag:yaml.org,2002:timestamp", SafeConstructor.construct_yaml_str)


def standard_of(text: str) -> OpenDataContractStandard:
    """Everything but the team. Raises YAMLError, ValidationError."""
    content = _loaded(text)
    if isinstance(content, dict):
        content = {key: value for key, value in content.items() if key != "team"}
    return OpenDataContractStandard.model_validate(content)


def team_as_written(text: str) -> object:
    """Whatever stands under `team`; None where nothing does. Raises YAMLError."""
    content = _loaded(text)
    return content.get("team") if isinstance(content, dict) else None


def bad_contract(file: Path, happened: str, found: str, remedy: str) -> BadConfiguration:
    """The file, and what is wrong with it."""
    return BadConfiguration(f"{file}: {happened}", found, remedy)


def _loaded(text: str) -> object:
    reader = YAML(typ="safe", pure=True)
    reader.Constructor = _DatesAsText
    return reader.load(text)
