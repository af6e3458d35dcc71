"""What an ordinary install brings along: not only Python, and from wherever it is started."""

import os
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

pytestmark = pytest.mark.full

PROJECT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built without a network."""
    folder = tmp_path_factory.mktemp("wheel")
    build = ["wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--wheel-dir", str(folder)]
    subprocess.run([sys.executable, "-m", "pip", *build, str(PROJECT)], check=True)
    (made,) = folder.glob("*.whl")
    return made


def test_every_file_of_the_packages_is_in_the_wheel(wheel: Path) -> None:
    """Templates, styles and words as well; runbooks and messages within the package."""
    packed = set(ZipFile(wheel).namelist())
    assert not [name for name in packed if name.startswith("bot/lab/")]
    moved = {"runbooks": "bot/_content/runbooks", "messages": "bot/_content/messages"}
    for folder in ("bot", "spark_tasks", *moved):
        for path in (PROJECT / folder).rglob("*"):
            of_checkout = {"lab"} & {path.relative_to(PROJECT / folder).parts[0]}
            if path.is_file() and "__pycache__" not in path.parts and not of_checkout:
                name = f"{moved.get(folder, folder)}/{path.relative_to(PROJECT / folder)}"
                assert name in packed


def test_an_installed_bot_finds_its_runbooks_and_messages(wheel: Path, tmp_path: Path) -> None:
    """Started in a folder that has neither."""
    with ZipFile(wheel) as packed:
        packed.extractall(tmp_path / "site")
    (tmp_path / "elsewhere").mkdir()

    told = subprocess.run(
        [sys.executable, "-m", "bot.cli", "lint"],
        cwd=tmp_path / "elsewhere",
        env={**os.environ, "PYTHONPATH": str(tmp_path / "site")},
        capture_output=True,
        text=True,
        check=True,
    )

    runbooks = len(list((PROJECT / "runbooks").glob("[a-z]*.md")))
    assert runbooks > 0
    assert told.stdout.startswith(f"{runbooks} runbooks, ")
    assert told.stdout.rstrip().endswith(" 0 problems.")


def test_an_installed_bot_has_recorded_incidents(wheel: Path, tmp_path: Path) -> None:
    """`waterline tour` needs no checkout."""
    with ZipFile(wheel) as packed:
        packed.extractall(tmp_path)

    told = subprocess.run(
        [sys.executable, "-m", "bot.cli", "tour", "--list"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )

    assert "rows-twice" in told.stdout


def test_an_installed_bot_offers_no_command_that_needs_a_checkout(wheel: Path, tmp_path: Path) -> None:
    """Lab and demo are for trying it out."""
    with ZipFile(wheel) as packed:
        packed.extractall(tmp_path)

    def asked(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "bot.cli", *arguments],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(tmp_path)},
            capture_output=True,
            text=True,
            check=False,
        )

    listed, demo = asked("--help"), asked("demo")

    assert listed.returncode == 0
    assert "diagnose" in listed.stdout
    assert not {"demo", "lab"} & set(listed.stdout.split())
    assert "works in a checkout of Waterline" in " ".join(demo.stderr.split())
