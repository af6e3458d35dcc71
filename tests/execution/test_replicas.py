"""Two executors or replicas: who has lost a turn, and who works on a run."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import spark_tasks
from bot.adapters.clock import SystemClock
from bot.adapters.journal_sql.store import Store
from bot.evidence import Collector, find_tasks
from bot.incident.entries import EffectEnded, EvidenceRequested, NoteAdded, StepDone
from bot.incident.execution import ProposalState
from bot.observation.errors import CommitRefused, CouldNotLook, OutcomeUnknown
from bot.observation.evidence import Observation
from bot.observation.ids import EvidenceId, JobId, StepId
from bot.observation.table import TableState
from bot.ports import TableChange
from bot.service.background import Background
from bot.service.evidence_service import EvidenceService
from bot.service.incident_store import IncidentStore
from bot.service.observing import Observer
from tests import orders_table as orders
from tests.execution.scene import Scene
from tests.incidents import Story
from tests.little_flink import JOB
from tests.rewound import ANA, Damaged
from tests.slack.looking import ArrowRunner
from tests.slack.people import PATIENCE_S, eventually
from tests.telling.test_owed_notices import setup


def test_who_is_refused_after_another_has_done_it_takes_nothing_back(scene: Scene) -> None:
    """The slow one's commit comes after the other has carried everything out."""
    commit, came = scene.damaged.catalog.commit, []

    def slow(table: Any, change: TableChange) -> TableState:
        if change.move_main_to is not None and not came:
            came.append(change)
            scene.carries_on()  # the other executor, meanwhile
        return commit(table, change)

    scene.damaged.catalog.commit = slow  # type: ignore[method-assign]
    scene.begins()
    scene.carries_on()

    assert came
    assert scene.view.state is ProposalState.APPLIED
    assert ends(scene) == [(0, "done"), (1, "done"), (2, "done")]
    assert scene.calls == ["stop", "start"]


def test_who_is_refused_while_another_tries_it_ends_nothing(scene: Scene) -> None:
    """The other's answer is still to come: whether it happened is not the slow one's to say."""
    commit, came = scene.damaged.catalog.commit, []

    def slow(table: Any, change: TableChange) -> TableState:
        if change.move_main_to is None or len(came) > 1:
            return commit(table, change)
        came.append(change)
        if len(came) > 1:
            raise OutcomeUnknown("The catalog did not answer.", "", "")
        scene.carries_on()
        raise CommitRefused("Table sales.orders was not changed.", "", "")

    scene.damaged.catalog.commit = slow  # type: ignore[method-assign]
    scene.begins()
    scene.carries_on()
    first = scene.view.state
    scene.carries_on()

    assert first is ProposalState.EXECUTING
    assert scene.view.state is ProposalState.APPLIED
    assert scene.calls == ["stop", "start"]


def test_who_comes_late_with_an_intent_begins_nothing(scene: Scene) -> None:
    """A second intent would choose a second job id; with the other's request still on its way that is two runs."""
    read, start, came = scene.damaged.checkpoints.read, scene.damaged.flink.start, []

    def slow(path: str) -> Any:
        if 1 in scene.view.done and not came:
            came.append(path)
            scene.carries_on()
        return read(path)

    def lost(job: str, path: str, job_id: JobId, **how: object) -> None:
        came.append(job_id)
        if len(came) > 2:
            start(job, path, job_id)
        else:
            raise OutcomeUnknown("Flink did not answer.", "", "")

    scene.damaged.checkpoints.read = slow  # type: ignore[method-assign]
    scene.damaged.flink.start = lost  # type: ignore[method-assign]
    scene.begins()
    scene.carries_on()
    scene.carries_on()
    start(JOB, came[0], JobId(came[1]))

    assert scene.view.state is ProposalState.APPLIED
    assert alive(scene) == [came[1]]
    assert scene.calls == ["stop", "start"]


def ends(scene: Scene) -> list[tuple[int, str]]:
    """Every end of an effect, in the order of the record."""
    entries = scene.store.get(scene.incident).entries
    return [(entry.body.index, entry.body.how) for entry in entries if isinstance(entry.body, EffectEnded)]


def alive(scene: Scene) -> list[JobId]:
    """Runs that are not at their end."""
    return [run.job_id for run in scene.damaged.flink.runs(JOB) if not run.is_terminal]


RUN = EvidenceId("01JBQ5M7Z3T9K4X8V2N6R0PWAC")


@pytest.fixture
def counting(tmp_path: Path, record: Store) -> tuple[IncidentStore, Observer]:
    """Somebody has asked for the evidence, and nobody has begun; its record, and who looks at its table."""
    damaged = Damaged.made_in(tmp_path)
    store = IncidentStore(record.journal, SystemClock())
    asked = EvidenceRequested(run=RUN, task="duplicate_rows", step=StepId("count"))
    store.write(damaged.approved(store), by=ANA, decide=lambda _incident: [asked])
    return store, damaged.executions(store)[0]._observer  # the one over this table


def test_who_does_not_lead_runs_no_evidence(counting: tuple[IncidentStore, Observer]) -> None:
    """The run stays without an end for the replica that leads, which ends its step with the answer."""
    (store, observer), runner, leads = counting, ArrowRunner(), False
    incident = store.all()[0].id
    one = service(store, observer, runner, lambda: leads)

    one.resume(incident, RUN)
    eventually(lambda: RUN not in one._mine)
    before = runner.runs, store.get(incident).runs[RUN].is_running
    leads = True
    one.resume(incident, RUN)
    eventually(lambda: not store.get(incident).runs[RUN].is_running)
    one.close()

    assert (before, runner.runs) == ((0, True), 1)
    ends = [entry.body for entry in store.get(incident).entries if isinstance(entry.body, StepDone)]
    assert [StepDone(step=StepId("count"), key="confirmed", why="20 keys live more than once.")] == ends


def test_a_desk_that_closes_while_it_looks_begins_no_run(
    counting: tuple[IncidentStore, Observer], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The table answers after the bot was told to stop: nothing is started, and the run is left to the next start."""
    (store, observer), runner = counting, ArrowRunner()
    incident = store.all()[0].id
    one, looks, may_answer = service(store, observer, runner), threading.Event(), threading.Event()
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


def service(
    store: IncidentStore, observer: Observer, runner: ArrowRunner, is_leader: Callable[[], bool] = lambda: True
) -> EvidenceService:
    """Over the real tasks."""
    return EvidenceService(store, observer, Collector(find_tasks(spark_tasks), runner, SystemClock()), is_leader)


def test_what_is_asked_for_while_the_bot_stops_is_left_to_the_next_start(record: Store) -> None:
    """The work under way ends well, and nothing on record says that it failed."""
    story = Story(record.journal).opens()
    background = Background(IncidentStore(record.journal, SystemClock()), lambda: True, workers=2)
    begun, go, did = threading.Event(), threading.Event(), list[str]()

    def work() -> None:
        begun.set()
        assert go.wait(PATIENCE_S)
        background.submit(story.id, "Something else", lambda: did.append("else"))
        did.append("work")

    background.submit(story.id, "Some work", work)
    assert begun.wait(PATIENCE_S)
    before = story.incident.seq
    closing_it = threading.Thread(target=background.close)
    closing_it.start()
    eventually(lambda: background._is_closing)
    go.set()
    closing_it.join(PATIENCE_S)

    assert did == ["work"]
    assert story.incident.seq == before


def test_a_fault_in_noting_a_fault_does_not_keep_the_work_from_being_done_again(record: Store) -> None:
    """Else the duty would count as under way until the next start."""
    story = Story(record.journal).opens()
    store = IncidentStore(record.journal, SystemClock())
    background = Background(store, lambda: True, workers=1)
    did: list[str] = []

    def work() -> None:
        did.append("work")
        raise ValueError("a defect")

    def cannot(*_: object, **__: object) -> None:
        raise RuntimeError("another defect")

    store.write = cannot  # type: ignore[assignment,method-assign]
    for times in (1, 2):
        background.submit(story.id, "Some work", work)
        eventually(lambda times=times: len(did) == times and not background._under_way)
    background.close()

    assert did == ["work", "work"]


def test_what_names_a_hidden_value_is_said_once_too(record: Store) -> None:
    """The record keeps it without that value, so the text is not found there as it was said: work that fails every few
    seconds must not fill the timeline."""
    known = setup("revenue_daily")
    hides = known.contract.model_copy(update={"redacted": ("customer",)})
    tables = {orders.TABLE: known.model_copy(update={"contract": hides})}
    story, store = Story(record.journal).opens(), IncidentStore(record.journal, SystemClock(), tables)
    background = Background(store, lambda: True, workers=1)

    def fails() -> None:
        raise CouldNotLook("A file is away.", "Expected lake/orders/data/customer=4711/00001.parquet.", "Look at it.")

    for _ in range(3):
        background._run((story.id, "Looking"), fails)
    background.close()

    notes = [entry.body.text for entry in story.incident.entries if isinstance(entry.body, NoteAdded)]
    assert len(notes) == 1
    assert "4711" not in notes[0]
