"""`waterline record backup`: a copy of the record that is whole, whatever the bot writes meanwhile."""

import threading
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from bot.adapters.journal_sql.store import open_store
from bot.cli import app
from bot.domain.entries import NoteAdded
from bot.domain.errors import BadConfiguration
from bot.domain.masking import Masking
from tests.decisions import ANA
from tests.incidents import Story
from tests.settings.test_loading import GOOD


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """Of a record beside it."""
    file = tmp_path / "waterline.yaml"
    file.write_text(f"home: {tmp_path}\n{GOOD}", encoding="utf-8")
    return file


def backup(config: Path, to: Path) -> Result:
    return CliRunner().invoke(app, ["record", "backup", "--to", str(to), "--config", str(config)])


def test_a_copy_is_whole_while_the_bot_writes(config: Path, tmp_path: Path) -> None:
    """It ends with some entry, and every hash up to there fits; the record goes on."""
    with closing(open_store(f"sqlite:///{tmp_path / 'journal.db'}")) as store:
        story, is_over = Story(store.journal).opens(), threading.Event()

        def writes() -> None:
            while not is_over.is_set():
                story.says(NoteAdded(text="One more row."), by=ANA)

        writer = threading.Thread(target=writes)
        writer.start()
        told = backup(config, tmp_path / "copy.db")
        is_over.set()
        writer.join()

        with closing(open_store(f"sqlite:///{tmp_path / 'copy.db'}", Masking())) as copy:
            entries, whole = copy.journal.entries(story.id), store.journal.entries(story.id)

    assert told.exit_code == 0, told.output
    assert "1 incident: every entry fits." in told.stdout
    assert 1 < len(entries) <= len(whole)
    assert entries == whole[: len(entries)]


def test_a_copy_overwrites_nothing(config: Path, tmp_path: Path) -> None:
    """Neither another copy nor the record; and what could not be made leaves nothing behind."""
    with closing(open_store(f"sqlite:///{tmp_path / 'journal.db'}")) as store:
        Story(store.journal).opens()

    refused = [backup(config, to).exception for to in (tmp_path / "journal.db", tmp_path / "none" / "copy.db")]

    assert all(isinstance(each, BadConfiguration) for each in refused)
    assert not list(tmp_path.glob("**/*.part"))


def test_another_database_has_its_own_tool(config: Path, tmp_path: Path) -> None:
    """It is named, and the database is not asked."""
    config.write_text(f"journal: {{url: postgresql+psycopg://nobody@db/none}}\n{GOOD}", encoding="utf-8")

    refused = backup(config, tmp_path / "copy.db").exception

    assert isinstance(refused, BadConfiguration)
    assert "pg_dump" in str(refused)
