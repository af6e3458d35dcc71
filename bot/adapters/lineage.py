"""Who read which snapshot, from a file of OpenLineage events (one JSON a line)."""

import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import structlog
from pydantic import AwareDatetime, BaseModel, Field, ValidationError

from bot.domain.errors import CouldNotLook
from bot.domain.ids import SnapshotId
from bot.domain.reads import ReadRun
from bot.domain.table import TableState

_log = structlog.get_logger(__name__)
_SCHEME = re.compile(r"^[a-z0-9+.-]+:/*")


class _Named(BaseModel):
    namespace: str = ""
    name: str


class _Symlinks(BaseModel):
    identifiers: tuple[_Named, ...] = ()


class _Version(BaseModel):
    version: str = Field(alias="datasetVersion")


class _DatasetFacets(BaseModel):
    symlinks: _Symlinks | None = None
    version: _Version | None = None


class _ScanReport(BaseModel):
    snapshot_id: int = Field(alias="snapshotId")


class _InputFacets(BaseModel):
    scan: _ScanReport | None = Field(default=None, alias="icebergScanReport")


class _Input(_Named):
    facets: _DatasetFacets | None = None
    input_facets: _InputFacets | None = Field(default=None, alias="inputFacets")

    @property
    def snapshot_id(self) -> SnapshotId | None:
        """What was scanned; else the version that was current, where it is a snapshot id at all."""
        if self.input_facets is not None and self.input_facets.scan is not None:
            return SnapshotId(self.input_facets.scan.snapshot_id)
        version = self.facets.version.version if self.facets and self.facets.version else ""
        return SnapshotId(int(version)) if version.isdecimal() else None


class _Parent(BaseModel):
    job: _Named


class _RunFacets(BaseModel):
    parent: _Parent | None = None


class _Run(BaseModel):
    run_id: str = Field(alias="runId")
    facets: _RunFacets | None = None


class _Event(BaseModel):
    """A RunEvent; DatasetEvent and JobEvent have no `run` and tell of no read."""

    at: AwareDatetime = Field(alias="eventTime")
    run: _Run | None = None
    job: _Named | None = None
    inputs: tuple[_Input, ...] = ()


class OpenLineageFile:
    """Reads the whole file at each look. `path` None: no such file is configured.

    A line that cannot be read does not hide the others. But when nothing was found *and* lines could not be
    read, that is "could not look", never "nobody read it". The last line may be half written: it is left
    out silently.
    """

    def __init__(self, path: Path | None, catalog: str) -> None:
        """`catalog` is the catalog's name: engines write `lake.sales.orders` or `sales.orders`."""
        self._path = path
        self._catalog = catalog

    def reads(self, table: TableState, since: datetime) -> tuple[ReadRun, ...]:
        """See the port: one a run and snapshot, at the time of the run's last event. All event types count:
        a run that failed may have read, and published, before it did. Raises CouldNotLook."""
        if self._path is None:
            raise CouldNotLook(
                "Who read the table is not known.",
                "Expected a file of OpenLineage events; none is configured.",
                "Set `lineage.events` in the configuration file.",
            )
        events, bad = self._events(self._path)
        found: dict[tuple[str, SnapshotId | None], ReadRun] = {}
        for event in sorted(events, key=lambda event: event.at):
            for read in self._reads_in(event, table):
                if read.at > since:
                    found[read.run_id, read.snapshot_id] = read
        certain = {run_id for run_id, snapshot_id in found if snapshot_id is not None}
        told = [r for r in found.values() if r.snapshot_id is not None or r.run_id not in certain]
        if bad:
            _log.warning("lineage events could not be read", path=str(self._path), lines=bad[:20], count=len(bad))
            if not told:
                raise CouldNotLook(
                    f"Who read {table.name} is not known: lineage events could not be read.",
                    f"Expected one OpenLineage event a line in {self._path}; found {len(bad)} lines that are not, "
                    f"the first is line {bad[0]}.",
                    "Repair or remove these lines, then look again.",
                )
        return tuple(sorted(told, key=lambda read: (read.at, read.run_id)))

    def _events(self, path: Path) -> tuple[list[_Event], list[int]]:
        """The readable events, and the numbers of the lines that are none."""
        events: list[_Event] = []
        bad: list[int] = []
        try:
            with path.open("rb") as lines:
                for number, line in enumerate(lines, start=1):
                    if not line.strip():
                        continue
                    try:
                        events.append(_Event.model_validate_json(line))
                    except ValidationError:
                        if line.endswith(b"\n"):
                            bad.append(number)
        except OSError as error:
            raise CouldNotLook(
                "Lineage events could not be read.",
                f"Expected a readable file {path}; found {type(error).__name__}: {error.strerror}.",
                "Check `lineage.events` in the configuration, and that the file is readable here.",
            ) from error
        return events, bad

    def _reads_in(self, event: _Event, table: TableState) -> Iterator[ReadRun]:
        if event.run is None or event.job is None:
            return
        for dataset in event.inputs:
            if self._is(dataset, table):
                yield ReadRun(
                    consumer=_consumer(event.job.name, event.run),
                    run_id=event.run.run_id,
                    at=event.at,
                    snapshot_id=dataset.snapshot_id,
                )

    def _is(self, dataset: _Input, table: TableState) -> bool:
        """By storage location (Spark's name of an Iceberg input), or by name, its own or a symlink's."""
        symlinks = dataset.facets.symlinks if dataset.facets else None
        names = {dataset.name, *(each.name for each in (symlinks.identifiers if symlinks else ()))}
        if names & {table.name, f"{self._catalog}.{table.name}"}:
            return True
        return _place(f"{dataset.namespace}/{dataset.name}") == _place(table.location)


def _place(location: str) -> str:
    """A location without scheme: `s3a://b/t` and (`s3://b`, `t`) are one, `file:/t` and (`file`, `/t`) too."""
    bare = _SCHEME.sub("", location.removeprefix("file/"))
    return re.sub(r"/+", "/", bare).strip("/")


def _consumer(job: str, run: _Run) -> str:
    """Spark names a job after its application and the plan's node; the consumer is the application."""
    parent = run.facets.parent if run.facets else None
    return parent.job.name if parent is not None and job.startswith(f"{parent.job.name}.") else job
