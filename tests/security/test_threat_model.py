"""The threat model is one page, and every test that it names is there."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "threat-model.md").read_text(encoding="utf-8")


def names_below(folder: Path) -> set[str]:
    """Names of all tests below a folder."""
    return {
        name
        for path in folder.rglob("test_*.py")
        for name in re.findall(r"^def (test_\w+)", path.read_text(), re.MULTILINE)
    }


def test_every_threat_has_a_test_that_exists() -> None:
    """A row without one, or with one that was renamed, is a promise that nobody keeps."""
    rows = [line for line in PAGE.splitlines() if line.startswith("| ") and not line.startswith("| threat")]
    known = names_below(ROOT / "tests")

    named = [re.findall(r"`(test_\w+)`", row) for row in rows]

    assert len(rows) >= 15
    assert [row for row, tests in zip(rows, named, strict=True) if not tests] == []
    assert [name for tests in named for name in tests if name not in known] == []


def test_every_file_of_these_tests_stands_for_a_threat() -> None:
    """A test of this folder that no threat names has lost its reason."""
    files = [path for path in (ROOT / "tests" / "security").glob("test_*.py") if path.name != Path(__file__).name]

    assert [p.name for p in files if not re.findall(r"^def (test_\w+)", p.read_text(), re.MULTILINE)] == []
    assert [
        p.name
        for p in files
        if not any(f"`{n}`" in PAGE for n in re.findall(r"^def (test_\w+)", p.read_text(), re.MULTILINE))
    ] == []


def test_it_is_one_page() -> None:
    """Nobody reads two."""
    assert len(PAGE.splitlines()) <= 70
