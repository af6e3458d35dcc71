"""Secrets come from the environment and are never shown."""

import pytest

from bot.observation.errors import BadConfiguration
from bot.settings import SlackSecrets


@pytest.fixture(autouse=True)
def no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever this machine's environment holds is not the test's."""
    for name in SlackSecrets.model_fields:
        monkeypatch.delenv(name.upper(), raising=False)


def test_a_missing_secret_is_named_with_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which variable is missing depends on the mode."""
    monkeypatch.setenv("SLACK_BOT_TOKEN", "xoxb-1")

    with pytest.raises(BadConfiguration, match="Expected SLACK_APP_TOKEN in the environment"):
        SlackSecrets.for_mode("socket")
    with pytest.raises(BadConfiguration, match="Expected SLACK_SIGNING_SECRET in the environment"):
        SlackSecrets.for_mode("http")


def test_a_secret_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """A log line with the secrets in it shows stars."""
    monkeypatch.setenv("SLACK_BOT_TOKEN", "xoxb-very-secret")
    monkeypatch.setenv("SLACK_APP_TOKEN", "xapp-very-secret")

    secrets = SlackSecrets.for_mode("socket")

    assert "very-secret" not in repr(secrets)
    assert secrets.slack_bot_token is not None
    assert secrets.slack_bot_token.get_secret_value() == "xoxb-very-secret"
