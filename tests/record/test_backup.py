"""`waterline record backup`: a copy of the record that is whole, whatever the bot writes meanwhile. It is what a team
goes back to after an upgrade."""

import shutil
import subprocess
import sys
import threading
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from bot.adapters.journal_sql.schema import MIGRATIONS, NEWEST
from bot.adapters.journal_sql.store import open_store
from bot.cli import app
from bot.incident.entries import NoteAdded
from bot.observation.errors import BadConfiguration
from bot.observation.masking import Masking
from bot.ports import Post
from tests.decisions import ANA
from tests.incidents import Story
from tests.postgres import Postgres
from tests.settings.test_loading import GOOD


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """Of a record beside it."""
    file = tmp_path / "waterline.yaml"
    file.write_text(f"home: {tmp_path}\n{GOOD}", encoding="utf-8")
    return file


def backup(config: Path, to: Path) -> Result:
    return CliRunner().invoke(app, ["record", "backup", "--to", str(to), "--config", str(config)])


def backup_while_the_bot_writes(config: Path, to: Path, story: Story) -> Result:
    """Entries come to the record from before until after it."""
    is_over = threading.Event()

    def writes() -> None:
        while not is_over.is_set():
            story.says(NoteAdded(text="One more row."), by=ANA)

    writer = threading.Thread(target=writes)
    writer.start()
    told = backup(config, to)
    is_over.set()
    writer.join()
    return told


def test_a_copy_is_whole_while_the_bot_writes(config: Path, tmp_path: Path) -> None:
    """It ends with some entry, and every hash up to there fits; the record goes on."""
    with closing(open_store(f"sqlite:///{tmp_path / 'journal.db'}")) as store:
        story = Story(store.journal).opens()
        told = backup_while_the_bot_writes(config, tmp_path / "copy.db", story)

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


def restore(config: Path, source: Path) -> Result:
    return CliRunner().invoke(app, ["record", "restore", "--from", str(source), "--config", str(config)])


def on(config: Path, url: str) -> Path:
    """The same configuration, with its record in this database."""
    file = config.with_name("other.yaml")
    file.write_text(f"journal: {{url: '{url}'}}\n{GOOD}", encoding="utf-8")
    return file


def message(key: str) -> Post:
    return Post(key=key, incident=None, channel="C1", text="It is there.")


def test_a_copy_of_a_record_in_postgresql_is_whole_and_comes_back_into_another_one(
    config: Path, tmp_path: Path, postgres: Postgres
) -> None:
    """The bot writes meanwhile. What is put afterwards comes after what was there."""
    old, new, copy = postgres.new_database(), postgres.new_database(), tmp_path / "copy.db"
    with closing(open_store(old)) as store:
        story = Story(store.journal).opens()
        store.outbox.put(message("first"))
        told = backup_while_the_bot_writes(on(config, old), copy, story)
        whole = store.journal.entries(story.id)
    back = restore(on(config, new), copy)
    with closing(open_store(new)) as restored:
        entries = restored.journal.entries(story.id)
        restored.outbox.put(message("second"))
        order = [post.key for post in iter(lambda: restored.outbox.claim(datetime.now(UTC)), None)]

    assert (told.exit_code, back.exit_code) == (0, 0), told.output + back.output
    assert "1 incident: every entry fits." in back.stdout
    assert entries == whole[: len(entries)]
    assert len(entries) > 1
    assert order[0] == "first"
    assert set(order) <= {"first", "second"}


def test_a_copy_comes_back_into_sqlite_and_only_into_an_empty_record(config: Path, tmp_path: Path) -> None:
    """A second restore is refused, and so is one while a bot works; the copy is not changed by either."""
    with closing(open_store(f"sqlite:///{tmp_path / 'journal.db'}")) as store:
        story = Story(store.journal).opens()
        backup(config, tmp_path / "copy.db")
        entries = store.journal.entries(story.id)
        before = (tmp_path / "copy.db").read_bytes()
    (tmp_path / "empty").mkdir()
    other = on(config, f"sqlite:///{tmp_path / 'empty' / 'record.db'}")
    with closing(open_store(f"sqlite:///{tmp_path / 'empty' / 'record.db'}")) as working:
        working.presence.join()
        while_it_works = restore(other, tmp_path / "copy.db").exception
    first = restore(other, tmp_path / "copy.db")
    again = restore(other, tmp_path / "copy.db").exception
    with closing(open_store(f"sqlite:///{tmp_path / 'empty' / 'record.db'}")) as restored:
        found = restored.journal.entries(story.id)

    assert first.exit_code == 0, first.output
    assert found == entries
    assert "A bot works on the record" in str(while_it_works)
    assert "is not empty" in str(again)
    assert (tmp_path / "copy.db").read_bytes() == before


def test_what_is_no_copy_is_refused(config: Path, tmp_path: Path) -> None:
    """And the record stays empty."""
    (tmp_path / "notes.txt").write_text("This is no database." * 100)

    told = restore(config, tmp_path / "notes.txt").exception

    assert isinstance(told, BadConfiguration)
    assert "The record is still empty." in str(told)


ROOT = Path(__file__).parents[2]
ONE_MORE = f"""
from alembic import op
from sqlalchemy import Column, String

revision, down_revision = "made up", "{NEWEST}"


def upgrade() -> None:
    op.add_column("inbox", Column("lane", String(32)))
"""


@pytest.fixture
def newer(tmp_path: Path) -> Path:
    """A checkout of a newer Waterline, which has one migration more."""
    tree = tmp_path / "newer"
    shutil.copytree(ROOT / "bot", tree / "bot", ignore=shutil.ignore_patterns("recordings"))
    for name in ("spark_tasks", "runbooks", "messages"):
        (tree / name).symlink_to(ROOT / name)
    schema = tree / "bot/adapters/journal_sql/schema.py"
    schema.write_text(schema.read_text().replace(f'NEWEST = "{NEWEST}"', 'NEWEST = "made up"'))
    (tree / MIGRATIONS.relative_to(ROOT) / "versions/one_more.py").write_text(ONE_MORE)
    return tree


@pytest.mark.slow
@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_an_upgrade_keeps_the_record_and_the_older_version_comes_back_with_the_copy(
    tmp_path: Path, config: Path, newer: Path, database: str, request: pytest.FixtureRequest
) -> None:
    """As the page on upgrades says. The older version refuses the upgraded record and leaves it as it is."""

    def empty(name: str) -> str:
        is_file = database == "sqlite"
        return f"sqlite:///{tmp_path / name}" if is_file else request.getfixturevalue("postgres").new_database()

    def upgraded(*command: str) -> str:
        run = [sys.executable, "-m", "bot.cli", "record", *command]
        told = subprocess.run(run, cwd=newer, env={}, capture_output=True, text=True, check=False)
        assert told.returncode == 0, told.stderr
        return told.stdout

    old, new = empty("old.db"), empty("new.db")
    with closing(open_store(old)) as store:
        story = Story(store.journal).opens()
        entries = store.journal.entries(story.id)
    backup(on(config, old), tmp_path / "copy.db")
    verified = upgraded("verify", "--config", str(on(config, old)))
    with pytest.raises(BadConfiguration, match="has a schema that this version does not know"):
        open_store(old)
    still = upgraded("verify", "--config", str(on(config, old)))
    back = restore(on(config, new), tmp_path / "copy.db")
    with closing(open_store(new)) as restored:
        found = restored.journal.entries(story.id)

    assert verified == still == "1 incident: every entry fits.\n"
    assert back.exit_code == 0, back.output
    assert found == entries
