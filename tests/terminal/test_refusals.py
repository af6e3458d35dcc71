"""Every command answers bad input in three parts: what happened, what was expected and found, what to do.

The commands come from the registry, so a new one is covered by itself; only a new required argument needs a sample.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from typer.testing import CliRunner

from bot.cli import app, main
from bot.cli.on_demand import LATE
from bot.lab.errors import LabError
from bot.observation.errors import WaterlineError

SAMPLES = {
    "table": "sales.orders", "incident": "wl-1", "task": "ledger", "action": "replay_rows", "digest": "0" * 12,
    "reason": "Because.", "happened": None, "to": "case.waterline", "name": "job-cancelled", "snapshot": "1",
    "path": "/a/savepoint-1", "source": "backup.db",
}  # fmt: skip
"""A value of each required argument, by its name."""
CONFIG = """
catalog: {{name: lake, properties: {{type: sql, uri: "sqlite:///{file}/below/catalog.db"}}}}
journal: {{url: "sqlite:///{file}/below/record.db"}}
home: {file}/below
spark: {{remote: "sc://127.0.0.1:1"}}
tables: {{sales.orders: {{contract: {{key: [order_id]}}, policies: {{default: {{users: [U0BEN00001]}}}}}}}}
"""


class Leaf(NamedTuple):
    """One command without others below it."""

    path: tuple[str, ...]
    params: tuple[Any, ...]

    @property
    def name(self) -> str:
        return " ".join(self.path)

    def arguments(self, **other: str) -> list[str]:
        """A whole command line: samples where something is required, `other` by the parameter's name."""
        line = list(self.path)
        for each in self.params:
            is_needed = each.required or (each.name == "table" and "case" not in other)
            if each.name not in other and not is_needed:
                continue
            value = other.get(each.name, SAMPLES[each.name] if each.name not in other else "")
            is_option = each.param_type_name == "option"
            line += [*([each.opts[0]] if is_option else []), *([value] if value is not None else [])]
        return line


def leaves() -> Iterator[Leaf]:
    """Every command, with those below it."""

    def below(path: tuple[str, ...], command: Any) -> Iterator[Leaf]:
        if getattr(command, "commands", None):
            for name, each in command.commands.items():
                yield from below((*path, name), each)
        else:
            yield Leaf(path, tuple(each for each in command.params if each.name != "help"))

    for name, late in LATE.items():
        yield from below((name,), late.imported(name))


LEAVES = tuple(leaves())
WITH_CONFIG = [each for each in LEAVES if any(param.name == "config" for param in each.params)]
WITH_PATHS = [
    (each, param.name)
    for each in LEAVES
    for param in each.params
    if param.name != "config" and "Path" in str(param.type_descriptor.annotation)
]


def refused(line: list[str]) -> str:
    """What the command says; fails where it goes on, or ends in a traceback."""
    result = CliRunner().invoke(app, line)
    error = result.exception
    if isinstance(error, WaterlineError):
        parts = (error.happened, error.found, error.remedy)
    elif isinstance(error, LabError):
        parts = (error.happened, error.found, error.next_step)
    else:
        assert isinstance(error, SystemExit), f"{line}: {error!r}"
        parts = (result.output,)
    assert result.exit_code != 0, line
    assert all(parts), f"{line}: {parts}"
    assert "Traceback" not in result.output
    return " ".join(parts)


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In an empty folder, without what the environment of the tests may name."""
    monkeypatch.chdir(tmp_path)
    for name in ("WATERLINE_CONFIG", "WATERLINE_URL", "SLACK_BOT_TOKEN", "SLACK_APP_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "file").write_bytes(b"\xff\x00 neither text nor a folder")


@pytest.mark.parametrize("leaf", WITH_CONFIG, ids=lambda leaf: leaf.name)
@pytest.mark.parametrize("content", [None, b"\xff\xfe", b"catalog: [", b"[1, 2]", b"catalogue: {}"])
def test_a_configuration_that_cannot_be_read_is_refused(leaf: Leaf, content: bytes | None, tmp_path: Path) -> None:
    """Missing, no text, no YAML, no settings, an unknown setting."""
    config = tmp_path / "waterline.yaml"
    if content is not None:
        config.write_bytes(content)

    assert "waterline.yaml" in refused(leaf.arguments(config=str(config)))


@pytest.mark.parametrize(
    "leaf", [each for each in WITH_CONFIG if each.path != ("check-config",)], ids=lambda leaf: leaf.name
)
def test_a_database_that_is_not_there_is_refused(leaf: Leaf, tmp_path: Path) -> None:
    """Neither record nor catalog can be opened, and no folder made for them. One command connects to nothing."""
    config = tmp_path / "waterline.yaml"
    config.write_text(CONFIG.format(file=tmp_path / "file"))

    refused(leaf.arguments(config=str(config)))


@pytest.mark.parametrize(("leaf", "param"), WITH_PATHS, ids=lambda each: getattr(each, "name", each))
@pytest.mark.parametrize("where", ["file", "file/below"])
def test_a_path_that_cannot_be_used_is_refused(leaf: Leaf, param: str, where: str, tmp_path: Path) -> None:
    """A file that is neither a folder nor a record, and a path below it, which nobody can read or make."""
    config = tmp_path / "waterline.yaml"
    config.write_text(CONFIG.format(file=tmp_path / "file"))
    has_config = any(each.name == "config" for each in leaf.params)

    refused(leaf.arguments(**{param: str(tmp_path / where)}, **({"config": str(config)} if has_config else {})))


@pytest.mark.parametrize("leaf", LEAVES, ids=lambda leaf: leaf.name)
def test_wrong_arguments_are_refused_with_where_to_look(leaf: Leaf) -> None:
    """An option that is not there, and a required argument that is left out."""
    lines = [[*leaf.path, "--nonsense"]]
    if any(param.required for param in leaf.params):
        lines.append(list(leaf.path))

    for line in lines:
        result = CliRunner().invoke(app, line)
        assert (result.exit_code, "--help" in result.output) == (2, True), line


def test_the_three_parts_are_printed_to_stderr(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 1, one line each."""
    monkeypatch.setattr("sys.argv", ["waterline", "record", "verify", "missing.html"])

    with pytest.raises(SystemExit) as ended:
        main()

    shown = capsys.readouterr()
    assert (ended.value.code, shown.out) == (1, "")
    assert len(shown.err.splitlines()) == 3


def test_an_export_into_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    """And one of an incident that is not there."""
    from bot.adapters.journal_sql import open_store
    from tests.incidents import Story

    config = tmp_path / "waterline.yaml"
    config.write_text(CONFIG.format(file=tmp_path).replace("/below", ""))
    store = open_store(f"sqlite:///{tmp_path}/record.db")
    Story(store.journal).opens()
    store.close()

    said = refused(["record", "export", "wl-1", "--to", str(tmp_path / "nowhere"), "--config", str(config)])
    unknown = refused(["record", "export", "wl-9", "--config", str(config)])

    assert "nowhere" in said
    assert "wl-9" in unknown
