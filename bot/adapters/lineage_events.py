"""What OpenLineage events say of reads: which run, when, and of which snapshot; pure."""

import json
import re
from collections.abc import Iterable, Iterator
from datetime import datetime

from pydantic import AwareDatetime, BaseModel, Field, JsonValue

from bot.domain.ids import SnapshotId
from bot.domain.reads import ReadRun
from bot.domain.table import TableState

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
    """A dataset that was read or written; `inputFacets` are of reads only."""

    facets: _DatasetFacets | None = None
    input_facets: _InputFacets | None = Field(default=None, alias="inputFacets")

    @property
    def places(self) -> frozenset[str]:
        """By which it is known again: its location and every name; two that share one are the same dataset."""
        symlinks = self.facets.symlinks.identifiers if self.facets and self.facets.symlinks else ()
        return frozenset(_place(f"{each.namespace}/{each.name}") for each in (self, *symlinks))

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


class LineageEvent(BaseModel):
    """A RunEvent; DatasetEvent and JobEvent have no `run` and tell of no read."""

    at: AwareDatetime = Field(alias="eventTime")
    run: _Run | None = None
    job: _Named | None = None
    inputs: tuple[_Input, ...] = ()
    outputs: tuple[_Input, ...] = ()

    @property
    def consumer(self) -> str | None:
        """Spark names a job after its application and the plan's node; the consumer is the application."""
        if self.run is None or self.job is None:
            return None
        parent = self.run.facets.parent if self.run.facets else None
        is_part = parent is not None and self.job.name.startswith(f"{parent.job.name}.")
        return parent.job.name if parent is not None and is_part else self.job.name


def is_before(event: bytes | JsonValue, since: datetime) -> bool:
    """Whether what cannot be read as an event tells at least that it was made before this moment."""
    try:
        told = json.loads(event) if isinstance(event, bytes) else event
        return isinstance(told, dict) and datetime.fromisoformat(str(told["eventTime"])) < since
    except (ValueError, KeyError, TypeError):
        return False


def reads_in(events: Iterable[LineageEvent], table: TableState, catalog: str, since: datetime) -> tuple[ReadRun, ...]:
    """One a run and snapshot, at the time of the run's last event after `since` (exclusive), oldest first.

    All event types count: a run that failed may have read, and published, before it did. A run that tells its
    snapshot in one event is not told a second time without it. `catalog` is the catalog's name: engines write
    `lake.sales.orders` or `sales.orders`.
    """
    found: dict[tuple[str, SnapshotId | None], ReadRun] = {}
    for event in sorted(events, key=lambda event: event.at):
        for read in _reads_of(event, table, catalog):
            if read.at > since:
                found[read.run_id, read.snapshot_id] = read
    certain = {run_id for run_id, snapshot_id in found if snapshot_id is not None}
    told = [read for read in found.values() if read.snapshot_id is not None or read.run_id not in certain]
    return tuple(sorted(told, key=lambda read: (read.at, read.run_id)))


def united(reads: Iterable[ReadRun]) -> tuple[ReadRun, ...]:
    """What several sources tell, oldest first: a run and snapshot counts once, at the later time."""
    found: dict[tuple[str, SnapshotId | None], ReadRun] = {}
    for read in reads:
        known = found.get((read.run_id, read.snapshot_id))
        found[read.run_id, read.snapshot_id] = read if known is None or read.at > known.at else known
    return tuple(sorted(found.values(), key=lambda read: (read.at, read.run_id)))


def _reads_of(event: LineageEvent, table: TableState, catalog: str) -> Iterator[ReadRun]:
    consumer = event.consumer
    if event.run is None or consumer is None:
        return
    for dataset in event.inputs:
        if _is(dataset, table, catalog):
            yield ReadRun(
                consumer=consumer,
                run_id=event.run.run_id,
                at=event.at,
                snapshot_id=dataset.snapshot_id,
            )


def _is(dataset: _Input, table: TableState, catalog: str) -> bool:
    """By storage location (Spark's name of an Iceberg input), or by name, its own or a symlink's."""
    symlinks = dataset.facets.symlinks if dataset.facets else None
    names = {dataset.name, *(each.name for each in (symlinks.identifiers if symlinks else ()))}
    if names & {table.name, f"{catalog}.{table.name}"}:
        return True
    return _place(f"{dataset.namespace}/{dataset.name}") == _place(table.location)


def _place(location: str) -> str:
    """A location without scheme: `s3a://b/t` and (`s3://b`, `t`) are one, `file:/t` and (`file`, `/t`) too."""
    bare = _SCHEME.sub("", location.removeprefix("file/"))
    return re.sub(r"/+", "/", bare).strip("/")
