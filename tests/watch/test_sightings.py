"""When a finding is told, what the watch remembers of it, and how its message looks."""

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from bot.adapters.journal_sql.store import Store, open_store
from bot.incident.approval import People
from bot.incident.watch import Ended, finding_id, note_key, recall
from bot.observation.errors import UnknownTable
from bot.observation.ids import TableName, UserId
from bot.service.incident_store import IncidentStore
from bot.service.watching.finding_store import FindingStatus, FindingStore, post_key
from bot.slack.blocks.watch import finding_message
from bot.slack.limits import fit
from tests.watch.signs import NINE, ORDERS, finding, muted, reported
from tests.web.scene import StandingClock

pytestmark = pytest.mark.smoke

ANA = UserId("U0ANA00001")


class World:
    """One database, a clock, and as many replicas as a test asks for."""

    def __init__(self, folder: Path) -> None:
        self.clock = StandingClock()
        self._url = f"sqlite:///{folder}/journal.db"
        self._stores: list[Store] = []

    def replica(self) -> FindingStore:
        store = open_store(self._url)
        self._stores.append(store)
        incidents = IncidentStore(store.journal, self.clock)
        return FindingStore(store.watched, store.outbox, incidents, self.clock, {ORDERS: "C0ORDERS01"})

    def posts(self, finding_store: FindingStore) -> list[str]:
        """What was put into the outbox, as `watch/ID` or with the thread that it belongs to."""
        outbox = self._stores[0].outbox
        found = [outbox.find(post_key(each)) for each in finding_store.memory(ORDERS).reported]
        return [f"{post.key} in {post.thread_of}" if post.thread_of else post.key for post in found if post is not None]

    def close(self) -> None:
        for store in self._stores:
            store.close()


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """Nothing was seen yet."""
    made = World(tmp_path)
    yield made
    made.close()


def test_two_replicas_tell_a_thing_once(world: World) -> None:
    """Both see it, both settle: one note, one message."""
    first, second = world.replica(), world.replica()

    seen = [first.see(ORDERS, finding()), second.see(ORDERS, finding())]
    for each in (first, second, first):
        each.post_due(ORDERS)

    assert seen == [True, False]
    assert len(world.posts(first)) == 1


def test_a_mute_has_a_table(world: World) -> None:
    """Nobody mutes what is not watched."""
    finding_store = world.replica()

    with pytest.raises(UnknownTable, match=r"It watches sales\.orders"):
        finding_store.mute(TableName("sales.refunds"), timedelta(hours=1), by=ANA)
    assert finding_store.memory(ORDERS).muted is None


def test_a_note_is_kept_once_and_survives_a_restart(tmp_path: Path) -> None:
    """Two replicas that see the same thing write one note; another process reads it back."""
    url, seen = f"sqlite:///{tmp_path}/journal.db", reported(finding())
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
    seen = reported(finding().model_copy(update={"headline": "jdbc:postgresql://flink:hunter22@db/lake is down."}))

    store.watched.add(seen)

    assert "hunter22" not in store.watched.of(ORDERS)[0].model_dump_json()
    store.close()


def test_what_ended_and_comes_back_is_another_occasion() -> None:
    """The same fault after its end has an id of its own, so it is told again; while it lasts it has not."""
    first = reported(finding())
    lasting = recall([first])
    over = recall([first, Ended(finding=first.id, table=ORDERS, at=NINE, why="gone")])

    assert lasting.known(finding()) == first
    assert lasting.known(finding(subject="cccccc")) is None
    assert over.known(finding()) is None
    assert finding_id(ORDERS, finding(), over.occasions(finding())) != first.id


def test_the_newest_word_about_a_mute_counts() -> None:
    """It ends at its time, or before, where somebody takes it back."""
    later = NINE + timedelta(hours=4)
    memory = recall([muted(later)])
    taken_back = recall([muted(later), muted(NINE, NINE + timedelta(minutes=5))])

    assert memory.mute_at(NINE) is not None
    assert memory.mute_at(later) is None
    assert taken_back.mute_at(NINE + timedelta(minutes=6)) is None


ONCALL = People(groups=("S0ONCALL01",))


def shown(status: FindingStatus) -> str:
    """Its blocks, as Slack gets them; the notification is escaped where every message is."""
    _text, blocks = finding_message(status, ONCALL)
    return json.dumps(fit(blocks), ensure_ascii=False)


def test_only_what_is_urgent_and_lasts_wakes_somebody() -> None:
    """A mention in what can wait, or is over, would be heard for nothing."""
    urgent, slight = reported(finding()), reported(finding(urgent=False))
    over = Ended(finding=urgent.id, table=ORDERS, at=NINE, why="Waterline does not see it any more.")

    assert "<!subteam^S0ONCALL01>" in shown(FindingStatus(urgent, None, None, None))
    assert "<!subteam^" not in shown(FindingStatus(slight, None, None, None))
    assert "<!subteam^" not in shown(FindingStatus(urgent, over, None, None))


def test_nobody_is_sent_to_mend_what_is_over() -> None:
    """While it lasts it says what to do, afterwards since when it is over and nothing to do."""
    stale = reported(finding("stale", "freshness", urgent=False))
    over = Ended(finding=stale.id, table=ORDERS, at=NINE, why="Waterline does not see it any more.")

    lasting, ended = shown(FindingStatus(stale, None, None, None)), shown(FindingStatus(stale, over, None, None))

    assert "*What to do:* Roll back table and job together." in lasting
    assert "Over since" not in lasting
    assert "*Over since 09:00:00 UTC:* Waterline does not see it any more." in ended
    assert "What to do" not in ended


def test_text_of_an_alert_does_nothing_but_stand_there() -> None:
    """No mention, no link, no formatting, and a link to look at only over https."""
    evil = "<!channel> <@U0BEN00001> <https://evil.example|look> *now* `x`"
    alert = finding().model_copy(
        update={"headline": evil, "reasons": (evil, "y" * 9000), "advice": evil, "source": evil, "link": "javascript:1"}
    )

    told = shown(FindingStatus(reported(alert), None, None, None))

    assert "<!channel>" not in told
    assert "<@U0BEN00001>" not in told
    assert "<https://evil" not in told
    assert "javascript:" not in told
    assert len(told) < 12_000
