"""A table without a commit, and what its job may be doing meanwhile."""

from collections.abc import Callable, Mapping
from typing import Any

import spark_tasks
from bot.evidence import find_tasks
from bot.history.case import Case
from bot.history.suspicion import propose_window
from bot.incident.setup import TableSetup
from bot.observation.contract import TableContract
from bot.observation.evidence import Answer, Ask, Evidence, Observation
from bot.observation.flink import StoredCheckpoint
from bot.observation.ids import EvidenceId
from bot.observation.looked import NotSeen, Seen
from bot.observation.table import EMPTY, UnnamedCommit
from bot.service.diagnosing import build_case
from tests.cases import JOB, Tale
from tests.found import leaks

CONTRACT = TableContract(key=("id",), position="pos", event_time="at")
TASKS = find_tasks(spark_tasks)


def _waits() -> Tale:
    tale = Tale().flink_runs("a")
    for checkpoint in range(1, 31):
        tale.completes("a", checkpoint).leaves_manifest("a", checkpoint)
    return tale


def _brings_no_rows() -> Tale:
    tale = Tale().flink_runs("a")
    for checkpoint in range(1, 6):
        tale.completes("a", checkpoint)
    return tale


def _has_failed() -> Tale:
    tale = _waits()
    return tale.shows("a", state="FAILED", ended_at=tale.now)


TALES: Mapping[str, Callable[[], Tale]] = {
    "commits wait": _waits,
    "no rows come": _brings_no_rows,
    "no checkpoint yet": lambda: Tale().flink_runs("a"),
    "the run failed": _has_failed,
    "no run": Tale,
}


def ask_of(tale: Tale, **seen: Any) -> Ask:
    """As the examiner asks; `seen` replaces parts of the look."""
    none = NotSeen(source="the lineage events", reason="None is configured.", remedy="Configure it.")
    world = Observation(
        table=tale.table,
        jobs=tale.jobs,
        checkpoints=Seen[StoredCheckpoint](source="the folder of checkpoints", values=()),
        reads=none,
        flink_manifests=tale.flink_manifests,
        unnamed_commits=Seen[UnnamedCommit](source="the metadata folder", values=()),
    ).model_copy(update=seen)
    window = propose_window(world.table, world.jobs).window
    return Ask(observation=world, window=window, contract=CONTRACT, trusted=None)


def answer_of(task: str, ask: Ask) -> Answer:
    """Without Spark: there is nothing that it could read."""
    return TASKS[task].answer(None, ask)


def case_of(ask: Ask) -> Case:
    """With every task's answer; what was leaked is told by the listing, for no such file can be opened."""
    table = ask.observation.table
    evidence = tuple(
        Evidence(
            **dict(answer_of(name, ask)),
            id=EvidenceId(name),
            task=name,
            task_version=module.task.version,
            question=module.task.question,
            metadata_location=table.metadata_location,
            head=None,
            window=EMPTY,
            at=table.read_at,
            took_ms=0,
            bytes_read=0,
        )
        for name, module in TASKS.items()
        if name != "leaked_manifests"
    )
    setup = TableSetup(name=table.name, job=JOB, contract=CONTRACT, consumers=(), policies={}, next_update_minutes=30)
    case = build_case(setup, ask.observation, ask.window, evidence)
    return case.model_copy(update={"leaked": leaks(*ask.observation.flink_manifests.values)})
