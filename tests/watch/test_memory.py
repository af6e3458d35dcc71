"""What the watch remembers, kept in a real database."""

from datetime import timedelta
from pathlib import Path

import pytest

from bot.adapters.journal_sql.store import open_store
from bot.domain.watch import Ended, note_key, recall, sighting_id
from tests.watch.signs import NINE, ORDERS, muted, sighted, sign

pytestmark = pytest.mark.smoke


def test_a_note_is_kept_once_and_survives_a_restart(tmp_path: Path) -> None:
    """Two replicas that see the same thing write one note; another process reads it back."""
    url, seen = f"sqlite:///{tmp_path}/journal.db", sighted(sign())
    first, second = open_store(url), open_store(url)
    new = [first.watched.add(seen), second.watched.add(seen)]
    first.close()
    second.close()

    again = open_store(url)
    notes, found = again.watched.of(ORDERS), again.watched.find(note_key(seen))
    again.close()

    assert new == [True, False]
    assert notes == (seen,)
    assert found == seen


def test_no_secret_of_an_alert_is_written(tmp_path: Path) -> None:
    """An alert may quote an address with its password: it is masked on the way in."""
    store = open_store(f"sqlite:///{tmp_path}/journal.db")
    seen = sighted(sign().model_copy(update={"headline": "jdbc:postgresql://flink:hunter22@db/lake is down."}))

    store.watched.add(seen)

    assert "hunter22" not in store.watched.of(ORDERS)[0].model_dump_json()
    store.close()


def test_what_ended_and_comes_back_is_another_occasion() -> None:
    """The same fault after its end has an id of its own, so it is told again; while it lasts it has not."""
    first = sighted(sign())
    lasting = recall([first])
    over = recall([first, Ended(sighting=first.id, table=ORDERS, at=NINE, why="gone")])

    assert lasting.known(sign()) == first
    assert lasting.known(sign(subject="cccccc")) is None
    assert over.known(sign()) is None
    assert sighting_id(ORDERS, sign(), over.occasions(sign())) != first.id


def test_the_newest_word_about_a_mute_counts() -> None:
    """It ends at its time, or before, where somebody takes it back."""
    later = NINE + timedelta(hours=4)
    memory = recall([muted(later)])
    taken_back = recall([muted(later), muted(NINE, NINE + timedelta(minutes=5))])

    assert memory.mute_at(NINE) is not None
    assert memory.mute_at(later) is None
    assert taken_back.mute_at(NINE + timedelta(minutes=6)) is None
