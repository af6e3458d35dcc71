"""Proof by what was posted is none where nothing was posted, or where nobody could look."""

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from bot.adapters.journal_sql import open_store
from bot.cli import app
from bot.domain.journal import Entry
from bot.domain.posted_seals import Posted, PostedSeal
from bot.domain.seal import is_milestone, seal_of
from tests.decisions import CHANNEL
from tests.incidents import Story

CONFIG = """
catalog: {{name: lake, properties: {{type: sql, uri: "sqlite:///nowhere.db"}}}}
journal: {{url: "{url}"}}
tables: {{sales.orders: {{contract: {{key: [order_id]}}, policies: {{default: {{users: [U0BEN00001]}}}}}}}}
"""


def posted_of(entries: tuple[Entry, ...], **changed: Any) -> Posted:
    """Every milestone sealed in the incident's channel."""
    seals = (seal_of(entry) for entry in entries if is_milestone(entry.body))
    told = tuple(PostedSeal(incident_id=s.incident_id, seq=s.seq, says=(s,), is_edited=False) for s in seals)
    return Posted(seals=told, channels=frozenset({CHANNEL})).model_copy(update=changed)


@pytest.fixture
def entries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Entry, ...]:
    """One whole incident, in a record that the configuration names."""
    monkeypatch.setenv("SLACK_BOT_TOKEN", "xoxb-of-a-test")
    (tmp_path / "waterline.yaml").write_text(CONFIG.format(url=f"sqlite:///{tmp_path / 'record.db'}"))
    store = open_store(f"sqlite:///{tmp_path / 'record.db'}")
    try:
        return store.journal.entries(Story(store.journal).whole().id)
    finally:
        store.close()


def verify(folder: Path, monkeypatch: pytest.MonkeyPatch, found: Posted) -> tuple[int, str]:
    """(exit code, output) where Slack shows this."""
    monkeypatch.setattr("bot.cli.record.posted_seals", lambda _client: found)
    result = CliRunner().invoke(app, ["record", "verify", "--posted", "--config", str(folder / "waterline.yaml")])
    return result.exit_code, result.output


def test_a_record_whose_milestones_are_all_sealed_fits(
    entries: tuple[Entry, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Opened, approved, carried out, closed."""
    code, output = verify(tmp_path, monkeypatch, posted_of(entries))

    assert (0, True) == (code, "4 seals: every one fits." in output)


def test_a_milestone_without_its_seal_is_named(
    entries: tuple[Entry, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody deleted it, or had it never posted: what was approved has no witness."""
    whole = posted_of(entries)
    without = whole.seals[1].seq

    code, output = verify(
        tmp_path, monkeypatch, posted_of(entries, seals=tuple(s for s in whole.seals if s.seq != without))
    )

    assert code == 1
    assert output.startswith(f"wl-1 entry {without}: Its seal is not in {CHANNEL}, which was read to its end")
    assert "every" not in output


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (Posted(), f"wl-1: 4 seals could not be looked for; the incident's channel ({CHANNEL}) was not read"),
        (Posted(channels=frozenset({"C0OTHER001"})), "4 seals could not be looked for"),
        (Posted(unread={CHANNEL: "missing_scope"}), f"{CHANNEL} could not be read: missing_scope."),
        (Posted(problem="The posted seals could not be read."), "The posted seals could not be read."),
    ],
)
def test_where_nobody_could_look_nothing_is_proven(
    entries: tuple[Entry, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, found: Posted, why: str
) -> None:
    """The bot is in no channel, or in others only, or may not read: neither a fault nor a proof."""
    assert is_milestone(entries[0].body)

    code, output = verify(tmp_path, monkeypatch, found)

    assert code == 3
    assert f"Could not look: {why}" in output or f"Could not look: wl-1: {why}" in output
    assert "every one fits" not in output


def test_an_empty_record_is_no_proof_where_nothing_was_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever empties the database and takes the bot out of its channels gets no word that all fits."""
    monkeypatch.setenv("SLACK_BOT_TOKEN", "xoxb-of-a-test")
    (tmp_path / "waterline.yaml").write_text(CONFIG.format(url=f"sqlite:///{tmp_path / 'record.db'}"))

    code, output = verify(tmp_path, monkeypatch, Posted())

    assert (3, True) == (code, "Could not look: The bot is in no channel." in output)
