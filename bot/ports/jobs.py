"""What the application asks of Flink: its cluster, its history server and its checkpoints."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from bot.observation.flink import JobRun, StoredCheckpoint
from bot.observation.ids import JobId
from bot.observation.kafka import KafkaPartition
from bot.observation.record import Record, Utc


class Stopped(Record):
    sentence: str
    savepoint: str | None
    """Where the savepoint is that the stop took; None where it took none, or Flink no longer tells."""


class NamedSavepoint(Record):
    """A savepoint that somebody knows of, wherever it lies; not opened."""

    path: str
    at: Utc


class FlinkJobs(Protocol):
    """One Flink cluster, for the job that one table is written by."""

    def runs(self, job: str) -> tuple[JobRun, ...]:
        """Every submission named `job` that Flink still remembers, newest first. Raises CouldNotLook."""

    def run(self, job_id: JobId) -> JobRun | None:
        """One submission; None if Flink does not know it. Raises CouldNotLook.

        Under an id that `start` was given, the run that came of it: where the cluster chooses ids itself, the run's own
        `job_id` is another.
        """

    def stop(self, job: str, job_id: JobId, *, needs_state: bool = False, keeps_checkpoints: bool = False) -> Stopped:
        """Stop it for good: stop-with-savepoint (never drained) where it still runs healthily, else cancel.

        `needs_state`: a run that runs healthily is never cancelled, and one that is being recovered only where Flink
        keeps its checkpoints then; else it goes on, and CommitRefused says why.
        `keeps_checkpoints`: by a cancel that keeps them, or not at all: Flink deletes them after a stop-with-savepoint.
        A run that is at its end already is left as it is. Safe to repeat. Raises CommitRefused and CouldNotLook (surely
        not stopped), OutcomeUnknown.
        """

    def still_asked_to_stop(self, job_id: JobId) -> str | None:
        """By what run `job_id`, which goes on, may yet come to be stopped without being asked again, a sentence; None
        where nothing is known of that. Raises CouldNotLook."""

    def stop_at_work(self, job_id: JobId) -> str | None:
        """What is known of a stop of run `job_id` that was asked for and has neither ended nor failed, a sentence; None
        where there is none. Asking again follows it. Raises CouldNotLook."""

    def obstacle(self, job: str) -> str | None:
        """What would keep a start from being accepted, as a clause; None where nothing is known of any. Asked before
        anything is stopped. Raises CouldNotLook, also where the way to start it cannot be reached."""

    def declaration(self, job: str) -> str | None:
        """A digest of what a start submits beside restore point and job id: another one, and something
        else would be started. None where no start is configured. Raises CouldNotLook."""

    def start(self, job: str, path: str, job_id: JobId) -> None:
        """Submit the job from restore point `path` under the id `job_id`, which Flink accepts only once.

        State of operators that the job no longer has is an error.
        Returns when Flink knows the run. Raises CommitRefused (Flink said no) and CouldNotLook (nobody answered), both
        surely not submitted, and OutcomeUnknown.
        """

    def still_asked_to_start(self, job_id: JobId) -> str | None:
        """By what a start under `job_id`, of which there is no run, may yet come to be without being asked for again, a
        sentence; None where nothing is known of that. Raises CouldNotLook."""


class PastRuns(Protocol):
    """Where runs are remembered that the cluster has forgotten: Flink's history server."""

    def past_runs(self, job: str, known: Collection[JobId]) -> tuple[JobRun, ...]:
        """The newest submissions named `job` that have ended and are not among `known`, newest first, each marked
        `from_history`. Raises CouldNotLook."""

    def past_run(self, job_id: JobId) -> JobRun | None:
        """One submission that has ended; None if it is not remembered (yet). Raises CouldNotLook."""


class CheckpointStore(Protocol):
    def stored(self, job: str, runs: Sequence[JobId]) -> tuple[StoredCheckpoint, ...]:
        """Every restore point under the job's folders, newest first; of retained checkpoints only those of
        `runs` (empty: all). An unreadable one is listed with its problem. Raises CouldNotLook."""

    def read(self, path: str) -> StoredCheckpoint:
        """One restore point. Raises NotThere if there is none, CouldNotLook if nobody can tell."""

    def may_hold(self, path: str) -> bool:
        """Whether this path lies on the storage of the job's folders: a path that Flink names may be read then."""

    def outlasts(self, path: str) -> bool:
        """Whether this restore point is still there some seconds after its owner may have ended: Flink tells that a run
        has ended before it deletes. Returns as soon as it is gone. Raises CouldNotLook."""


class KafkaBroker(Protocol):
    def partitions(self) -> tuple[KafkaPartition, ...]:
        """Every partition of the topics that the job reads, by topic and number. Raises CouldNotLook."""


@dataclass(frozen=True)
class JobPorts:
    """Where one job can be asked and driven, and where it keeps its state."""

    flink: FlinkJobs
    checkpoints: CheckpointStore
    history: PastRuns | None = None
    """None: no history server is configured, and none is missed."""
    kafka: KafkaBroker | None = None
    """None: no broker is configured for the job."""
    snapshots: Callable[[], tuple[NamedSavepoint, ...]] | None = None
    """Savepoints of the job that the Flink operator keeps resources of (FlinkStateSnapshot), in no order; None: no
    operator runs the job. Raises CouldNotLook."""
