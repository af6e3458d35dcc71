"""The examples of CONTRIBUTING.md are what they say: each is loaded through the scan that finds the real ones."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module, invalidate_caches
from pathlib import Path
from types import ModuleType

import pytest

from bot.actions._support.completing import scan as find_actions
from bot.diagnosis._support.examine import scan as find_modes
from bot.evidence import find_tasks
from bot.notices import scan as find_notices
from bot.notices.lint import lint as lint_messages
from bot.runbook.lint import lint as lint_runbook
from tests.runbook.shipped import KNOWN

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
_PYTHON = re.compile(r"^```python\n# (?P<path>\S+)\n(?P<code>.*?)^```$", re.DOTALL | re.MULTILINE)
_RUNBOOK = re.compile(r"^````markdown\n<!-- (?P<path>\S+) -->\n(?P<text>.*?)^````$", re.DOTALL | re.MULTILINE)
_OWN_STEPS = re.compile(r"^````markdown\n(?P<text>## Steps\n.*?)^````$", re.DOTALL | re.MULTILINE)
_NOTICE = re.compile(r"^```jinja\n\{# (?P<path>\S+) #\}\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE)
EXAMPLES = {found["path"]: found["code"] for found in _PYTHON.finditer(PAGE)}


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[ModuleType, Path]]:
    """An empty package to put an example into."""
    folder = tmp_path / "example_package"
    folder.mkdir()
    (folder / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    invalidate_caches()
    yield import_module("example_package"), folder
    for name in [name for name in sys.modules if name.startswith("example_package")]:
        del sys.modules[name]


@pytest.mark.parametrize(
    ("path", "find", "name"),
    [
        ("spark_tasks/rolled_back_commits.py", find_tasks, "rolled_back_commits"),
        ("bot/diagnosis/drained_savepoint.py", find_modes, "F5"),
        ("bot/actions/restore_nothing.py", find_actions, "restore_nothing"),
    ],
)
def test_a_python_example_is_found_by_its_scan(
    package: tuple[ModuleType, Path], path: str, find: object, name: str
) -> None:
    """Copying the block into one file is all that there is to do."""
    module, folder = package
    (folder / Path(path).name).write_text(EXAMPLES[path], encoding="utf-8")

    found = find(module)  # type: ignore[operator]

    assert [name] == list(found)


def test_every_python_example_is_tried() -> None:
    """A new example on the page has to be loaded here, too."""
    tried = {
        "spark_tasks/rolled_back_commits.py",
        "bot/diagnosis/drained_savepoint.py",
        "bot/actions/restore_nothing.py",
    }

    assert tried == set(EXAMPLES)


@pytest.mark.parametrize("own_steps", [False, True])
def test_the_runbook_example_has_no_problem(own_steps: bool) -> None:
    """The lint that guards the real runbooks finds nothing in it, with and without steps of its own."""
    example, steps = _RUNBOOK.search(PAGE), _OWN_STEPS.search(PAGE)
    assert example is not None
    assert steps is not None
    text = f"{example['text']}\n{steps['text']}" if own_steps else example["text"]

    problems = lint_runbook(text, example["path"], KNOWN)

    assert [] == [str(problem) for problem in problems]


def test_the_notice_example_renders_with_every_shape_of_facts(tmp_path: Path) -> None:
    """The lint renders it with all sample facts."""
    example = _NOTICE.search(PAGE)
    assert example is not None
    (tmp_path / Path(example["path"]).name).write_text(example["text"], encoding="utf-8")

    problems = lint_messages(tmp_path)

    assert [] == [str(problem) for problem in problems]
    assert ["all_quiet"] == list(find_notices(tmp_path))


SCRIPT = Path(__file__).parents[2] / "deploy" / "require-system"


def _run(folder: Path, *programs: str) -> subprocess.CompletedProcess[str]:
    for name in ("sed", "head", "id", *programs):
        found = shutil.which(name)
        assert found is not None
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(found)
    (folder / "python3").unlink(missing_ok=True)
    (folder / "python3").symlink_to(Path(sys.base_prefix) / "bin" / "python3")
    bash = shutil.which("bash")
    assert bash is not None
    return subprocess.run(
        [bash, str(SCRIPT)], env={**os.environ, "PATH": str(folder)}, capture_output=True, text=True, check=False
    )


def test_what_is_missing_is_named_with_the_command_that_installs_it(tmp_path: Path) -> None:
    """Without Java, Chromium and a way to install them, it ends with 1 and says all of it."""
    told = _run(tmp_path)

    assert told.returncode == 1
    assert "openjdk-17-jre-headless" in told.stdout
    assert "sudo apt-get install" in told.stdout
    assert "chromium" in next(line for line in told.stdout.splitlines() if "are missing" in line)


def test_a_machine_that_has_everything_is_left_alone(tmp_path: Path) -> None:
    """Nothing is installed; at most it says which programs are wanted by tests, which are skipped without them."""
    told = _run(tmp_path, "java", "chromium")

    assert told.returncode == 0
    (line,) = told.stdout.splitlines()
    assert "will be skipped for want of" in line
    assert line.endswith("prometheus-alertmanager prometheus")


def test_what_only_tests_want_is_installed_and_is_no_service_afterwards(tmp_path: Path) -> None:
    """Debian starts both on every address; asked again, with the programs there, nothing is done."""
    for name in ("apt-get", "systemctl", "sudo"):
        told = tmp_path / name
        run = '[ "$1" = -n ] && shift; exec "$@"' if name == "sudo" else f'echo {name} "$@" >> {tmp_path}/done'
        told.write_text(f"#!/bin/sh\n{run}\n")
        told.chmod(0o755)
    programs = ("java", "chromium", "sh", "env", "true")

    first = _run(tmp_path, *programs)
    did = (tmp_path / "done").read_text()
    (tmp_path / "done").unlink()
    for name in ("prometheus-alertmanager", "promtool"):
        (tmp_path / name).symlink_to("/bin/true")
    again = _run(tmp_path)

    assert (first.returncode, again.returncode) == (0, 0)
    assert "prometheus-alertmanager" in next(line for line in did.splitlines() if " install " in line)
    disabled = [line.split()[-1] for line in did.splitlines() if line.startswith("systemctl disable --now ")]
    assert {"prometheus-alertmanager", "prometheus"} <= set(disabled)
    assert "prometheus" not in again.stdout
