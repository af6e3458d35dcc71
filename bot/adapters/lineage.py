"""Who read which snapshot of a table, and who read what came of it, as OpenLineage events tell: those of a file (one
JSON a line), or those that a Marquez was sent.

What real ones look like is kept in `tests/data/lineage`: openlineage-spark 1.53.0 wrote them on Spark 4.1.4.
"""

import json
import re
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, TypeVar

import httpx
import structlog
from pydantic import AwareDatetime, BaseModel, BeforeValidator, Field, JsonValue, ValidationError

from bot.adapters.http import Busy, Logins, read_again
from bot.observation.errors import CouldNotLook, first_problem
from bot.observation.ids import SnapshotId
from bot.observation.looked import Part
from bot.observation.readers import FarRead, ReadRun
from bot.observation.sentences import counted
from bot.observation.table import TableState

_log = structlog.get_logger(__name__)
T = TypeVar("T")
_SCHEME = re.compile(r"^[a-z0-9+.-]+:/*")
_GLUE = "table/"
_METADATA = frozenset(
    {"entries", "files", "data_files", "delete_files", "history", "metadata_log_entries", "snapshots", "refs"}
    | {"manifests", "partitions", "position_deletes"}
    | {"all_data_files", "all_delete_files", "all_files", "all_manifests", "all_entries"}
)
"""What Iceberg answers beside a table: `sales.orders.files` reads no row of it, at the table's own location."""


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
    """The Java client writes the id as a floating-point number: `8.7203942824114033E18` for …411403535. Marquez makes
    that `8720394282411403300`."""

    snapshot_id: int | float = Field(alias="snapshotId")


class _InputFacets(BaseModel):
    scan: _ScanReport | None = Field(default=None, alias="icebergScanReport")


class Dataset(_Named):
    """A dataset that was read or written; `inputFacets` are of reads only."""

    facets: _DatasetFacets | None = None
    input_facets: _InputFacets | None = Field(default=None, alias="inputFacets")

    @property
    def symlinks(self) -> tuple[_Named, ...]:
        return self.facets.symlinks.identifiers if self.facets and self.facets.symlinks else ()

    @property
    def names(self) -> frozenset[str]:
        """Its own name and its symlinks', with dots also where Glue's have slashes."""
        names = (self.name, *(each.name for each in self.symlinks))
        return frozenset(n.removeprefix(_GLUE).replace("/", ".") if n.startswith(_GLUE) else n for n in names)

    @property
    def place(self) -> str:
        """Its location where that is its name, as in Spark's events of Iceberg tables."""
        return place_of(f"{self.namespace}/{self.name}")

    @property
    def is_place(self) -> bool:
        """Whether its own name is a location, and not one of a catalog."""
        return "/" in self.name and not self.name.startswith(_GLUE)

    @property
    def places(self) -> frozenset[str]:
        """By which it is known again: its location and every name; two that share one are the same dataset."""
        return frozenset({self.place, *(place_of(f"{each.namespace}/{each.name}") for each in self.symlinks)})

    @property
    def is_metadata(self) -> bool:
        """Whether what was read is one of Iceberg's metadata tables: Spark gives them the place of the table's rows."""
        last = {re.split("[./]", each.name)[-1] for each in self.symlinks}
        return bool(last & _METADATA) and self.place.rpartition("/")[2] not in last

    @property
    def scanned(self) -> int | float | None:
        """The id of the snapshot that was scanned, or a rounded one next to it; None: it does not say."""
        report = self.input_facets.scan if self.input_facets else None
        return report.snapshot_id if report else None

    @property
    def current(self) -> int | None:
        """The table's current snapshot when the event was made, which is not what a run with time travel read."""
        version = self.facets.version.version if self.facets and self.facets.version else ""
        return int(version) if version.isdecimal() else None


_Datasets = Annotated[tuple[Dataset, ...], BeforeValidator(lambda told: () if told is None else told)]


class _ParentRun(BaseModel):
    run_id: str = Field(alias="runId")


class _Parent(BaseModel):
    job: _Named
    run: _ParentRun | None = None


class _Engine(BaseModel):
    name: str | None = None


class _RunFacets(BaseModel):
    parent: _Parent | None = None
    processing_engine: _Engine | None = None


class _Run(BaseModel):
    run_id: str = Field(alias="runId")
    facets: _RunFacets | None = None


class LineageEvent(BaseModel):
    """A RunEvent; DatasetEvent and JobEvent have no `run` and tell of no read."""

    at: AwareDatetime = Field(alias="eventTime")
    run: _Run | None = None
    job: _Named | None = None
    inputs: _Datasets = ()
    outputs: _Datasets = ()

    @property
    def application(self) -> str | None:
        """The run of which this one is a part: two statements of one Spark application share it."""
        parent = self.run.facets.parent if self.run and self.run.facets else None
        return parent.run.run_id if parent and parent.run else None

    @property
    def engine(self) -> str:
        """Empty where it is not told."""
        told = self.run.facets.processing_engine if self.run and self.run.facets else None
        return (told.name if told else None) or ""

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
        told = json.loads(event, parse_int=float) if isinstance(event, bytes) else event
        return isinstance(told, dict) and datetime.fromisoformat(str(told["eventTime"])) < since
    except (ValueError, KeyError, TypeError, RecursionError):
        return False


def place_of(location: str) -> str:
    """A location without scheme: `s3a://b/t` and (`s3://b`, `t`) are one, `file:/t` and (`file`, `/t`) too."""
    bare = _SCHEME.sub("", location.removeprefix("file/"))
    return re.sub(r"/+", "/", bare).strip("/")


_OWN_ROWS = (
    "cassandra", "clickhouse", "crate", "db2", "elasticsearch", "kafka", "mariadb", "mongodb", "mssql", "mysql",
    "oracle", "postgres", "redshift", "spanner", "sqlite", "sqlserver", "teradata",
)  # fmt: skip
"""How namespaces of systems begin that keep rows of their own: their tables are none of a catalog's."""
_NAMED = 3
"""So many unknown names are told, each cut to so many characters."""
_LONGEST = 100


@dataclass(frozen=True)
class CatalogNames:
    """The name of the catalog here, and those that other engines give it; None: nobody has told whether there are
    any. A table is written with any of them before its name, or with none."""

    own: str
    others: Sequence[str] | None = None

    @property
    def all(self) -> tuple[str, ...]:
        return (self.own, *(self.others or ()))

    def of(self, table: TableState) -> frozenset[str]:
        return frozenset({table.name, *(f"{each}.{table.name}" for each in self.all)})

    def unknown(self, events: Iterable[LineageEvent], table: TableState, since: datetime) -> str | None:
        """Reads after `since` (exclusive) of a table of that name in another catalog, of whose place nothing is told,
        as half a sentence; None where there are none, or where all names are told."""
        if self.others is not None:
            return None
        runs: dict[str, set[str]] = {}
        known = self.of(table)
        for event in events:
            for dataset in event.inputs if event.run is not None and event.at > since else ():
                name = like(dataset, table) if not dataset.names & known else None
                if event.run is not None and name is not None:
                    runs.setdefault(name[:_LONGEST], set()).add(event.run.run_id)
        if not runs:
            return None
        named = ", ".join(sorted(runs)[:_NAMED]) + (f" and {len(runs) - _NAMED} more" if len(runs) > _NAMED else "")
        count = counted(len(set().union(*runs.values())), "run")
        return f"{count} read {named}, of a catalog that is not known (`lineage.catalog_names`)"


def refused(table: TableState, unknown: str) -> CouldNotLook:
    """Nothing was found beside these: that is not "nobody read it"."""
    return CouldNotLook(
        f"It is not known who read {table.name}: it may have been read under another name.",
        f"Expected the catalog's names in other engines; {unknown}.",
        "Name there what they call this catalog, or an empty list if that is another catalog.",
    )


def like(dataset: Dataset, table: TableState) -> str | None:
    """A name of the dataset that ends in the table's own; None also where it tells the place of its rows."""
    if dataset.is_place or dataset.namespace.lower().startswith(_OWN_ROWS):
        return None
    return next((each for each in sorted(dataset.names) if each.endswith(f".{table.name}")), None)


MAX_EVENTS = 100_000
"""All are held while they are looked at, and more would take minutes: the look is given up, and that is said."""


def too_many(source: str, since: datetime, found: str) -> CouldNotLook:
    return CouldNotLook(
        f"{source} holds too many lineage events to read.",
        f"Expected at most {MAX_EVENTS:,} since {since:%Y-%m-%d %H:%M} UTC; found {found}.",
        "Choose a window that begins later.",
    )


_EXACT_BELOW = 2**53
"""Greater integers may have been rounded on their way, and then end in noughts."""
_At = dict[SnapshotId | None, datetime]
"""Snapshot -> the last event that tells it; None where it is not told which."""


@dataclass
class _WholeRun:
    """What the events of one run tell of its reads of the table, and of all that it read and wrote."""

    run_id: str
    consumer: str
    application: str | None
    first_at: datetime
    last_at: datetime
    engine: str = ""
    inputs: dict[str, str] = field(default_factory=dict)
    """Place -> the dataset's name, as its event says it."""
    outputs: dict[str, str] = field(default_factory=dict)
    scanned: _At = field(default_factory=dict)
    current: _At = field(default_factory=dict)

    @property
    def wrote(self) -> set[tuple[str, str]]:
        """(Application, place) of what it wrote."""
        return {(self.application, place) for place in self.outputs} if self.application is not None else set()

    def is_around(self, inner: "_WholeRun") -> bool:
        return self.first_at <= inner.first_at and inner.last_at <= self.last_at

    @property
    def read(self) -> _At:
        """What was scanned. Where no event tells that, the table's current snapshot is what was read unless the run
        travelled in time, read a cache or was answered from metadata: so both, that one and "not told"."""
        if self.scanned:
            return self.scanned
        return {**self.current, None: max(self.current.values())} if self.current else {}


def _runs(events: Iterable[LineageEvent], table: TableState, names: Set[str], since: datetime) -> dict[str, _WholeRun]:
    """All runs by their ids, with their reads of the table after `since` (exclusive). `names`: what engines call the
    table."""
    listed = {float(each.snapshot_id): each.snapshot_id for each in table.snapshots}
    runs: dict[str, _WholeRun] = {}
    for event in sorted(events, key=lambda event: event.at):
        consumer = event.consumer
        if event.run is None or consumer is None:
            continue
        run_id = event.run.run_id
        run = runs.setdefault(run_id, _WholeRun(run_id, consumer, event.application, event.at, event.at))
        run.last_at, run.engine = event.at, event.engine or run.engine
        run.inputs |= {place: each.name for each in event.inputs if not each.is_metadata for place in each.places}
        run.outputs |= {place: each.name for each in event.outputs for place in each.places}
        for dataset in event.inputs if event.at > since else ():
            if not is_read_of(dataset, table, names):
                continue
            if dataset.scanned is not None:
                run.scanned[_exact(dataset, listed)] = event.at
            else:
                run.current[None if dataset.current is None else SnapshotId(dataset.current)] = event.at
    return runs


def _reads_of(runs: Mapping[str, _WholeRun]) -> tuple[ReadRun, ...]:
    """One a run and snapshot, at the time of the run's last event to tell it, oldest first.

    All event types count: a run that failed may have read, and published, before it did. What was scanned is told by
    the last event; START tells the table's current snapshot in its place.
    """
    # `CREATE TABLE … AS SELECT` has a run around the run that reads and writes, and only the inner one tells the scan.
    inner: dict[tuple[str, str], list[_WholeRun]] = {}
    for run in runs.values():
        for wrote in run.wrote if run.scanned else ():
            inner.setdefault(wrote, []).append(run)
    told = [
        ReadRun(consumer=run.consumer, run_id=run_id, at=at, snapshot_id=snapshot_id, engine=run.engine)
        for run_id, run in runs.items()
        if run.scanned or not any(run.is_around(each) for wrote in run.wrote for each in inner.get(wrote, ()))
        for snapshot_id, at in run.read.items()
    ]
    return tuple(sorted(told, key=lambda read: (read.at, read.run_id)))


def _exact(dataset: Dataset, listed: dict[float, SnapshotId]) -> SnapshotId | None:
    """The id that was scanned. A rounded one is that of the listed snapshot next to it, else the current one's where
    it is that; None where it is neither, as of a snapshot that has expired."""
    told, current = dataset.scanned, dataset.current
    if told is None or float(told) in listed:
        return None if told is None else listed[float(told)]
    if current is not None and float(current) == float(told):
        return SnapshotId(current)
    is_exact = isinstance(told, int) and (told < _EXACT_BELOW or told % 10 != 0)
    return SnapshotId(int(told)) if is_exact else None


def is_read_of(dataset: Dataset, table: TableState, names: Set[str]) -> bool:
    """Whether rows of the table are read: by name, its own or a symlink's, or by location (Spark's name of an Iceberg
    input)."""
    if dataset.names & names:
        return True
    return dataset.place == place_of(table.location) and not dataset.is_metadata


MOST_STEPS = 12
"""A longer way is not followed: lineage that runs in circles must end."""


def downstream_in(
    events: Iterable[LineageEvent], table: TableState, names: Set[str], since: datetime
) -> tuple[FarRead, ...]:
    """Each run that may have read what came of a read of the table after `since`, nearest first; the table's own
    readers are not among them.

    A run counts when its last event is not before the first event of the run that wrote its input: rather one too many
    than one too few. `names`: what engines call the table. *cost*: one pass over the events, and one over the runs that
    are reached.
    """
    runs = _runs(events, table, names, since)
    readers_of: dict[str, list[_WholeRun]] = {}
    for run in runs.values():
        for place in run.inputs:
            readers_of.setdefault(place, []).append(run)
    found: dict[tuple[str, str, int | None], FarRead] = {}
    for read in _reads_of(runs):
        for far in _from(runs[read.run_id], readers_of):
            run, path = far
            key = (run.run_id, read.run_id, read.snapshot_id)
            if key not in found:
                found[key] = FarRead(
                    consumer=run.consumer, run_id=run.run_id, at=run.last_at, origin=read.run_id,
                    snapshot_id=read.snapshot_id, path=path,
                )  # fmt: skip
    return tuple(sorted(found.values(), key=lambda far: (far.distance, far.at, far.run_id)))


def _from(origin: _WholeRun, readers_of: dict[str, list[_WholeRun]]) -> Iterable[tuple[_WholeRun, tuple[str, ...]]]:
    """Breadth first, so that each run comes by its shortest way."""
    waiting: deque[tuple[_WholeRun, tuple[str, ...]]] = deque([(origin, (origin.consumer,))])
    reached = {origin.run_id}
    while waiting:
        writer, path = waiting.popleft()
        if len(path) // 2 >= MOST_STEPS:
            continue
        for place, dataset in writer.outputs.items():
            for reader in readers_of.get(place, ()):
                if reader.run_id in reached or reader.last_at < writer.first_at:
                    continue
                reached.add(reader.run_id)
                yield reader, (*path, dataset)
                waiting.append((reader, (*path, dataset, reader.consumer)))


@dataclass(frozen=True)
class Unreadable:
    """Events of after the look's beginning that cannot be read."""

    what: str
    """`lineage events`."""
    found: str
    remedy: str
    said: str
    """Beside those that were read: a clause."""


class EventSource(ABC):
    """Who read a table, by one source of events. One that cannot be read does not hide the others, and is told beside
    them. Nothing found beside one, or beside a read under a name that may be the table's, is "could not look", never
    "nobody read it"."""

    def __init__(self, catalog: str, other_names: Sequence[str] | None) -> None:
        self._names = CatalogNames(catalog, other_names)

    @abstractmethod
    def events(self, since: datetime) -> tuple[list[LineageEvent], Unreadable | None]:
        """Those at or after `since`, and what could not be read. Raises CouldNotLook."""

    def reads(self, table: TableState, since: datetime) -> tuple[ReadRun, ...]:
        events, bad = self.events(since)
        told = _reads_of(_runs(events, table, self._names.of(table), since))
        if bad is not None:
            _log.warning("lineage events could not be read", found=bad.found)
            if not told:
                happened = f"It is not known who read {table.name}: {bad.what} could not be read."
                raise CouldNotLook(happened, bad.found, bad.remedy)
        unknown = self._names.unknown(events, table, since)
        if unknown is not None and not told:
            raise refused(table, unknown)
        return _beside(told, bad, unknown)

    def downstream(self, table: TableState, since: datetime) -> tuple[FarRead, ...]:
        events, bad = self.events(since)
        far = downstream_in(events, table, self._names.of(table), since)
        return _beside(far, bad, self._names.unknown(events, table, since))


def _beside(told: tuple[T, ...], bad: Unreadable | None, unknown: str | None) -> tuple[T, ...]:
    unread = [each for each in (bad and bad.said, unknown) if each]
    return Part.of(told, "; ".join(unread)) if unread else told


PAGE = 500
_PATH = "/api/v1/events/lineage"


class _Page(BaseModel):
    """`total` counts what the time holds, not this page."""

    events: tuple[JsonValue, ...]
    total: int | None = Field(default=None, alias="totalCount")


class _Timed(BaseModel):
    at: AwareDatetime = Field(alias="eventTime")


class Marquez(EventSource):
    """One Marquez. `GET /api/v1/events/lineage` is its only read that is bounded in time, and knows no filter by
    dataset. Cost: one call for every 500 events between `since` and the moment the table was read."""

    def __init__(
        self,
        url: str,
        catalog: str,
        other_names: Sequence[str] | None = None,
        *,
        limit_s: float = 20.0,
        page: int = PAGE,
        logins: Logins | None = None,
    ) -> None:
        """`other_names`: what else engines call the catalog; None: not told. `limit_s` is one page's time limit."""
        self.url = url.rstrip("/")
        super().__init__(catalog, other_names)
        self._page = page
        self._http = (logins or Logins()).client(self.url, timeout=httpx.Timeout(limit_s, connect=min(limit_s, 5.0)))

    def close(self) -> None:
        self._http.close()

    def events(self, since: datetime) -> tuple[list[LineageEvent], Unreadable | None]:
        events, bad = list[LineageEvent](), 0
        for body in self._events(since):
            try:
                events.append(LineageEvent.model_validate(body))
            except ValidationError:
                bad += not is_before(body, since)
        if not bad:
            return events, None
        what = f"events of Marquez at {self.url}"
        return events, Unreadable(
            what=what,
            found=f"Expected OpenLineage run events; {bad} of {len(events) + bad} are not.",
            remedy="Find out which producer sends them, then try again.",
            said=f"{counted(bad, 'event')} of Marquez at {self.url} could not be read",
        )

    def _events(self, since: datetime) -> Iterator[JsonValue]:
        """Every event at or after `since`, oldest first.

        Each page begins at the time where the one before ended, not behind so many events: Marquez has no order among
        events of one moment, and would leave out one of those that a page's end divides.
        """
        after, limit, count, total = since, self._page, 0, 0
        known: frozenset[str] = frozenset()
        while True:
            page = self._asked(after, limit)
            events = {json.dumps(event, sort_keys=True): event for event in page.events}
            new = [event for text, event in events.items() if text not in known]
            yield from new
            count, total = count + len(new), total or page.total or 0
            if len(page.events) < limit:
                return
            if count >= MAX_EVENTS:
                raise too_many(f"Marquez at {self.url}", since, f"{max(total, count):,} or more")
            last = max(self._time_of(event) for event in page.events)
            # The whole page is of one moment: a longer one leads past it.
            after, limit = (last, self._page) if last > after else (after, limit * 2)
            known = frozenset(text for text, event in events.items() if self._time_of(event) >= after)

    def _time_of(self, event: JsonValue) -> datetime:
        """To the microsecond below, as Marquez keeps it."""
        try:
            return _Timed.model_validate(event).at
        except ValidationError as error:
            raise self._strange("an event without its time") from error

    def _asked(self, after: datetime, limit: int) -> _Page:
        """The first events at or after this time, oldest first. The end is stated, because Marquez's own default lies
        in 2030."""
        asked: dict[str, str | int] = {
            "after": after.astimezone(UTC).isoformat().replace("+00:00", "Z"),
            "before": "2100-01-01T00:00:00Z",
            "limit": limit,
            "sortDirection": "asc",
        }
        try:
            answer = read_again(lambda: self._http.get(_PATH, params=asked), attempts=2)
        except (httpx.HTTPError, httpx.InvalidURL, Busy) as error:
            raise CouldNotLook(
                f"Marquez at {self.url} did not answer.",
                f"Expected its lineage events; found {type(error).__name__}: {error}.",
                "Check `lineage.marquez` in the configuration and that Marquez runs, then look again.",
            ) from error
        if not answer.is_success:
            raise self._strange(f"HTTP {answer.status_code}: {answer.text.strip()[:200]}")
        try:
            return _Page.model_validate_json(answer.content)
        except ValidationError as error:
            raise self._strange(f"at {first_problem(error)}") from error

    def _strange(self, found: str) -> CouldNotLook:
        return CouldNotLook(
            f"Marquez at {self.url} gave an answer that cannot be read.",
            f"Expected a page of lineage events from GET {_PATH}; found {found}.",
            "Check that the address is Marquez's API (without /api/v1) and not its web page.",
        )


class NoLineage:
    """Where no source is configured: nobody looked, which is not "nobody read it"."""

    def reads(self, table: TableState, since: datetime) -> tuple[ReadRun, ...]:  # noqa: ARG002 - the port's
        raise CouldNotLook(
            "It is not known who read the table.",
            "Expected OpenLineage events; no source is configured.",
            "Set `lineage.events` or `lineage.marquez` in the configuration file.",
        )

    def downstream(self, table: TableState, since: datetime) -> tuple[FarRead, ...]:
        self.reads(table, since)
        return ()


class OpenLineageFile(EventSource):
    """Reads each line of the file at each look. The last line may be half written: it is left out silently, as is one
    that tells a time before the look."""

    def __init__(self, path: Path, catalog: str, other_names: Sequence[str] | None = None) -> None:
        super().__init__(catalog, other_names)
        self._path = path

    def events(self, since: datetime) -> tuple[list[LineageEvent], Unreadable | None]:
        events, bad = list[LineageEvent](), list[int]()
        try:
            with self._path.open("rb") as file:
                for number, line in enumerate(file, start=1):
                    try:
                        event = LineageEvent.model_validate_json(line)
                    except ValidationError:
                        if line.strip() and line.endswith(b"\n") and not is_before(line, since):
                            bad.append(number)
                        continue
                    if event.at >= since:
                        events.append(event)
                    if len(events) > MAX_EVENTS:
                        raise too_many(f"The file {self._path}", since, "more")
        except OSError as error:
            raise CouldNotLook(
                "Lineage events could not be read.",
                f"Expected a readable file {self._path}; found {type(error).__name__}: {error.strerror}.",
                "Check `lineage.events` in the configuration, and that the file is readable here.",
            ) from error
        if not bad:
            return events, None
        return events, Unreadable(
            what="lineage events",
            found=f"Expected one OpenLineage event per line in {self._path}; {len(bad)} lines are not. The first is "
            f"line {bad[0]}.",
            remedy="Repair or remove these lines, then look again.",
            said=f"{counted(len(bad), 'line')} of {self._path.name} could not be read, the first is line {bad[0]}",
        )
