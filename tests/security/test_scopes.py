"""The manifest, the installed packages and the threat model are what the code needs."""

import ast
import re
import subprocess
import tomllib
from importlib.metadata import distributions
from pathlib import Path

import pytest
from ruamel.yaml import YAML
from slack_sdk import WebClient

from bot.slack.directory import EVENTS, SCOPES

ROOT = Path(__file__).parents[2]
MANIFEST = ROOT / "deploy" / "slack" / "manifest.yaml"
NEEDED: dict[str, frozenset[str]] = {
    "auth_test": frozenset(),
    "views_open": frozenset(),
    "views_update": frozenset(),
    "views_publish": frozenset(),
    "chat_postMessage": frozenset({"chat:write"}),
    "chat_postEphemeral": frozenset({"chat:write"}),
    "chat_update": frozenset({"chat:write"}),
    "chat_getPermalink": frozenset(),
    "conversations_info": frozenset({"channels:read", "groups:read"}),
    "conversations_history": frozenset({"channels:history", "groups:history"}),
    "conversations_replies": frozenset({"channels:history", "groups:history"}),
    "users_info": frozenset({"users:read"}),
    "usergroups_users_list": frozenset({"usergroups:read"}),
    "files_upload_v2": frozenset({"files:write"}),
}
"""Web API method as slack_sdk names it -> the bot scopes that Slack's reference asks for it."""
OF_THE_MANIFEST_ITSELF = {"commands"}
"""Asked for by a feature, not by a call: the slash command."""
METHODS = {name for name in vars(WebClient) if not name.startswith("_")} - {"api_call", "base_url", "token"}


def called() -> set[str]:
    """Every Web API method that `bot` calls or hands on, outside the local workspace."""
    found: set[str] = set()
    for path in (ROOT / "bot").rglob("*.py"):
        if "workspace" in path.parts or "lab" in path.parts:
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        imports_slack = any(
            "slack" in ast.unparse(n) for n in ast.walk(tree) if isinstance(n, ast.Import | ast.ImportFrom)
        )
        if imports_slack:
            found |= {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute)} & METHODS
    return found


@pytest.fixture(scope="module")
def manifest() -> dict[str, dict[str, dict[str, list[str]]]]:
    """As Slack reads it."""
    content: dict[str, dict[str, dict[str, list[str]]]] = YAML(typ="safe").load(MANIFEST.read_text())
    return content


def test_every_method_that_is_called_has_its_scopes_written_here() -> None:
    """A new call fails here until somebody has looked up what it needs."""
    assert called() == set(NEEDED)


def test_the_manifest_asks_for_what_is_called_and_nothing_else(
    manifest: dict[str, dict[str, dict[str, list[str]]]],
) -> None:
    """No scope is missing, and none is there for convenience; `waterline doctor` checks the same list."""
    asked = manifest["oauth_config"]["scopes"]

    assert set(asked) == {"bot"}
    assert set(asked["bot"]) == frozenset().union(*NEEDED.values()) | OF_THE_MANIFEST_ITSELF
    assert sorted(asked["bot"]) == sorted(SCOPES)


def test_each_scope_says_what_for() -> None:
    """Whoever approves the app reads the reason beside it."""
    lines = [line.strip() for line in MANIFEST.read_text().splitlines()]
    reasons = {
        scope: line for scope in SCOPES for line in lines if line.startswith(f"- {scope} ") or line == f"- {scope}"
    }

    assert set(reasons) == set(SCOPES)
    assert [
        scope
        for scope, line in reasons.items()
        if len(line.partition("#")[2].split()) < (1 if scope == "commands" else 3)
    ] == []


def test_no_event_is_subscribed_that_is_not_handled(manifest: dict[str, dict[str, dict[str, list[str]]]]) -> None:
    """App Home, mentions, and messages, of which tests/watch shows that nothing is kept that does not concern it."""
    assert manifest["settings"]["event_subscriptions"]["bot_events"] == list(EVENTS)


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
