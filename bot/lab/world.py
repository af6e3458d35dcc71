"""What someone who operates the job can do to it; the stories are written in these words.

It needs only `lab.json`, so a story can be told from another process than the one that holds the lab.
"""

import contextlib
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Self

from pydantic import BaseModel, ConfigDict
from pyiceberg.table import Table

from bot.lab.consumers import Read, Readers, latest_reads
from bot.lab.errors import LabError, until
from bot.lab.external_writers import ExternalWriter, Machines
from bot.lab.flink_rest import FlinkRest, SavepointFormat, SqlGateway
from bot.lab.home import Home, Storage
from bot.lab.orders import JOB_ID_PROPERTY, RECOVERY_PROPERTY, reading_otherwise, with_column, with_sink_options
from bot.lab.producer import Producing
from bot.lab.proof import Link, chain_of

if TYPE_CHECKING:
    from bot.lab.topic import Topic

Say = Callable[[str], None]
Fact = str | int


class Savepoint(BaseModel):
    """A savepoint that exists: where, and the checkpoint id that it carries."""

    model_config = ConfigDict(frozen=True)

    path: str
    """As Flink writes it, to be given back for a restore."""
    checkpoint_id: int


def checkpoint_id_in(storage: Storage, path: str) -> int:
    """The checkpoint id that a savepoint's `_metadata` carries (bytes 8 to 16, big-endian)."""
    files, inside = storage.opened(path)
    with files.open_input_stream(f"{inside}/_metadata") as content:
        return int.from_bytes(content.read(16)[8:16], "big")


class World:
    """A running lab, as seen by the people who operate its job."""

    def __init__(self, home: Home, say: Say) -> None:
        self._home = home
        self._say = say
        self.facts: dict[str, Fact] = {}
        """Ids of runs, checkpoints and commits of the story that was told, for who looks at the table afterwards."""
        self.state = home.state()
        self.flink = FlinkRest(self.state.flink_url)
        self.machines = Machines(home, self.flink)
        self.hands = ExternalWriter(home, self.state)
        self._gateway = SqlGateway(self.state.gateway_url)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.flink.close()
        self._gateway.close()

    @property
    def table(self) -> Table:
        with self.hands.table() as table:
            return table

    def topic(self, name: str | None = None) -> "Topic":
        """The topic that the job reads, or another one of its broker. Raises LabError in a lab without a broker."""
        if self.state.stack != "kafka":
            raise LabError(
                "This lab has no broker.",
                "Expected one that was started with --stack kafka.",
                "Start one: waterline lab up --stack kafka.",
            )
        from bot.lab.topic import Topic  # needs the extra `lab`

        return Topic(self.state.kafka_servers, name or self.state.topic)

    def produces(self, what: Producing) -> None:
        """Tells the producer of the topic; records that it wrote before stay."""
        what.begin(self._home)
        self.note(f"The producer writes: {what.model_dump_json(exclude_defaults=True)}")

    def partitions(self) -> set[int]:
        """The partitions of the topic of which the table has rows."""
        rows = self.table.scan(selected_fields=("source_partition",)).to_arrow()
        return set(rows["source_partition"].to_pylist())

    def note(self, text: str, **facts: Fact) -> None:
        """Says what was done, and keeps the facts."""
        self.facts |= facts
        self._say(text)

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

    def job_after(self, commits: int) -> str:
        """The one job that runs, once it has made so many commits and each consumer has read once."""
        job = self.running_job()
        self.await_commits(job, commits)
        self.await_first_reads()
        return job

    def stopped_after(self, commits: int, form: SavepointFormat = "CANONICAL") -> tuple[str, Savepoint]:
        """The job as of `job_after`, and the savepoint with which it was stopped then."""
        job = self.job_after(commits)
        return job, self.stop(job, form=form)

    def newest_checkpoint(self, job_id: str) -> int:
        """Of the job's commits; 0 where there is none."""
        return max((link.checkpoint_id or 0 for link in self.commits_of(job_id)), default=0)

    def start_job(
        self,
        from_path: str | None = None,
        job_id: str | None = None,
        sink_options: Mapping[str, str] | None = None,
        properties: Mapping[str, str] | None = None,
        columns: Mapping[str, Callable[[str], str]] | None = None,
        source_options: Mapping[str, str] | None = None,
        only: str | None = None,
    ) -> str:
        """Submits the job, from a savepoint or checkpoint if one is named; the answer is its id.

        `source_options`: other ones of the table that is read. `only`: a condition of the rows that it writes.
        `columns`: what becomes of the expressions of these columns, where another version of the job is deployed.
        """
        statements = reading_otherwise(self.state.start_statements, source_options or {})
        for name, rewritten in (columns or {}).items():
            statements[-1] = with_column(statements[-1], name, rewritten)
        if only is not None:
            statements[-1] += f"\nWHERE {only}"
        properties = {**self.state.session_properties, **(properties or {})}
        if sink_options is not None:
            statements[-1] = with_sink_options(statements[-1], sink_options)
        if from_path is not None:
            properties[RECOVERY_PROPERTY] = from_path
        if job_id is not None:
            properties[JOB_ID_PROPERTY] = job_id
        return self._gateway.submit(statements, properties)

    def savepoint(self, job_id: str, then_cancel: bool = False) -> Savepoint:
        """Takes an intermediate savepoint; the job goes on, or is cancelled without another commit."""
        return self._savepoint_at(self.flink.savepoint(job_id, self.state.savepoint_dir, then_cancel))

    def stop(self, job_id: str, drain: bool = False, form: SavepointFormat = "CANONICAL") -> Savepoint:
        """Stops the job with a savepoint, and does not drain it unless asked to."""
        return self._savepoint_at(self.flink.stop(job_id, self.state.savepoint_dir, drain, form))

    def _savepoint_at(self, path: str) -> Savepoint:
        return Savepoint(path=path, checkpoint_id=checkpoint_id_in(self.state, path))

    def stop_with_rows(self, job_id: str, drain: bool = False) -> tuple[str, Savepoint]:
        """Stops the job so that its last commit has rows of the savepoint; the answer names the run that was stopped.

        The source emits once a second, so a savepoint soon after a checkpoint has none; then the job goes on from it
        and is stopped again.
        """
        for _ in range(5):
            self.await_more_commits(job_id, 1)
            time.sleep(1)
            savepoint = self.stop(job_id, drain)
            last = self.commits_of(job_id)[-1]
            if (last.checkpoint_id or 0) >= savepoint.checkpoint_id and last.added_rows > 0:
                return job_id, savepoint
            job_id = self.start_job(from_path=savepoint.path)
        raise LabError(
            "No savepoint had rows of its own.",
            f"Expected it within five attempts; the last one was {savepoint.checkpoint_id}.",
            "Run the story again.",
        )

    def checkpoint_path(self, job_id: str, checkpoint_id: int) -> str:
        return f"{self.state.checkpoint_dir}/{job_id}/chk-{checkpoint_id}"

    def clear_checkpoints(self, job_id: str) -> None:
        """Deletes the retained checkpoints of this run; its savepoints stay.

        Flink deletes them too when a job has finished, in its own time; a new start under this job id that meets them
        is another story.
        """
        files, inside = self.state.opened(f"{self.state.checkpoint_dir}/{job_id}")
        with contextlib.suppress(FileNotFoundError):
            files.delete_dir(inside)

    def commits_of(self, job_id: str) -> list[Link]:
        """The job's commits among the ancestors of the head, oldest first."""
        return [link for link in chain_of(self.table) if link.job_id == job_id]

    def await_commits(self, job_id: str, count: int, after: int = 0, timeout_s: float = 120) -> list[Link]:
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

    def await_more_commits(self, job_id: str, count: int) -> list[Link]:
        """The job's commits above those that it has made by now, once there are `count`."""
        return self.await_commits(job_id, count, after=self.newest_checkpoint(job_id))

    def await_checkpoints(self, job_id: str, above: int, count: int) -> list[int]:
        """Ids of completed checkpoints above `above`, newest first, once there are `count`."""

        def enough() -> list[int] | None:
            completed = [each for each in self.flink.completed(job_id) if each > above]
            return completed if len(completed) >= count else None

        page = f"{self.state.flink_url}/#/job/{job_id}/checkpoints"
        return until(f"{count} checkpoints of job {job_id}", enough, 120, page)

    def await_failure(self, job_id: str, naming: str) -> None:
        """Waits until Flink's exception history of this job names `naming`."""
        page = f"{self.state.flink_url}/#/job/{job_id}/exceptions"
        until(f"a {naming}", lambda: any(naming in each for each in self.flink.failures(job_id)) or None, 120, page)

    def await_first_reads(self) -> None:
        """Waits until each consumer has read once, and notes which snapshot."""

        def everyone() -> dict[str, Read] | None:
            reads = self.reads()
            return reads if set(reads) >= set(self.state.consumers) else None

        reads = until("the consumers' reads", everyone, 240, str(self._home / "logs"))
        for read in reads.values():
            self._note_read(read)

    def reads(self) -> dict[str, Read]:
        """What each consumer read last, as its lineage events tell."""
        return latest_reads(self.state.lineage_path, [each.snapshot_id for each in self.table.snapshots()])

    def consume(self, *consumers: str) -> None:
        """Lets consumers of this lab read the table as it is now, and notes which snapshot each has read."""
        present = tuple(name for name in consumers if name in self.state.consumers)
        for read in Readers(self._home, present).wait() if present else ():
            self._note_read(read)

    def _note_read(self, read: Read) -> None:
        self.note(f"{read.consumer} read snapshot …{read.snapshot_id % 1_000_000:06d}")

    def _refuse_an_ended(self, job_id: str) -> None:
        state = self.flink.state_of(job_id)
        if state in {"FAILED", "CANCELED", "FINISHED"}:
            raise LabError(
                f"Job {job_id} has ended.",
                f"Expected it to go on writing; it is {state}.",
                f"Look at {self.state.flink_url}/#/job/{job_id}/exceptions.",
            )
