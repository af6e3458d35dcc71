"""By which names engines call a table, and which reads may be of it under a name that nobody has told; pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from bot.adapters.lineage_events import Dataset, LineageEvent
from bot.domain.errors import CouldNotLook
from bot.domain.sentences import counted
from bot.domain.table import TableState

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
