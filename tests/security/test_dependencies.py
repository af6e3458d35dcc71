"""What is installed is what was locked: every package by its hash, from no address of its own."""

import re
import subprocess
import tomllib
from importlib.metadata import distributions
from pathlib import Path

ROOT = Path(__file__).parents[2]
LOCK = (ROOT / "requirements.lock").read_text()
_PIN = re.compile(
    r"^([a-z0-9][a-z0-9._-]*)(?:\[[^\]]*\])?==(\S+)((?: \\\n +--hash=sha256:[0-9a-f]{64})*)", re.MULTILINE
)
PINS = {name: (version, hashes) for name, version, hashes in _PIN.findall(LOCK)}


def plain(name: str) -> str:
    """A package's name as the index compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def test_every_package_is_pinned_with_a_hash() -> None:
    """A package that somebody exchanges at the index is not installed."""
    without = [name for name, (_version, hashes) in PINS.items() if not hashes]
    other_lines = [line for line in LOCK.splitlines() if line and not line.startswith((" ", "#")) and "==" not in line]

    assert len(PINS) > 50
    assert without == []
    assert other_lines == []


def test_no_package_comes_from_an_address() -> None:
    """Neither a repository nor a URL stands in the lock or in what the project asks for."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    asked = [*project["dependencies"], *(each for extra in project["optional-dependencies"].values() for each in extra)]

    assert "://" not in LOCK
    assert [each for each in asked if "@" in each or "://" in each] == []
    assert {plain(re.split(r"[\[<>=!~; ]", each)[0]) for each in asked} - {"waterline"} <= {
        plain(name) for name in PINS
    }


def test_what_is_installed_is_what_was_locked() -> None:
    """The versions under test are those that the lock names."""
    installed = {plain(each.metadata["Name"]): each.version for each in distributions()}
    differs = {n: (v, installed[plain(n)]) for n, (v, _hashes) in PINS.items() if installed.get(plain(n), v) != v}

    assert differs == {}


def test_ci_runs_the_audit_after_the_tests() -> None:
    """The audit needs the network: where it cannot look it says that it did not, and never that all is well."""
    steps = (ROOT / ".ci" / "run").read_text()
    audit = ROOT / ".ci" / "audit"

    alone = subprocess.run(["/bin/bash", str(audit)], env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True)

    assert steps.index("make test\n") < steps.index("make test-all\n") < steps.index(".ci/audit")
    assert alone.returncode == 0
    assert "The packages were NOT audited" in alone.stderr
    assert "No known vulnerabilities" not in alone.stdout
