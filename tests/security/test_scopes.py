"""The manifest asks for what the code calls, and for nothing else, and says of each scope what for."""

import ast
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
OF_THE_MANIFEST_ITSELF = {"commands", "app_mentions:read"}
"""Asked for by a feature, not by a call: the slash command, and the event of a mention."""
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
