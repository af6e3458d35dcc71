"""Appends are decided by the database: one wins, all or none, and what may exist once exists once."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from bot.adapters.journal_sql import Store, open_store
from bot.domain.entries import Body, ExecutionStarted, NoteAdded, NoticeQueued
from bot.domain.errors import JournalMoved, Refused, UnknownIncident
from bot.domain.ids import IncidentId, ProposalId, TableName
from bot.domain.journal import GENESIS
from bot.domain.notice import Notice
from tests.decisions import ANA
from tests.incidents import Story
from tests.orders_table import NINE

EXECUTION = ExecutionStarted(proposal=ProposalId("p"))
NOTICE = NoticeQueued(notice=Notice(kind="recovered", revision=1, consumer="bi", channel="C1", text="Hello."))


def _note(store: Store, after: int, text: str = "seen") -> bool:
    try:
        store.journal.append(IncidentId("wl-1"), after, [NoteAdded(text=text)], by=ANA, at=NINE)
    except JournalMoved:
        return False
    return True


def test_entries_come_back_as_they_were_appended(store: Store) -> None:
    """What is read is what was written, in order, each following from the one before."""
    story = Story(store.journal).whole()

    read = store.journal.entries(story.id)

    assert [entry.seq for entry in read] == list(range(1, len(read) + 1))
    assert [entry.prev_hash for entry in read] == [GENESIS, *(entry.hash for entry in read[:-1])]
    assert story.incident.closed_reason == "Verified and told."


def test_an_append_returns_what_a_later_read_returns(store: Store) -> None:
    """The answer of an append needs no second look, whatever the text holds."""
    story = Story(store.journal).opens()

    [written] = store.journal.append(story.id, 3, [NoteAdded(text='Ünï "quoted" \\ \x7f …')], by='U"1', at=NINE)

    assert store.journal.entries(story.id)[-1] == written


def test_only_one_of_many_threads_appends_after_the_same_entry(store: Store) -> None:
    """Of eight requests that decided on the same state, exactly one is recorded."""
    story = Story(store.journal).opens()
    together = Barrier(8)

    def append(number: int) -> bool:
        together.wait()
        return _note(store, after=3, text=str(number))

    with ThreadPoolExecutor(8) as threads:
        outcomes = list(threads.map(append, range(8)))

    assert outcomes.count(True) == 1
    assert len(store.journal.entries(story.id)) == 4


@pytest.mark.full
def test_only_one_of_many_processes_starts_an_execution(store: Store, url: str) -> None:
    """Executors in four processes race for one proposal: one wins, the others are told so."""
    Story(store.journal).opens()
    command = [sys.executable, "-m", "tests.journal.writers", url, "execute"]
    racers = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    for racer in racers:
        assert racer.stdout is not None
        assert racer.stdout.readline() == "ready\n"

    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("go\n")
        racer.stdin.flush()
    said = sorted(racer.communicate(timeout=150)[0].strip() for racer in racers)

    assert said == ["refused", "refused", "refused", "won"]
    assert store.journal.verify() == ()


def test_incidents_opened_at_once_get_different_ids_without_holes(url: str) -> None:
    """Ids are wl-1, wl-2, … however many replicas open incidents at the same moment."""
    stores = [open_store(url) for _ in range(4)]

    with ThreadPoolExecutor(8) as threads:
        opened = list(threads.map(lambda n: Story(stores[n % 4].journal).opens(table=TableName(f"t{n}")).id, range(12)))

    assert sorted(opened) == sorted(f"wl-{n}" for n in range(1, 13))
    assert stores[0].journal.incidents() == tuple(f"wl-{n}" for n in range(1, 13))
    for each in stores:
        each.close()


def test_of_two_people_who_open_an_incident_on_a_table_at_once_one_is_first(url: str) -> None:
    """One open incident a table: everybody else is told which one it is, and nothing of theirs is in the record."""
    stores = [open_store(url) for _ in range(4)]
    together = Barrier(8)

    def opens(number: int) -> str:
        together.wait()
        try:
            return Story(stores[number % 4].journal).opens().id
        except Refused as refusal:
            return refusal.happened

    with ThreadPoolExecutor(8) as threads:
        told = sorted(threads.map(opens, range(8)))

    assert told == [*["Incident wl-1 is already open on sales.orders."] * 7, "wl-1"]
    assert stores[0].journal.incidents() == ("wl-1",)
    assert stores[0].journal.verify() == ()
    for each in stores:
        each.close()


def test_a_closed_incident_frees_its_table(store: Store) -> None:
    """The next one may be opened, and only one."""
    Story(store.journal).opens().closes()

    following = Story(store.journal).opens()

    assert following.id == "wl-2"
    with pytest.raises(Refused, match="Incident wl-2 is already open"):
        Story(store.journal).opens()


@pytest.mark.parametrize("body", [EXECUTION, NOTICE], ids=["execution", "notice"])
def test_what_may_exist_once_is_refused_twice(store: Store, body: Body) -> None:
    """A second execution of a proposal, or the same notice again, is refused and leaves nothing behind."""
    story = Story(store.journal).opens().says(body)
    before = store.journal.entries(story.id)

    for _ in range(2):
        with pytest.raises(Refused, match="is already in the record"):
            story.says(NoteAdded(text="beside it"), body)

    assert store.journal.entries(story.id) == before


def test_what_may_exist_once_is_refused_within_one_append(store: Store) -> None:
    """Two equal executions in one append are refused together."""
    story = Story(store.journal).opens()

    with pytest.raises(Refused, match="execution/p is already in the record"):
        story.says(EXECUTION, EXECUTION)

    assert len(store.journal.entries(story.id)) == 3


def test_notes_may_repeat(store: Store) -> None:
    """Saying the same thing twice is two entries."""
    story = Story(store.journal).opens()

    story.says(NoteAdded(text="again"), NoteAdded(text="again"))

    assert len(store.journal.entries(story.id)) == 5


@pytest.mark.parametrize("after", [0, 2, 4])
def test_an_append_after_another_entry_than_the_last_says_what_it_found(store: Store, after: int) -> None:
    """A request that decided on an old (or imagined) state is told where the record stands."""
    story = Story(store.journal).opens()

    with pytest.raises(JournalMoved, match="found entry 3") as refusal:
        store.journal.append(story.id, after, [NoteAdded(text="late")], by=ANA, at=NINE)

    assert f"Expected entry {after}" in refusal.value.found
    assert len(store.journal.entries(story.id)) == 3


@pytest.mark.parametrize("name", ["wl-7", "wl-01", "wl--1", "7", "", "wl-١"])
def test_an_unknown_incident_has_no_entries_and_takes_none(store: Store, name: str) -> None:
    """Only ids that were given exist; nothing that merely resembles one does."""
    Story(store.journal).opens()

    with pytest.raises(UnknownIncident):
        store.journal.append(IncidentId(name), 0, [NoteAdded(text="lost")], by=ANA, at=NINE)

    assert store.journal.entries(IncidentId(name)) == ()


def test_an_incident_begins_with_its_opening(store: Store) -> None:
    """Nothing else can be the first entry."""
    with pytest.raises(ValueError, match="begins with its opening"):
        store.journal.open(NoteAdded(text="first"), by=ANA, at=NINE)

    assert store.journal.incidents() == ()


def test_appending_nothing_adds_nothing(store: Store) -> None:
    """A decision to do nothing is not an entry, but it still needs the present state."""
    story = Story(store.journal).opens()

    assert store.journal.append(story.id, 3, [], by=ANA, at=NINE) == ()

    with pytest.raises(JournalMoved):
        store.journal.append(story.id, 1, [], by=ANA, at=NINE)


def test_only_newer_entries_are_read_when_asked_so(store: Store) -> None:
    """Whoever knows the first entries of an incident reads the rest, and only that."""
    story = Story(store.journal).opens().answers()
    everything = store.journal.entries(story.id)

    newer = store.journal.entries(story.id, after_seq=2)

    assert newer == everything[2:]
    assert store.journal.entries(story.id, after_seq=len(everything)) == ()
