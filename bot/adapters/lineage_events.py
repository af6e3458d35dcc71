"""OpenLineage events, as far as they tell of reads; pure.

What real ones look like is kept in `tests/data/lineage`: openlineage-spark 1.53.0 wrote them on Spark 4.1.4.

By which names engines call a table, and which reads may be of it under a name that nobody has told; pure.
"""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from pydantic import AwareDatetime, BaseModel, BeforeValidator, Field, JsonValue

from bot.domain.errors import CouldNotLook
from bot.domain.sentences import counted
from bot.domain.table import TableState

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
        """What else it is called, as by its catalog."""
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
    inputs: _Datasets = ()
    outputs: _Datasets = ()

    @property
    def application(self) -> str | None:
        """The run of which this one is a part: two statements of one Spark application share it."""
        parent = self.run.facets.parent if self.run and self.run.facets else None
        return parent.run.run_id if parent and parent.run else None

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
        """Every one that is known."""
        return (self.own, *(self.others or ()))

    def of(self, table: TableState) -> frozenset[str]:
        """The names of this table."""
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
        f"Who read {table.name} is not known: it may have been read under another name.",
        f"Expected the catalog's names in other engines; found that {unknown}.",
        "Name there what they call this catalog, or an empty list where that is another one.",
    )


def like(dataset: Dataset, table: TableState) -> str | None:
    """A name of the dataset that ends in the table's own; None also where it tells the place of its rows."""
    if dataset.is_place or dataset.namespace.lower().startswith(_OWN_ROWS):
        return None
    return next((each for each in sorted(dataset.names) if each.endswith(f".{table.name}")), None)
