"""Tasks are found by one scan; their answers become a record; the runner's limits."""

import sys
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from importlib import import_module, invalidate_caches
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any

import grpc
import pytest
from pyspark.sql.connect.shell.progress import StageInfo

import spark_tasks
from bot.adapters.spark import SparkEvidenceRunner, SparkRun
from bot.adapters.spark_server import SparkServer
from bot.evidence import Collector, TaskModule, find_tasks, tag_of
from bot.history.staleness import Fresh, Stale, known_runs_of, staleness
from bot.observation.errors import BadConfiguration, EvidenceCancelled, EvidenceFailed, FileNotOpened, Refused
from bot.observation.evidence import Answer, Ask, Evidence, Progress, Task, Verdict
from bot.observation.findings import GapsFinding
from bot.observation.flink import JobRun
from bot.observation.ids import EvidenceId, SnapshotId
from bot.observation.looked import Seen
from tests.evidence.histories import write
from tests.evidence.slow_tasks import COUNTED, PATIENCE_S, SLOW, ask, counting, deaf, failing, in_thread, with_task
from tests.evidence.test_ledger import run_of
from tests.tables import OrdersTable, job, rows, unseen

__all__ = ["ask", "with_task"]


NOON = datetime(2026, 11, 3, 12, tzinfo=UTC)
NOTHING = GapsFinding(lowest=None, highest=None, positions=0, missing=0, gaps=())
GOOD = """
from bot.observation.evidence import Answer, Ask, Task, Verdict
TASK = Task(name="late_rows", title="Late rows", question="Are rows late?", confirmed_means="some are",
            ruled_out_means="none is", needs=("table",), cost="nothing")
def answer(spark, ask):
    return Answer(verdict=Verdict.INCONCLUSIVE, headline="Not known.")
"""


class TickingClock:
    """One second later at each look."""

    def __init__(self) -> None:
        self._looks = 0

    def now(self) -> datetime:
        self._looks += 1
        return NOON + timedelta(seconds=self._looks)


class Parrot:
    """A runner without Spark: calls the task at once. Stands in where only the collector is looked at."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.tags: list[str] = []

    def run(self, _task: Task, _ask: Ask, *, tag: str, on_progress: Callable[[Progress], None]) -> tuple[Answer, int]:
        """The answer that it was taught."""
        self.tags.append(tag)
        on_progress(Progress(tasks_done=1, tasks_total=1, bytes_read=7))
        return self.answer, 7

    def cancel(self, tag: str) -> bool:
        """Whether it ever ran this."""
        return tag in self.tags

    def warm(self) -> None:
        """Nothing to start."""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., ModuleType]]:
    """`package(late_rows="source text")`: a package of such modules."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def make(**modules: str) -> ModuleType:
        folder = tmp_path / "some_tasks"
        folder.mkdir()
        (folder / "__init__.py").touch()
        for name, text in modules.items():
            (folder / f"{name}.py").write_text(text, encoding="utf-8")
        invalidate_caches()
        return import_module("some_tasks")

    yield make
    for name in [name for name in sys.modules if name.split(".")[0] == "some_tasks"]:
        del sys.modules[name]


def collector(answer: Answer) -> tuple[Collector, Parrot]:
    """All tasks of the project, answered by a parrot."""
    parrot = Parrot(answer)
    return Collector(find_tasks(spark_tasks), parrot, TickingClock()), parrot


def test_every_question_is_found_and_frozen() -> None:
    """One module, one task; the mapping cannot be changed."""
    (folder,) = spark_tasks.__path__
    modules = sorted(path.stem for path in Path(folder).glob("[!_]*.py"))

    found = find_tasks(spark_tasks)

    assert list(found) == modules
    assert isinstance(found, MappingProxyType)


@pytest.mark.parametrize("name", list(find_tasks(spark_tasks)))
def test_a_task_says_what_it_needs_and_costs(name: str) -> None:
    """Each declaration is complete enough to be shown to a responder."""
    task = find_tasks(spark_tasks)[name].task

    assert task.question.endswith("?")
    assert {"table", "jobs"} & set(task.needs)
    assert all((task.title, task.confirmed_means, task.cost))


def test_support_modules_are_no_tasks(package: Callable[..., ModuleType]) -> None:
    """A name that begins with `_` is passed over, whatever it holds."""
    assert list(find_tasks(package(late_rows=GOOD, _support="x = 1"))) == ["late_rows"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("x = 1", "is not an evidence task"),
        (GOOD.replace("def answer", "def reply"), "is not an evidence task"),
        (GOOD.replace('name="late_rows"', 'name="early_rows"'), "'early_rows'"),
        (GOOD.replace("late?", "late."), "asks no question"),
    ],
)
def test_a_malformed_task_stops_the_start_and_says_what_to_write(
    package: Callable[..., ModuleType], text: str, says: str
) -> None:
    """The message names the module, what was expected, and what to write."""
    with pytest.raises(BadConfiguration) as refused:
        find_tasks(package(late_rows=text))

    assert says in str(refused.value)
    assert "late_rows" in str(refused.value)
    assert refused.value.remedy


def test_evidence_is_pinned_to_what_was_asked(orders: OrdersTable) -> None:
    """Question, head, window, time and cost are kept beside the answer."""
    before = orders.commits("a", 1, range(10))
    head = orders.commits("a", 2, range(10, 20))
    ask = orders.ask(before)
    desk, _ = collector(Answer(verdict=Verdict.RULED_OUT, headline="None.", finding=NOTHING))
    heard: list[Progress] = []

    evidence = desk.collect("missing_positions", ask, run=EvidenceId("e-1"), on_progress=heard.append)

    assert (evidence.id, evidence.task, evidence.head, evidence.window.since) == (
        "e-1",
        "missing_positions",
        head,
        before,
    )
    assert (evidence.at, evidence.took_ms, evidence.bytes_read) == (NOON + timedelta(seconds=1), 1000, 7)
    assert evidence.metadata_location == ask.observation.table.metadata_location
    assert evidence.oldest == ask.observation.table.chain[-1].snapshot_id
    assert [progress.bytes_read for progress in heard] == [7]


def test_a_run_is_cancelled_by_its_own_tag(orders: OrdersTable) -> None:
    """The evidence id names the run on Spark; an unknown one cancels nothing."""
    before = orders.commits("a", 1, range(10))
    desk, parrot = collector(Answer(verdict=Verdict.INCONCLUSIVE, headline="Not known."))
    desk.collect("ledger", orders.ask(before), run=EvidenceId("e-1"))

    assert parrot.tags == [tag_of(EvidenceId("e-1"))]
    assert desk.cancel(EvidenceId("e-1"))
    assert not desk.cancel(EvidenceId("e-2"))


def test_an_unknown_task_is_refused_with_those_that_exist() -> None:
    """The message can be acted on."""
    desk, _ = collector(Answer(verdict=Verdict.INCONCLUSIVE, headline="Not known."))

    with pytest.raises(Refused, match="missing_positions"):
        desk.task("lost_rows")


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ({"verdict": Verdict.CONFIRMED, "headline": "Lost."}, "Expected a finding"),
        ({"verdict": Verdict.RULED_OUT, "headline": "Fine.", "finding": NOTHING}, "it could not look at jobs"),
        ({"verdict": Verdict.INCONCLUSIVE, "headline": "no sentence"}, "headline"),
        ({"verdict": Verdict.INCONCLUSIVE, "headline": "Hm.", "columns": ("a",), "rows": (("1", "2"),)}, "1 cells"),
        ({"verdict": Verdict.INCONCLUSIVE, "headline": "Hm.", "columns": ("a",), "rows": (("1",),) * 21}, "21 rows"),
    ],
)
def test_an_answer_that_breaks_its_promises_is_no_evidence(
    orders: OrdersTable, answer: dict[str, Any], says: str
) -> None:
    """Above all: no `ruled-out` from a task that could not look at what it needs."""
    ask = orders.ask(orders.commits("a", 1, range(10)), jobs=unseen("Flink"))
    desk, _ = collector(Answer.model_validate(answer))

    with pytest.raises(EvidenceFailed, match=says):
        desk.collect("ledger", ask, run=EvidenceId("e-1"))


def test_what_a_task_costs_is_told_in_a_breath_beside_its_button() -> None:
    """Whole clauses, never cut in a bracket; what costs more in some cases says so."""
    short = {name: module.task.cost_in_short for name, module in find_tasks(spark_tasks).items()}

    assert max(map(len, short.values())) <= 180
    assert all(told.count("(") == told.count(")") for told in short.values())
    assert short["orphan_files"].endswith("because storage cannot list by time, and in some cases more")
    assert short["ledger"] == "manifest lists and manifests of the window's commits"


def pinned(ask: Ask) -> Evidence:
    """Evidence of the table as it is in the ask."""
    return Evidence(
        verdict=Verdict.RULED_OUT,
        headline="Nothing is missing.",
        finding=GapsFinding(lowest=None, highest=None, positions=0, missing=0, gaps=()),
        id=EvidenceId("e-1"),
        task="missing_positions",
        task_version=1,
        question="Is anything missing?",
        metadata_location=ask.observation.table.metadata_location,
        head=ask.observation.table.head,
        window=ask.window,
        at=NOON,
        took_ms=1,
        bytes_read=0,
    )


def test_newer_commits_of_a_known_run_are_counted(orders: OrdersTable) -> None:
    """A streaming table does not stand still: the job's own commits leave the evidence fresh."""
    before, _ = write(orders, "a1[0:10] | a2[10:20]")
    evidence = pinned(orders.ask(before))
    orders.commits("a", 3, range(20, 30))
    orders.commits("a", 4, range(30, 40))

    assert staleness(evidence, orders.state(), {job("a")}) == Fresh(newer=2, runs=(job("a"),))


def test_a_commit_by_anyone_else_makes_it_stale(orders: OrdersTable) -> None:
    """Another engine's commit is named; so is an unknown run of Flink."""
    before = orders.commits("a", 1, range(10))
    evidence = pinned(orders.ask(before))
    orders.commits("b", 1, range(10, 20))
    by_run = staleness(evidence, orders.state(), {job("a")})
    orders.rolls_back_to(before)
    orders.appends(rows([99]))
    by_engine = staleness(evidence, orders.state(), {job("a"), job("b")})

    assert isinstance(by_run, Stale)
    assert "was committed since by job run bbbbbb" in by_run.reason
    assert isinstance(by_engine, Stale)
    assert "spark (no job id)" in by_engine.reason


def test_a_head_that_was_rolled_back_makes_it_stale(orders: OrdersTable) -> None:
    """The window itself has changed."""
    before, _ = write(orders, "a1[0:10] | a2[10:20]")
    evidence = pinned(orders.ask(before))
    orders.rolls_back_to(before)

    found = staleness(evidence, orders.state(), {job("a")})

    assert isinstance(found, Stale)
    assert "has been rolled back" in found.reason


def test_a_head_or_beginning_that_was_expired_makes_it_stale(orders: OrdersTable) -> None:
    """What is no longer listed cannot be read again."""
    before = orders.commits("a", 1, range(10))
    head = orders.commits("a", 2, range(10, 20))
    evidence = pinned(orders.ask(before))
    table = orders.state()
    without_head = table.model_copy(update={"snapshots": table.snapshots[:1], "head": before})
    without_beginning = table.model_copy(update={"snapshots": table.snapshots[1:], "head": head})

    reasons = [staleness(evidence, now, {job("a")}) for now in (without_head, without_beginning)]

    assert all(isinstance(reason, Stale) for reason in reasons)
    assert [("expired" in r.reason, "no longer an ancestor" in r.reason) for r in reasons if isinstance(r, Stale)] == [
        (True, False),
        (False, True),
    ]


def test_known_runs_are_those_of_the_job_and_those_of_the_window(orders: OrdersTable) -> None:
    """A run that Flink has forgotten is known by its commits; another job's run is not."""
    orders.commits("a", 1, range(10))
    other = run_of("c").model_copy(update={"name": "another job"})
    flink = Seen[JobRun](source="Flink", values=(run_of("b"), other))

    known = known_runs_of("orders", flink, orders.state().snapshots)

    assert known == {job("a"), job("b")}


def test_evidence_of_an_empty_table_is_fresh_while_it_is_empty(orders: OrdersTable) -> None:
    """The first commit ends it."""
    before = orders.commits("a", 1, range(10))
    evidence = pinned(orders.ask(before)).model_copy(update={"head": None})
    empty = orders.state().model_copy(update={"head": None})

    assert staleness(evidence, empty, ()) == Fresh(newer=0, runs=())
    assert isinstance(staleness(evidence, orders.state(), {job("a")}), Stale)
    assert orders.state().head == SnapshotId(before)


TASKS = find_tasks(spark_tasks)
_SECONDS_OF_ROWS = 5_000_000
"""Spark tells its progress five times a second: a query that is done sooner is never told of."""


def test_progress_is_told_and_a_broken_listener_does_no_harm(
    with_task: Callable[..., SparkEvidenceRunner], ask: Ask
) -> None:
    """A listener that raises must not end the query that it listens to."""
    heard: list[Progress] = []

    def listener(progress: Progress) -> None:
        heard.append(progress)
        raise ValueError("the card could not be drawn")

    answer, _ = with_task(counting(1000, parts=2000)).run(SLOW, ask, tag="progress", on_progress=listener)

    assert answer == COUNTED
    assert heard[-1].tasks_total >= 64


def test_tasks_and_bytes_are_summed_over_the_stages_of_all_queries() -> None:
    """A stage's later report replaces its earlier one; stages of another query are added."""
    heard: list[Progress] = []
    run = SparkRun("tag", heard.append)

    run.progressed([StageInfo(1, 4, 1, 100, done=False)], "first")
    run.progressed([StageInfo(1, 4, 4, 700, done=True)], "first")
    run.progressed([StageInfo(1, 2, 1, 50, done=False)], "second")

    assert heard[-1] == Progress(tasks_done=5, tasks_total=6, bytes_read=750)
    assert run.bytes_read == 750


def test_a_task_is_interrupted_until_it_ends_although_spark_does_not_answer_once() -> None:
    """A proxy that stumbles leaves the query running: neither its limit nor a cancellation may be lost by that."""
    run, asked = SparkRun("tag", lambda _progress: None), list[str]()

    class Session:
        def interruptTag(self, tag: str) -> None:
            asked.append(tag)
            if len(asked) == 1:
                raise grpc.RpcError("UNAVAILABLE")
            run.end()

    run.cancel()
    run.watch(Session(), 60, lambda _session: None)  # type: ignore[arg-type]

    assert asked == ["tag", "tag"]


def test_a_running_task_is_cancelled_by_its_tag_alone(with_task: Callable[..., SparkEvidenceRunner], ask: Ask) -> None:
    """The cancelled run raises EvidenceCancelled in its own thread; a run beside it is not touched."""
    runner = with_task(counting(20_000_000_000))
    began = threading.Event()
    one, raised = in_thread(lambda: runner.run(SLOW, ask, tag="one", on_progress=lambda _p: began.set()))
    assert began.wait(PATIENCE_S)

    assert runner.cancel("one")
    one.join(PATIENCE_S)

    assert [type(error) for error in raised] == [EvidenceCancelled]
    assert not runner.cancel("one")
    answer, _ = with_task(counting(1000)).run(SLOW, ask, tag="two", on_progress=deaf)
    assert answer == COUNTED


def test_two_tasks_run_beside_each_other_with_progress_of_their_own(server: SparkServer, ask: Ask) -> None:
    """One session serves two threads; the task of 4 parts never hears of the 64 of the other."""
    few = SLOW.model_copy(update={"name": "few"})
    modules = {
        "slow": TaskModule(task=SLOW, answer=counting(1000)),
        "few": TaskModule(task=few, answer=counting(_SECONDS_OF_ROWS, 4)),
    }
    runner = SparkEvidenceRunner(modules, server.url)
    totals: dict[str, int] = {}

    def work(task: Task) -> None:
        runner.run(task, ask, tag=task.name, on_progress=lambda p: totals.__setitem__(task.name, p.tasks_total))

    threads = [in_thread(partial(work, task))[0] for task in (SLOW, few)]
    for thread in threads:
        thread.join(PATIENCE_S)
    runner.close()

    assert totals["slow"] >= 64
    assert totals["few"] <= 10


def test_a_task_ends_at_its_time_limit(with_task: Callable[..., SparkEvidenceRunner], ask: Ask) -> None:
    """The limit is said, and what to do about it."""
    runner = with_task(counting(20_000_000_000), timedelta(seconds=1))

    with pytest.raises(EvidenceFailed, match="0:00:01"):
        runner.run(SLOW, ask, tag="slow", on_progress=deaf)


def test_a_query_that_spark_refuses_is_told_in_three_parts(
    with_task: Callable[..., SparkEvidenceRunner], ask: Ask
) -> None:
    """The first line of Spark's message is enough; the stack trace stays away."""
    with pytest.raises(EvidenceFailed) as failed:
        with_task(failing).run(SLOW, ask, tag="bad", on_progress=deaf)

    assert "no_such_column" in failed.value.found
    assert "JVM stacktrace" not in str(failed.value)
    assert failed.value.remedy


def test_a_file_that_the_table_names_and_storage_lacks_is_told_by_name(
    runner: SparkEvidenceRunner, orders: OrdersTable
) -> None:
    """The name is kept apart from the words, so that a diagnosis can rest on it."""
    orders.commits_files("a", 1, {"one.parquet": range(10)})
    before, _ = write(orders, "a2[10:20] | a3[5:15]")
    lost = orders.data_folder / "one.parquet"
    lost.unlink()

    with pytest.raises(FileNotOpened) as failed:
        runner.run(TASKS["duplicate_rows"].task, orders.ask(before), tag="lost", on_progress=deaf)

    assert failed.value.path.endswith(str(lost))
    assert str(lost) in failed.value.found
