"""Two replicas and one piece of evidence: who works on it does, and the other one leaves it alone."""

import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

import spark_tasks
from bot.adapters.clock import SystemClock
from bot.adapters.journal_sql.store import Store, open_store
from bot.domain.entries import EvidenceRequested, StepDone
from bot.domain.evidence import Observation
from bot.domain.ids import EvidenceId, IncidentId, StepId
from bot.evidence import Collector, find_tasks
from bot.service.evidence_desk import EvidenceDesk
from bot.service.incident_store import IncidentStore
from bot.service.observing import Observer
from tests.rewound import ANA, Damaged
from tests.slack.looking import ArrowRunner
from tests.slack.people import PATIENCE_S, eventually

RUN = EvidenceId("01JBQ5M7Z3T9K4X8V2N6R0PWAC")


class Locks:
    """As PostgreSQL's advisory locks of two sessions: one of them is in a block at a time."""

    def __init__(self) -> None:
        self._held: set[str] = set()
        self.refused = 0

    @contextmanager
    def alone_with(self, work: str) -> Iterator[bool]:
        """See `Presence`."""
        is_mine = work not in self._held
        self.refused += not is_mine
        self._held.add(work)
        yield is_mine
        if is_mine:
            self._held.discard(work)


@pytest.fixture
def record(tmp_path: Path) -> Iterator[Store]:
    """One record for both."""
    with closing(open_store(f"sqlite:///{tmp_path}/journal.db")) as opened:
        yield opened


def test_evidence_that_another_replica_collects_is_left_to_it(tmp_path: Path, record: Store) -> None:
    """A look at what is owed, while the task runs elsewhere, costs no second run; its step ends with its answer."""
    damaged, locks, runner = Damaged.made_in(tmp_path), Locks(), ArrowRunner()
    runner.slow()
    stores = [IncidentStore(record.journal, SystemClock()) for _ in range(2)]
    incident = damaged.approved(stores[0])
    asked = EvidenceRequested(run=RUN, task="duplicate_rows", step=StepId("count"))
    stores[0].write(incident, by=ANA, decide=lambda _incident: [asked])
    observer = damaged.executions(stores[0])[0]._observer  # the one over this table
    one, two = (desk(store, observer, runner, locks) for store in stores)

    one.resume(incident, RUN)
    eventually(lambda: runner.runs == 1)
    two.resume(incident, RUN)
    eventually(lambda: locks.refused == 1)
    runner.quick()
    eventually(lambda: not stores[0].get(incident).runs[RUN].is_running)
    two.resume(incident, RUN)
    for each in (one, two):
        each.close()

    assert runner.runs == 1
    ends = [entry.body for entry in ends_of(stores[1], incident)]
    assert [StepDone(step=StepId("count"), key="confirmed", why="20 keys live more than once.")] == ends


def test_a_desk_that_closes_while_it_looks_begins_no_run(
    tmp_path: Path, record: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The table answers after the bot was told to stop: nothing is started, and the run is left to the next start."""
    damaged, runner = Damaged.made_in(tmp_path), ArrowRunner()
    store = IncidentStore(record.journal, SystemClock())
    incident = damaged.approved(store)
    asked = EvidenceRequested(run=RUN, task="duplicate_rows", step=StepId("count"))
    store.write(incident, by=ANA, decide=lambda _incident: [asked])
    observer = damaged.executions(store)[0]._observer
    one, looks, may_answer = desk(store, observer, runner, Locks()), threading.Event(), threading.Event()
    observe = observer.observe

    def slowly(*args: Any, **named: Any) -> Observation:
        looks.set()
        may_answer.wait()
        return observe(*args, **named)

    monkeypatch.setattr(observer, "observe", slowly)
    one.resume(incident, RUN)
    assert looks.wait(PATIENCE_S)
    closing_it = threading.Thread(target=one.close)
    closing_it.start()
    eventually(lambda: one._is_closing)
    may_answer.set()
    closing_it.join(PATIENCE_S)

    assert runner.runs == 0
    assert store.get(incident).runs[RUN].is_running


def desk(store: IncidentStore, observer: Observer, runner: ArrowRunner, locks: Locks) -> EvidenceDesk:
    """One replica's."""
    return EvidenceDesk(store, observer, Collector(find_tasks(spark_tasks), runner, SystemClock()), locks.alone_with)


def ends_of(store: IncidentStore, incident: IncidentId):  # type: ignore[no-untyped-def]
    """Entries that end a step."""
    return [entry for entry in store.get(incident).entries if isinstance(entry.body, StepDone)]
