"""What someone who operates the job can do to it; the stories are written in these words.

It needs only `lab.json`, so a story can be told from another process than the one that holds the lab.
"""

import contextlib
import os
import signal
import time
from collections.abc import Callable
from datetime import UTC, datetime
from types import TracebackType
from typing import Self

from pydantic import AwareDatetime, BaseModel, ConfigDict
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table import Table

from bot.lab.consumers import QUERIES, Readers
from bot.lab.errors import LabError
from bot.lab.flink_rest import FlinkRest, Savepoint
from bot.lab.home import Home
from bot.lab.lineage import latest_reads
from bot.lab.process import pid_in
from bot.lab.proof import Link, chain_of, open_catalog
from bot.lab.sql_gateway import SqlGateway
from bot.lab.waiting import until

Say = Callable[[str], None]
Fact = str | int


class Step(BaseModel):
    """One thing that was done."""

    model_config = ConfigDict(frozen=True)

    at: AwareDatetime
    text: str
    facts: dict[str, Fact]


class Told(BaseModel):
    """`story.json`: what a story did, with times and ids."""

    model_config = ConfigDict(frozen=True)

    story: str
    sink: str
    steps: tuple[Step, ...]
    facts: dict[str, Fact]
    """All facts of the steps together, by name."""


class World:
    """A running lab, as seen by the people who operate its job."""

    def __init__(self, home: Home, say: Say) -> None:
        self._home = home
        self._say = say
        self._steps: list[Step] = []
        self.state = home.state()
        self.flink = FlinkRest(self.state.flink_url)
        self._gateway = SqlGateway(self.state.gateway_url)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.flink.close()
        self._gateway.close()

    @property
    def table(self) -> Table:
        """The table as it is now."""
        state = self.state
        catalog = open_catalog(state.catalog_name, state.catalog_uri, state.warehouse)
        with contextlib.closing(catalog):
            return catalog.load_table(state.table)

    def note(self, text: str, **facts: Fact) -> None:
        """Says what was done and keeps it for `story.json`."""
        self._steps.append(Step(at=datetime.now(UTC), text=text, facts=facts))
        self._say(text)

    def told(self, story: str) -> Told:
        """Everything noted so far; also written to `story.json`."""
        facts = {name: value for step in self._steps for name, value in step.facts.items()}
        told = Told(story=story, sink=self.state.sink, steps=tuple(self._steps), facts=facts)
        self._home.write_story(told)
        return told

    def running_job(self) -> str:
        """The one job that runs. Raises LabError when there is none or more than one."""
        running = self.flink.running()
        if len(running) != 1:
            raise LabError(
                "The story needs exactly one running job.",
                f"Expected one; found {len(running)}: {', '.join(running) or 'none'}.",
                "Start a fresh lab (waterline lab up).",
            )
        return running[0]

    def start_job(self, from_path: str | None = None, job_id: str | None = None) -> str:
        """Submits the job, from a savepoint or checkpoint if one is named; the answer is its id."""
        properties = dict(self.state.session_properties)
        if from_path is not None:
            properties[self.state.recovery_property] = from_path
        if job_id is not None:
            properties[self.state.job_id_property] = job_id
        return self._gateway.submit(self.state.start_statements, properties)

    def savepoint(self, job_id: str) -> Savepoint:
        """Takes an intermediate savepoint; the job goes on."""
        return self.flink.savepoint(job_id, self.state.savepoint_dir)

    def stop(self, job_id: str) -> Savepoint:
        """Stops the job with a savepoint, without draining it."""
        return self.flink.stop(job_id, self.state.savepoint_dir)

    def commits_of(self, job_id: str) -> list[Link]:
        """The job's commits among the ancestors of the head, oldest first."""
        return [link for link in chain_of(self.table) if link.job_id == job_id]

    def await_commits(self, job_id: str, count: int, after: int = 0, timeout_s: float = 60) -> list[Link]:
        """The job's commits with a checkpoint id above `after`, once there are `count`.

        Raises: LabError when the job ends first, or when it takes longer than `timeout_s`.
        """

        def enough() -> list[Link] | None:
            commits = [link for link in self.commits_of(job_id) if (link.checkpoint_id or 0) > after]
            if len(commits) >= count:
                return commits
            self._refuse_an_ended(job_id)
            return None

        page = f"{self.state.flink_url}/#/job/{job_id}"
        return until(f"{count} commits of job {job_id}", enough, timeout_s, page)

    def await_checkpoints(self, job_id: str, above: int, count: int) -> list[int]:
        """Ids of completed checkpoints above `above`, newest first, once there are `count`."""

        def enough() -> list[int] | None:
            completed = [each for each in self.flink.completed(job_id) if each > above]
            return completed if len(completed) >= count else None

        page = f"{self.state.flink_url}/#/job/{job_id}/checkpoints"
        return until(f"{count} checkpoints of job {job_id}", enough, 60, page)

    def roll_back_to(self, snapshot_id: int) -> int:
        """Moves `main` back, as a hand with PyIceberg would; the answer is the head that was left behind.

        The running job may commit in between, so a refused move is tried again with the new head.
        """
        for _ in range(10):
            table = self.table
            left = table.metadata.current_snapshot_id
            try:
                table.manage_snapshots().rollback_to_snapshot(snapshot_id).commit()
            except CommitFailedException:
                time.sleep(0.1)
                continue
            if left is not None:
                return left
        raise LabError(
            "The table could not be rolled back.",
            f"Expected to move main to {snapshot_id}; the job committed each time before.",
            "Tell the story again.",
        )

    def await_first_reads(self) -> None:
        """Waits until each consumer has read once, and notes which snapshot."""

        def everyone() -> dict[str, int] | None:
            reads = latest_reads(self.state.lineage_path)
            return reads if set(reads) >= set(QUERIES) else None

        reads = until("the consumers' reads", everyone, 60, str(self._home / "logs"))
        for consumer, snapshot_id in reads.items():
            self._note_read(consumer, snapshot_id, "before")

    def consume(self, *consumers: str) -> None:
        """Lets consumers read the table as it is now, and notes which snapshot each has read."""
        for read in Readers(self._home, consumers).wait():
            self._note_read(read.consumer, read.snapshot_id, "after")

    def _note_read(self, consumer: str, snapshot_id: int, when: str) -> None:
        facts: dict[str, Fact] = {f"{consumer}_{when}": snapshot_id}
        self.note(f"{consumer} read snapshot …{snapshot_id % 1_000_000:06d}", **facts)

    def kill_taskmanager(self) -> int:
        """Kills the TaskManager with SIGKILL; the answer is the process id that is gone."""
        pid = until("the TaskManager", lambda: pid_in(self._home / "run" / "taskmanager.pid"), 20, "its log")
        os.kill(pid, signal.SIGKILL)
        return pid

    def await_new_taskmanager(self, old: int) -> int:
        """The process id of the TaskManager that took the place of `old`."""

        def another() -> int | None:
            pid = pid_in(self._home / "run" / "taskmanager.pid")
            return pid if pid != old else None

        return until("a new TaskManager", another, 30, str(self._home / "logs" / "taskmanager.log"))

    def _refuse_an_ended(self, job_id: str) -> None:
        state = self.flink.state_of(job_id)
        if state in {"FAILED", "CANCELED", "FINISHED"}:
            raise LabError(
                f"Job {job_id} has ended.",
                f"Expected it to go on writing; it is {state}.",
                f"Look at {self.state.flink_url}/#/job/{job_id}/exceptions.",
            )
