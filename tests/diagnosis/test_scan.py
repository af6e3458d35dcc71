"""A malformed mode stops the start with a message that says what to write."""

import sys
from collections.abc import Iterator
from importlib import import_module, invalidate_caches
from pathlib import Path
from types import MappingProxyType, ModuleType

import pytest

import bot.diagnosis
from bot.diagnosis._scan import scan
from bot.domain.errors import BadConfiguration

GOOD = """
from bot.domain.diagnosis import Mode
MODE = Mode(code={code!r}, name={name!r}, title="t", needs=(), false_positives=(), neighbours={{}})
def examine(case):
    raise NotImplementedError
"""


@pytest.fixture
def modes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An importable package `some_modes` to write modules into."""
    (tmp_path / "some_modes").mkdir()
    (tmp_path / "some_modes" / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path / "some_modes"
    for name in [name for name in sys.modules if name.split(".")[0] == "some_modes"]:
        del sys.modules[name]


def package() -> ModuleType:
    invalidate_caches()
    return import_module("some_modes")


def test_the_catalogue_is_in_the_order_in_which_to_act() -> None:
    """Faults by their number first, then the words; frozen."""
    found = scan(bot.diagnosis)

    assert [*(f"F{number}" for number in range(1, 26)), "healthy", "no-advance", "wait"] == list(found)
    assert isinstance(found, MappingProxyType)


def test_neighbours_are_codes_that_exist() -> None:
    """A neighbour is shown to the responder, so it must be one that was examined."""
    found = scan(bot.diagnosis)

    assert set() == {code for module in found.values() for code in module.mode.neighbours} - set(found)


def test_numbers_count_as_numbers(modes: Path) -> None:
    """F10 comes after F2, and words come last."""
    for code, name in (("F10", "ten"), ("F2", "two"), ("asleep", "word")):
        (modes / f"{name}.py").write_text(GOOD.format(code=code, name=name))

    found = scan(package())

    assert list(found) == ["F2", "F10", "asleep"]


def test_a_module_without_a_mode_is_refused(modes: Path) -> None:
    """The message names the module and what to write."""
    (modes / "half.py").write_text("MODE = 3\n")

    with pytest.raises(BadConfiguration, match=r"some_modes\.half is not complete.*MODE = Mode\(.*found MODE=int"):
        scan(package())


def test_a_mode_under_another_name_is_refused(modes: Path) -> None:
    """The name is the module's, so that a code leads to its file."""
    (modes / "one.py").write_text(GOOD.format(code="F1", name="other"))

    with pytest.raises(BadConfiguration, match="name='one'"):
        scan(package())


def test_a_code_that_two_modes_claim_is_refused(modes: Path) -> None:
    """A branch of a runbook must lead to one mode."""
    (modes / "one.py").write_text(GOOD.format(code="F1", name="one"))
    (modes / "two.py").write_text(GOOD.format(code="F1", name="two"))

    with pytest.raises(BadConfiguration, match=r"found F1, which one has"):
        scan(package())


def test_support_modules_are_left_alone(modes: Path) -> None:
    """What begins with `_` is support."""
    (modes / "_support.py").write_text("x = 1\n")

    assert dict(scan(package())) == {}
