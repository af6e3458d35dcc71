"""What a mode asks for because all that it needs left a doubt is collected by whoever diagnoses, and settles it."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest

import bot.diagnosis
import spark_tasks
from bot.diagnosis import recovered_by_itself
from bot.diagnosis._asked import _FIELDS
from bot.diagnosis._scan import scan
from bot.domain.diagnosis import HEALTHY, CannotTell, Case, Diagnosis
from bot.domain.entries import EvidenceEnded
from bot.domain.errors import EvidenceCancelled, EvidenceFailed, Refused
from bot.domain.evidence import Evidence, Verdict
from bot.domain.findings import LedgerFinding, ReplayedRowsFinding
from bot.domain.ids import EvidenceId, IncidentId, TableName
from bot.domain.incident import EvidenceRun
from bot.domain.setup import TableSetup
from bot.evidence import find_tasks
from bot.service.diagnosing import Diagnostician
from bot.service.examining import Examiner
from tests.cases import NOON, Tale
from tests.diagnosis.test_recovered_by_itself import repeated
from tests.found import repeats

MODES = scan(bot.diagnosis)
TASKS = {name: found.task for name, found in find_tasks(spark_tasks).items()}
CODES = pytest.mark.parametrize("code", MODES)
NONE_AGAIN = ReplayedRowsFinding(rows_checked=30, replayed=0, changed=0, first=None, last=None, pairs=())
WL_1 = IncidentId("wl-1")
ORDERS = TableName("sales.orders")


def doubtful(then: Callable[[Tale], object] = lambda _tale: None) -> Case:
    """Two commits cover the same source positions, and no key lives twice: an upsert, or rows under other keys."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3)
    then(tale)
    return tale.looked_at(duplicate_commits=repeats(repeated("same-source-range", tale)))


def run_of(task: str, run: EvidenceId, **outcome: Any) -> EvidenceRun:
    """As the incident keeps it."""
    return EvidenceRun(run=run, task=task, step=None, requested_at=NOON, by="ana", **outcome)


class World:
    """The case, and what there is to be found of it; collects `replayed_rows` when asked, or fails."""

    def __init__(self, fails: type[Exception] | None = None) -> None:
        self.case = doubtful()
        self.asked: list[str] = []
        self.written: list[Any] = []
        self._fails = fails
        self._known: dict[str, Evidence] = {}
        self.runs: list[EvidenceRun] = []
        self.looks()

    def looks(self) -> None:
        """All that diagnosing needs is collected of the case as it is now."""
        self._known = {task: self.evidence(task) for task, field in _FIELDS.items() if getattr(self.case, field)}
        self.runs += [run_of(t, EvidenceId(f"{t}-{len(self.runs)}"), evidence=e) for t, e in self._known.items()]

    def answers(self) -> None:
        """From now on."""
        self._fails = None

    # ------------------------------------------------------------------ as the observer

    def observe(self, *_: object, **__: object) -> object:
        return self.case.observation

    def setup(self, _table: object) -> TableSetup:
        told = {"contract": self.case.contract, "job": self.case.job_name, "next_update_minutes": 30}
        return TableSetup.model_validate({"name": ORDERS, "consumers": (), "policies": {}} | told)

    # ------------------------------------------------------------------ as the store

    def get(self, _incident: object, **more: object) -> SimpleNamespace:
        runs = {each.run: each for each in self.runs}
        latest = {each.task: each for each in self.runs if each.evidence is not None}
        told = {"window": self.case.window, "opened": SimpleNamespace(table=ORDERS), "kept_run": None}
        return SimpleNamespace(is_open=True, latest=latest, runs=runs, **told, **more)

    def write(self, incident: object, *, decide: Any, **_: object) -> None:
        self.written += decide(self.get(incident, diagnosis=None))

    # ------------------------------------------------------------------ as the collector

    def task(self, name: str) -> object:
        return TASKS[name]

    def collect(self, task: str, *_: object, **__: object) -> Evidence:
        if task in self._known:
            return self._known[task]
        self.asked.append(task)
        if self._fails is not None:
            raise self._fails("It gave no answer.", "Spark went away.", "Ask again.")
        return self.evidence(task)

    def collected(self, _incident: IncidentId, task: str) -> Evidence:
        """As the evidence desk does: what was found is on record then."""
        run = EvidenceId(f"{task}-{len(self.runs)}")
        try:
            found = self.collect(task)
        except Refused as error:
            self.runs.append(run_of(task, run, ended=EvidenceEnded(run=run, how="failed", message=error.found)))
            raise
        self.runs.append(run_of(task, run, evidence=found))
        return found

    def evidence(self, task: str) -> Evidence:
        table = self.case.observation.table
        found = NONE_AGAIN if task == "replayed_rows" else getattr(self.case, _FIELDS.get(task, ""), None)
        return Evidence(
            id=EvidenceId(task), task=task, task_version=1, question="Is it?", headline="It is not.",
            verdict=Verdict.INCONCLUSIVE if found is None else Verdict.RULED_OUT,
            finding=LedgerFinding(ledger=found) if task == "ledger" else found,
            metadata_location=table.metadata_location, head=table.head, window=self.case.window, at=table.read_at,
            took_ms=1, bytes_read=0,
        )  # fmt: skip


def examined(world: World, *, without_rows: bool = False) -> Diagnosis:
    """As a terminal does, and the watch without rows."""
    examiner = Examiner(cast(Any, world), cast(Any, world), MODES)
    return examiner.examine(ORDERS, lambda _table: world.case.window, without_rows=without_rows).diagnosis


def diagnosed(world: World) -> Diagnosis:
    """As Slack does."""
    diagnostician = Diagnostician(cast(Any, world), cast(Any, world), MODES)
    diagnostician.collect_by(world.collected)
    return diagnostician.diagnose(WL_1)


@pytest.mark.parametrize("way", [examined, diagnosed])
def test_what_is_asked_for_is_collected_and_settles_it(way: Any) -> None:
    """It was "cannot tell: replayed_rows" for ever, for nothing that diagnosing collects told it."""
    first = recovered_by_itself.examine(doubtful())
    world = World()

    diagnosis = way(world)

    assert isinstance(first, CannotTell)
    assert ("replayed_rows",) == first.asks
    assert ["replayed_rows"] == [task for task in world.asked if task in first.asks]
    assert HEALTHY in diagnosis.codes


@pytest.mark.parametrize(
    ("way", "fails"), [(examined, EvidenceFailed), (diagnosed, Refused), (diagnosed, EvidenceCancelled)]
)
def test_what_gives_no_answer_is_asked_once_and_stays_missing(way: Any, fails: type[Exception]) -> None:
    """The answer says which evidence is missing, and who diagnoses comes to an end."""
    world = World(fails)

    told = {mode.code: found for mode, found in way(world).undecided}[HEALTHY]

    assert world.asked.count("replayed_rows") == 1
    assert told.missing[0].startswith("replayed_rows")


def test_a_look_without_rows_does_not_read_them() -> None:
    """The watch looks at metadata only."""
    world = World()

    examined(world, without_rows=True)

    assert "replayed_rows" not in world.asked


@CODES
def test_what_a_mode_asks_for_is_a_task_that_it_does_not_need_anyway(code: str) -> None:
    """Each by its name."""
    mode = MODES[code].mode

    assert set(mode.asks_for) <= set(TASKS)
    assert not set(mode.asks_for) & set(mode.needs)
