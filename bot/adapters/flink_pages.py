"""The pages of runs: the JobManager serves them for what it knows, the history server for what has ended."""

from typing import Protocol, TypeVar

from pydantic import BaseModel, ValidationError

from bot.adapters.flink_bodies import (
    CheckpointConfig,
    Checkpoints,
    Exceptions,
    JobConfig,
    JobDetail,
    Overview,
    VertexDetail,
)
from bot.adapters.flink_parsing import job_run
from bot.domain.errors import CouldNotLook, WaterlineError
from bot.domain.flink import JobRun
from bot.domain.ids import JobId

B = TypeVar("B", bound=BaseModel)


class Answers(Protocol):
    """Whoever answers for an address: Flink itself, or what was kept of it."""

    url: str
    what: str

    def get(self, path: str) -> bytes | None:
        """The body of a page; None when it is not known. Raises CouldNotLook."""

    def garbled(self, asked: str, error: ValidationError) -> WaterlineError:
        """What is raised for a body that is not Flink's."""


class RunPages:
    """Reads runs at one address. Cost: five calls a run, and one a vertex where it failed over."""

    def __init__(self, http: Answers, *, is_history: bool = False) -> None:
        self._http = http
        self._is_history = is_history

    def ids_of(self, job: str) -> tuple[JobId, ...]:
        """Every submission named `job`, newest first. Raises CouldNotLook."""
        overview = self._page(Overview, "/jobs/overview")
        if overview is None:
            raise CouldNotLook(
                f"{self._http.what} at {self._http.url} has no list of jobs.",
                "Expected GET /jobs/overview to answer; found HTTP 404.",
                "Check the address: it may be another service's"
                + (", or the history server has not yet fetched its first archive." if self._is_history else "."),
            )
        named = [line for line in overview.jobs if line.name == job]
        named.sort(key=lambda line: line.start_time, reverse=True)
        return tuple(JobId(line.jid) for line in named)

    def run(self, job_id: JobId) -> JobRun | None:
        """One submission; None if it is not known here. Raises CouldNotLook."""
        base = f"/jobs/{job_id}"
        detail = self._page(JobDetail, base)
        if detail is None:
            return None
        # A page may be missing (404) while a run is being set up, or when it takes no checkpoints.
        exceptions = self._page(Exceptions, f"{base}/exceptions") or Exceptions()
        return job_run(
            detail,
            self._page(Checkpoints, f"{base}/checkpoints") or Checkpoints(),
            self._page(CheckpointConfig, f"{base}/checkpoints/config"),
            exceptions,
            self._page(JobConfig, f"{base}/config") or JobConfig(),
            self._attempts(detail) if exceptions.history.entries else {},
            from_history=self._is_history,
        )

    def state_of(self, job_id: JobId) -> str | None:
        """Flink's word; None if the run is not known here. Raises CouldNotLook."""
        detail = self._page(JobDetail, f"/jobs/{job_id}")
        return None if detail is None else detail.state

    def _attempts(self, detail: JobDetail) -> dict[str, int]:
        """Vertex id -> highest attempt. Asked only after a failover: without one every attempt is 0."""
        pages = (self._page(VertexDetail, f"/jobs/{detail.jid}/vertices/{v.id}") for v in detail.vertices)
        return {page.id: page.attempt for page in pages if page is not None}

    def _page(self, kind: type[B], path: str) -> B | None:
        body = self._http.get(path)
        if body is None:
            return None
        try:
            return kind.model_validate_json(body)
        except ValidationError as error:
            raise self._http.garbled(f"GET {path}", error) from error
