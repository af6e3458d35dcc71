"""A real Alertmanager fires into the bot and takes it back; and the kept body is what it sends."""

import json
import time
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest

from bot.service.watching.finding_store import FindingStore
from tests.tables import ORDERS
from tests.watch.real_alertmanager import ALERTS, BINARY, alertmanager, post, recorded
from tests.watch.test_alerts import PAYLOADS, TOKEN, finding_store, scene, web

__all__ = ["finding_store", "scene", "web"]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(BINARY is None, reason="No Alertmanager here; deploy/require-system gets one from Debian."),
]


def names(finding_store: FindingStore) -> list[str]:
    """Alerts that are told and last."""
    return [each.finding.headline.partition(":")[0] for each in finding_store.memory(ORDERS).lasting]


def comes_to(finding_store: FindingStore, expected: list[str]) -> bool:
    """Whether the alerts that last become these within some seconds."""
    until = time.monotonic() + 90
    while names(finding_store) != expected and time.monotonic() < until:
        time.sleep(0.1)
    return names(finding_store) == expected


def test_it_fires_and_resolves_over_its_webhook(web: httpx.Client, finding_store: FindingStore, tmp_path: Path) -> None:
    """Its own groups, repeats, times and fingerprints, and the token that its configuration gives."""
    with alertmanager(tmp_path, f"{str(web.base_url).rstrip('/')}/v1/alerts/alertmanager", TOKEN) as address:
        post(address, ALERTS)
        has_fired = comes_to(finding_store, ["FlinkCheckpointsFailing", "TableStale"])
        post(address, [{**ALERTS[0], "endsAt": datetime.now(UTC).isoformat()}])
        is_resolved = comes_to(finding_store, ["TableStale"])

    assert has_fired
    assert is_resolved


def test_a_wrong_token_is_refused(web: httpx.Client, finding_store: FindingStore, tmp_path: Path) -> None:
    """It says so in its log, which is where its people look."""
    log = tmp_path / "alertmanager.log"
    with alertmanager(tmp_path, f"{str(web.base_url).rstrip('/')}/v1/alerts/alertmanager", "wrong") as address:
        post(address, ALERTS)
        until = time.monotonic() + 90
        while "401" not in log.read_text() and time.monotonic() < until:
            time.sleep(0.1)

    assert "401" in log.read_text()
    assert names(finding_store) == []


def test_the_kept_body_is_what_it_sends() -> None:
    """Another version may add fields; those of the kept body are all there, with the same values."""
    kept, sent = json.loads((PAYLOADS / "alertmanager_v4.json").read_text()), json.loads(recorded())

    assert kept.items() <= sent.items()
