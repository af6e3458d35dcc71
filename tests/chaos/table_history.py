"""How the table came to be, read from its metadata files alone: no word of the bot's is believed."""

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bot.observation.table import REPAIR
from tests.little_flink import open_catalog
from tests.tables import ORDERS


@dataclass(frozen=True)
class TableHistory:
    """Of one table, up to now."""

    heads: tuple[int, ...]
    """Every snapshot that main has been at, in order."""
    repairs: dict[int, str]
    """Snapshot -> the mark that a repair of ours has left in its summary, wherever it lies."""
    branches: tuple[frozenset[str], ...]
    """The branches beside main in each metadata file, oldest first."""
    positions: Counter[int]
    """Source position -> live rows that carry it."""
    commits: int

    @property
    def went_back(self) -> int:
        """How often main was moved to where it had been before."""
        return sum(snapshot in self.heads[:place] for place, snapshot in enumerate(self.heads))

    @property
    def published(self) -> int:
        """How often main was moved to a repair; that a rewind went back to one does not count."""
        return len(set(self.heads) & set(self.repairs))

    @property
    def made(self) -> Counter[str]:
        """Branch -> how often it was begun."""
        steps = zip((frozenset[str](), *self.branches), self.branches, strict=False)
        return Counter(branch for before, after in steps for branch in after - before)

    @property
    def left(self) -> frozenset[str]:
        """The branches that are there now."""
        return self.branches[-1]


def table_history(folder: Path) -> TableHistory:
    """Of the table that lies in this folder."""
    with closing(open_catalog(folder)) as catalog:
        table = catalog.load_table(ORDERS)
        rows = table.scan(selected_fields=("source_position",)).to_arrow()
    metadata = table.metadata
    marks = {s.snapshot_id: s.summary.additional_properties.get(REPAIR) for s in metadata.snapshots if s.summary}
    return TableHistory(
        heads=tuple(entry.snapshot_id for entry in metadata.snapshot_log),
        repairs={snapshot: mark for snapshot, mark in marks.items() if mark},
        branches=tuple(_branches(each) for each in reversed(list(_files(table.metadata_location)))),
        positions=Counter(rows["source_position"].to_pylist()),
        commits=len(metadata.snapshots),
    )


def _files(location: str) -> Iterator[dict[str, Any]]:
    """Metadata files that the catalog accepted, newest first: each names the one before it."""
    at: str | None = location
    while at is not None:
        content = json.loads(Path(at.removeprefix("file://")).read_text())
        yield content
        log = content.get("metadata-log") or [{}]
        at = log[-1].get("metadata-file")


def _branches(metadata: dict[str, Any]) -> frozenset[str]:
    refs: dict[str, dict[str, Any]] = metadata.get("refs") or {}
    return frozenset(name for name, ref in refs.items() if ref["type"] == "branch" and name != "main")
