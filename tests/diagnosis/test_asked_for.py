"""Which evidence a mode asks for, once, and when it is asked for again.

One open incident over a tale, as the evidence service knows it: its store, and the settings of its table.
"""

from collections.abc import Callable
from datetime import timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest

import bot.diagnosis
import spark_tasks
from bot.adapters.clock import SystemClock
from bot.diagnosis import healthy, no_snapshot_advanced
from bot.diagnosis._support.asked import _FIELDS
from bot.diagnosis._support.examine import scan
from bot.diagnosis._support.last_good import rows_up_to
from bot.evidence import Collector, find_tasks
from bot.history.case import Case
from bot.incident.diagnosis import HEALTHY, CannotTell, Diagnosis, LastGoodRows, Matches
from bot.incident.entries import EvidenceEnded, EvidenceRecorded, EvidenceRequested
from bot.incident.incident import EvidenceRun
from bot.incident.runbook import END, ManualStep
from bot.incident.setup import TableSetup
from bot.observation.errors import EvidenceCancelled, EvidenceFailed, Refused
from bot.observation.evidence import Answer, Ask, Evidence, Observation, Task, Verdict
from bot.observation.findings import LedgerFinding, ReplayedRowsFinding
from bot.observation.flink import CheckpointKind, JobRun, StoredCheckpoint
from bot.observation.ids import CheckpointId, EvidenceId, IncidentId, SnapshotId, StepId, TableName
from bot.observation.looked import NotSeen, Seen
from bot.service.diagnosing import Diagnostician
from bot.service.evidence_service import EvidenceService
from bot.service.examining import Examiner
from tests.cases import NOON, Tale, job_id
from tests.diagnosis.little_evidence import Looked, case_of, look
from tests.diagnosis.little_world import World
from tests.diagnosis.test_health import repeated
from tests.found import evidence, leaks, repeats


def run_of(task: str, run: EvidenceId, **outcome: Any) -> EvidenceRun:
    """As the incident keeps it."""
    return EvidenceRun(run=run, task=task, step=None, requested_at=NOON, by="ana", **outcome)


class OneIncident:
    """What was asked, and what came of it, stays in memory."""

    def __init__(self, tale: Tale) -> None:
        self.tale = tale
        self.runs: dict[EvidenceId, Any] = {}

    def setup(self, _table: object) -> SimpleNamespace:
        return SimpleNamespace(contract=self.tale.case().contract, replay=None, copies={})

    def get(self, _incident: object) -> SimpleNamespace:
        latest = {each.task: each for each in self.runs.values() if each.evidence is not None}
        step = ManualStep(id=StepId("wait"), title="Wait", prose="Wait.", next=END)
        opened = SimpleNamespace(table="sales.orders", job=None)
        told = {
            "window": self.tale.case().window,
            "trusted": None,
            "opened": opened,
            "runbook": SimpleNamespace(steps=(step,), step=lambda _: step),
            "outcomes": {},
            "is_stopped": False,
            "planned": {},
        }
        return SimpleNamespace(is_open=True, runs=dict(self.runs), latest=latest, **told)

    def write(self, incident: object, *, decide: Any, **_: object) -> SimpleNamespace:
        for body in decide(self.get(incident)):
            match body:
                case EvidenceRequested():
                    self.runs[body.run] = run_of(body.task, body.run)
                case EvidenceRecorded():
                    self.runs[body.run] = run_of(body.evidence.task, body.run, evidence=body.evidence)
        return self.get(incident)


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


class Asked:
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
        told = {
            "window": self.case.window,
            "opened": SimpleNamespace(table=ORDERS),
            "kept_run": None,
            "entries": [],
            "is_stopped": False,
            "planned": {},
        }
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
        """As the evidence service does: what was found is on record then."""
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
        verdict = Verdict.INCONCLUSIVE if found is None else Verdict.RULED_OUT
        finding = LedgerFinding(ledger=found) if task == "ledger" else found
        told = {"finding": finding, "metadata_location": table.metadata_location}
        return evidence(task, self.case.window, table.read_at, verdict=verdict, head=table.head, **told)


def examined(world: Asked, *, without_rows: bool = False) -> Diagnosis:
    """As a terminal does, and the watch without rows."""
    examiner = Examiner(cast(Any, world), cast(Any, world), MODES)
    return examiner.examine(ORDERS, lambda _table: world.case.window, without_rows=without_rows).diagnosis


def diagnosed(world: Asked) -> Diagnosis:
    diagnostician = Diagnostician(cast(Any, world), cast(Any, world), MODES, collect=world.collected)
    return diagnostician.diagnose(WL_1)


@pytest.mark.parametrize(
    ("way", "fails"), [(examined, EvidenceFailed), (diagnosed, Refused), (diagnosed, EvidenceCancelled)]
)
def test_what_gives_no_answer_is_asked_once_and_stays_missing(way: Any, fails: type[Exception]) -> None:
    """The answer says which evidence is missing, and who diagnoses comes to an end."""
    world = Asked(fails)

    told = {mode.code: found for mode, found in way(world).undecided}[HEALTHY]

    assert world.asked.count("replayed_rows") == 1
    assert told.missing[0].startswith("replayed_rows")


def test_a_look_without_rows_does_not_read_them() -> None:
    """The watch looks at metadata only."""
    world = Asked()

    examined(world, without_rows=True)

    assert "replayed_rows" not in world.asked


@CODES
def test_what_a_mode_asks_for_is_a_task_that_it_does_not_need_anyway(code: str) -> None:
    """Each by its name."""
    mode = MODES[code].mode

    assert set(mode.asks_for) <= set(TASKS)
    assert not set(mode.asks_for) & set(mode.needs)


def compacted(tale: Tale) -> None:
    """Somebody else has written all rows into fewer files."""
    tale.commits(None, rows=30, operation="replace")
    counts = {"deleted-records": "30", "added-records": "30"}
    tale.snapshots[-1] = tale.snapshots[-1].model_copy(update={"summary": counts})


def test_what_gave_no_answer_is_not_asked_again_for_the_same() -> None:
    """It was run anew at every diagnosis, and failed again; now it is said why, and once the table has changed by
    another hand, or somebody asks, it is asked again."""
    world = Asked(Refused)

    first = {mode.code: found for mode, found in diagnosed(world).undecided}[HEALTHY]
    second = {mode.code: found for mode, found in diagnosed(world).undecided}[HEALTHY]
    asked = world.asked.count("replayed_rows")
    world.case = doubtful(compacted)
    world.looks()
    diagnosed(world)

    assert first == second
    assert asked == 1
    assert world.asked.count("replayed_rows") == 2


FOUND = find_tasks(spark_tasks)
SILENT = NotSeen(source="Flink", reason="Connection refused.", remedy="Wait.")


class Incident(OneIncident):
    """Whose first tasks are asked of a world that changes without a commit; what reads nothing answers in earnest."""

    def __init__(self, *first: str) -> None:
        super().__init__(Tale().flink_runs("a").commits("a", 1, 2, 3))
        world = self.tale.case().observation
        self.world: Observation = world.model_copy(
            update={"checkpoints": Seen[StoredCheckpoint](source="s3://lake/chk", values=(self.retained(3),))}
        )
        collector = Collector(FOUND, cast(Any, self), SystemClock())
        me = cast(Any, self)
        self.desk = EvidenceService(me, me, collector, lambda: True, first)

    def retained(self, checkpoint: int) -> StoredCheckpoint:
        """A checkpoint of run a that carries a commit."""
        return StoredCheckpoint(
            path=f"s3://lake/chk/{job_id('a')}/chk-{checkpoint}", kind=CheckpointKind.CHECKPOINT,
            checkpoint_id=CheckpointId(checkpoint), job_id=job_id("a"), written_at=self.tale.now,
            pending_manifests=(), digest="d" * 64,
        )  # fmt: skip

    def shows(self, **update: object) -> None:
        """The world from now on; `state` is that of its run."""
        if (state := update.pop("state", None)) is not None:
            jobs = cast(Seen[JobRun], self.tale.case().observation.jobs)
            update["jobs"] = Seen[JobRun](
                source=jobs.source, values=tuple(run.model_copy(update={"state": state}) for run in jobs.values)
            )
        self.world = self.world.model_copy(update=update)

    def asked(self) -> list[str]:
        """What a look before a diagnosis asks for."""
        before = len(self.runs)
        self.desk.look_first(WL_1)
        return [run.task for run in list(self.runs.values())[before:]]

    # ------------------------------------------------------------------ as the runner

    def run(self, task: Task, ask: Ask, **_: object) -> tuple[Answer, int]:
        return FOUND[task.name].answer(cast(Any, None), ask), 0

    # ------------------------------------------------------------------ as the observer

    def observe(self, *_: object, **__: object) -> Observation:
        return self.world


def lasting(incident: Incident) -> list[bool]:
    """Of each restore point, whether it stays by the newest evidence."""
    found = incident.get(WL_1).latest["checkpoint_pairing"].evidence.finding
    return [each.is_durable for each in found.pairings]


@pytest.mark.parametrize("before", [{"state": "RESTARTING"}, {"jobs": SILENT}], ids=["restarting", "not seen"])
def test_a_run_that_has_ended_since_is_looked_at_again(before: dict[str, object]) -> None:
    """It made no commit, and its restore points stay from now on; once asked, that holds."""
    incident = Incident("checkpoint_pairing", "table_health")
    incident.shows(**before)
    incident.asked()
    then = lasting(incident)

    incident.shows(state="FAILED")
    again = incident.asked()

    assert [False] == then
    assert ["checkpoint_pairing", "table_health"] == again
    assert [True] == lasting(incident)
    assert [] == incident.asked()


def test_so_is_a_restore_point_that_came_without_a_commit() -> None:
    """A savepoint of an idle job."""
    incident = Incident("checkpoint_pairing", "table_health")
    incident.asked()

    points = (incident.retained(3), incident.retained(4))
    incident.shows(checkpoints=Seen[StoredCheckpoint](source="s3://lake/chk", values=points))

    assert ["checkpoint_pairing"] == incident.asked()
    assert [] == incident.asked()


@pytest.mark.parametrize("unseen", ["jobs", "checkpoints"])
def test_what_cannot_be_seen_now_takes_no_answer_back(unseen: str) -> None:
    """An answer of a moment in which Flink or storage is silent would say less."""
    incident = Incident("checkpoint_pairing", "table_health")
    incident.asked()

    incident.shows(**{unseen: SILENT})

    assert [] == incident.asked()


MINUTE = timedelta(minutes=1)


def quiet() -> World:
    """Three commits, and a checkpoint without rows."""
    world = World()
    for rows in (2, 2, 2, 0):
        world.reads(rows)
    world.tale.now += MINUTE
    return world


def completes_in_vain(world: World) -> None:
    """Eight checkpoints with rows complete, a minute each, and none is committed."""
    for _ in range(8):
        world.tale.now += MINUTE
        world.reads(2, commits=False)


def loses_a_commit(world: World) -> None:
    """A commit comes, and main's pointer is set back to what it was before."""
    world.tale.now += 5 * MINUTE
    world.reads(2)
    world.erases(world.chain()[-1].snapshot_id)


def later(then: Callable[[World], object], *, dies: bool = False) -> tuple[World, Looked, Case]:
    """All was looked at; then this happens, and a minute passes."""
    world = quiet()
    looked = look(world)
    then(world)
    world.tale.now += MINUTE
    if dies:
        world.tale.becomes("a", "FAILED")
    return world, looked, case_of(world, looked)


@pytest.mark.parametrize("dies", [False, True])
@pytest.mark.parametrize(("then", "asked"), [(completes_in_vain, "leaked_manifests"), (loses_a_commit, "orphan_files")])
def test_what_completed_after_the_look_is_looked_for_once_more(
    then: Callable[[World], object], asked: str, dies: bool
) -> None:
    """Rows that never came were covered by a listing from before they were written."""
    world, _looked, case = later(then, dies=dies)
    mode = no_snapshot_advanced if dies else healthy

    old, new = mode.examine(case), mode.examine(case_of(world, look(world)))

    assert world.never_arrived(world.finished)
    assert isinstance(old, CannotTell)
    assert asked in old.asks or any(each.startswith(f"{asked}, once more") for each in old.missing)
    assert not isinstance(new, Matches)


@pytest.mark.parametrize(
    ("idle", "told"),
    [
        (1, "before checkpoint 6 of run aaaaaa could have its commit"),
        (2, "before checkpoints 6 and 7 of run aaaaaa could have their commit"),
    ],
)
def test_it_says_when_it_was_looked_at_and_what_came_later(idle: int, told: str) -> None:
    """In one clause: a sentence in brackets stood in the middle of it."""
    world = quiet()
    world.reads(2)
    looked = look(world)
    for _ in range(idle):
        world.tale.now += MINUTE
        world.reads(0)
    world.tale.now += MINUTE

    found = healthy.examine(case_of(world, looked))

    assert f"orphan_files, once more: it was looked at 12:02 UTC, {told}; none is there" in found.missing[0]


def test_a_look_that_has_just_ended_is_one_of_now() -> None:
    """With checkpoints every few seconds one completes while the folder is listed."""
    world = quiet()
    looked = look(world)
    world.reads(0)
    world.tale.now += timedelta(seconds=19)

    assert isinstance(healthy.examine(case_of(world, looked)), Matches)


class Desk(OneIncident):
    """An incident whose only first task is `leaked_manifests`, and the world that it looks at."""

    def __init__(self, tale: Tale) -> None:
        super().__init__(tale)
        self.desk = EvidenceService(
            cast(Any, self), cast(Any, self), cast(Any, self), lambda: True, ("leaked_manifests",)
        )

    # ------------------------------------------------------------------ as the observer

    def observe(self, *_: object, **__: object) -> object:
        return self.tale.case().observation

    # ------------------------------------------------------------------ as the collector

    def task(self, name: str) -> object:
        return TASKS[name]

    def collect(self, task: str, ask: Any, *, run: EvidenceId, **_: object) -> Evidence:
        table = ask.observation.table
        finding = leaks(*ask.observation.flink_manifests.values)
        return evidence(task, ask.window, table.read_at, id=run, head=table.head, finding=finding)


def test_a_first_look_is_taken_again_where_manifests_came_without_a_commit() -> None:
    """The table has not moved, so that its first look passed for one of now; once taken, it holds."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3)
    desk = Desk(tale)
    desk.desk.look_first(WL_1)
    desk.desk.look_first(WL_1)
    before = len(desk.runs)
    tale.now += 2 * MINUTE
    tale.completes("a", 4).leaves_manifest("a", 4)
    tale.now += MINUTE

    desk.desk.look_first(WL_1)
    after = len(desk.runs)
    desk.desk.look_first(WL_1)

    assert (1, 2, 2) == (before, after, len(desk.runs))


GONE = SnapshotId(999)


OF_ROWS = "missing_positions", None
AGAIN, BESIDE = (
    repeats(repeated(how, Tale().flink_runs("a").commits("a", 1, 2, 3)))
    for how in ("same-checkpoint", "same-source-range")
)
UNDER_OTHER_KEYS = NONE_AGAIN.model_copy(update={"replayed": 5})


@pytest.mark.parametrize(
    ("found", "oldest", "later", "verdict", "stays"),
    [
        pytest.param(OF_ROWS, GONE, None, Verdict.RULED_OUT, True, id="commits that it covered have expired since"),
        pytest.param(OF_ROWS, GONE, GONE, Verdict.RULED_OUT, False, id="a later answer covers them"),
        pytest.param(OF_ROWS, None, None, Verdict.RULED_OUT, False, id="what it covered is not told"),
        pytest.param(OF_ROWS, GONE, None, Verdict.INCONCLUSIVE, True, id="a later one is none"),
        pytest.param(("replayed_rows", UNDER_OTHER_KEYS), GONE, None, Verdict.RULED_OUT, True, id="under other keys"),
        pytest.param(("replayed_rows", NONE_AGAIN), GONE, None, Verdict.RULED_OUT, False, id="none came again"),
        pytest.param(("duplicate_commits", AGAIN), GONE, None, Verdict.RULED_OUT, True, id="a checkpoint twice"),
        pytest.param(("duplicate_commits", BESIDE), GONE, None, Verdict.RULED_OUT, False, id="ranges that overlap"),
        pytest.param(("duplicate_files", None), GONE, None, Verdict.RULED_OUT, True, id="files twice"),
        pytest.param(("unreadable_files", None), GONE, None, Verdict.RULED_OUT, True, id="lost files"),
    ],
)
def test_rows_that_were_found_wrong_stay_in_doubt(
    found: tuple[str, Any], oldest: SnapshotId | None, later: SnapshotId | None, verdict: Verdict, stays: bool
) -> None:
    """Until a look that covers as much answers; a narrower one, after an expiry, does not acquit them."""
    world, (task, finding) = Asked(), found
    window, table = world.case.window, world.case.observation.table
    for number, (begins, told) in enumerate(
        [
            (oldest, {"verdict": Verdict.CONFIRMED, "finding": finding}),
            (later or table.chain[-1].snapshot_id, {"verdict": verdict}),
        ]
    ):
        answer = evidence(task, window, table.read_at, head=table.head, oldest=begins, **told)
        world.runs.append(run_of(task, EvidenceId(f"again-{number}"), evidence=answer))

    case = Diagnostician(cast(Any, world), cast(Any, world), MODES).case(world.get(WL_1), world.case.observation)

    assert stays == (oldest in {each.oldest for each in case.accused})
    assert stays == any("commits that it covered have expired" in why for why in _left_of_healthy(case))


def test_what_is_accused_calls_no_snapshot_clean() -> None:
    """The newer look has not seen what was found."""
    world = quiet()
    case = case_of(world, look(world))
    head = case.observation.table.head
    assert head is not None
    earlier = evidence("missing_positions", case.window, NOON, verdict=Verdict.CONFIRMED)

    doubted = case.model_copy(update={"accused": (earlier,)})

    assert rows_up_to(case, head) is LastGoodRows.CLEAN
    assert rows_up_to(doubted, head) is LastGoodRows.NOT_LOOKED_AT


def _left_of_healthy(case: Case) -> tuple[str, ...]:
    told = MODES["healthy"].examine(case)
    return told.missing if isinstance(told, CannotTell) else ()
