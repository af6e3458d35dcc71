"""What the table promises: the columns that let loss, duplicates and lateness be told exactly."""

import re
from collections.abc import Iterable, Mapping
from datetime import timedelta
from functools import lru_cache
from typing import Literal

from pydantic import Field

from bot.observation.record import Documented
from bot.observation.table import Snapshot

HIDDEN = "•••"
_OF_FIELD = r"(?:\.(?!\s)[^/=\n,;:'\"\\`()<>]+)?"
"""What names a field of a struct after the struct."""
_MADE_OF = r"(?:_(?:trunc|bucket|year|month|day|hour)(?:_\d+)?)?"
"""How engines name a partition field that is made of a column: `customer_trunc`, `customer_bucket_16`."""
_VALUE = r"[^/\s,;:'\"\\`()<>]+"
_PLAIN = re.compile(r"[A-Za-z0-9_]")
"""What no engine escapes in the name of a partition."""


class ContractColumn(Documented):
    name: str = Field(examples=["amount"])
    """The column's name."""
    type: str | None = Field(default=None, examples=["decimal(12, 2)"])
    """Iceberg type as text; any type by default."""
    required: bool = Field(default=False, examples=[True])
    """Whether it must never be null."""


class TableContract(Documented):
    """Keys and meaning of the columns that evidence relies on. A missing one makes its tasks inconclusive."""

    key: tuple[str, ...] = Field(default=(), examples=[["order_id"]])
    """Columns that together identify one business fact. Two live rows with the same key are duplicates."""
    position: str | None = Field(default=None, examples=["source_position"])
    """Column of the source position: an integer that grows by one with each record of a source partition."""
    position_partition: str | None = Field(default=None, examples=["source_partition"])
    """Column that holds the source partition, if the source has several. If the job reads several topics, it must hold
    the topic as well."""
    position_is_dense: bool | None = Field(default=None, examples=[False])
    """Whether each position has a record. Say no for a compacted topic, for one that a transactional producer fills,
    and for a job that filters: then a missing position alone is no missing row. Not set: Waterline looks whether the
    broker compacts the topic, and whether commits had such holes before."""
    event_time: str | None = Field(default=None, examples=["event_time"])
    """Column that holds the time of the event, for late rows and gaps."""
    redacted: tuple[str, ...] = Field(default=(), examples=[["customer"]])
    """Columns whose values Waterline never shows, with their fields and the partitions made from them. Also name a
    partition field that has its own name."""
    columns: tuple[ContractColumn, ...] = Field(
        default=(), examples=[[{"name": "amount", "type": "decimal(12, 2)", "required": True}]]
    )
    """Promised columns. Empty: the contract promises nothing about the schema."""
    freshness: timedelta | None = Field(default=None, examples=["PT15M"], gt=timedelta(0))
    """Largest promised age of the newest event, as an ISO 8601 duration or in seconds."""
    late_after: timedelta | None = Field(default=None, examples=["PT5M"], ge=timedelta(0))
    """An event is late if it is this much older than the newest one before it. Without it, any older event is late."""
    checkpoint_every: timedelta | None = Field(default=None, examples=["PT1M"], gt=timedelta(0))
    """Expected time between checkpoints; by default the job's own setting."""
    keep_snapshots: timedelta | None = Field(default=None, examples=["P5D"], gt=timedelta(0))
    """How long snapshots must stay readable for consumers and for recovery."""
    commit_every: timedelta | None = Field(default=None, examples=["PT1M"], gt=timedelta(0))
    """Expected time between commits, as an ISO 8601 duration or in seconds."""

    def hides(self, column: str | None) -> bool:
        """Whether this column's values are never shown, or those of a struct that it is a field of (`address.city`).
        Engines take names of any case for the same column."""
        if column is None or not self.redacted:
            return False
        hidden, parts = {each.casefold() for each in self.redacted}, column.casefold().split(".")
        return any(".".join(parts[:end]) in hidden for end in range(1, len(parts) + 1))

    def shown(self, column: str | None, value: object) -> str:
        """A value of this column as people may read it."""
        return HIDDEN if self.hides(column) else str(value)

    def veiled(self, text: str) -> str:
        """The same text, values of hidden columns in the partitions of its paths not shown."""
        return _partitions_by(self.redacted).sub(rf"\1={HIDDEN}", text) if self.redacted else text


@lru_cache(maxsize=256)
def _partitions_by(columns: tuple[str, ...]) -> re.Pattern[str]:
    """`customer=ACME` in a path, as Iceberg and Hive write partitions by these columns, or by what is made of them.
    Iceberg escapes names as in a form (`Kunde+Name`), Hive a few characters, older writers none."""
    names = "|".join("".join(_written(char) for char in column) for column in columns)
    return re.compile(rf"(?<![\w.%+-])((?:{names}){_OF_FIELD}{_MADE_OF})={_VALUE}", re.IGNORECASE)


def _written(char: str) -> str:
    """The ways in which one character of a name is written, as a pattern; of any case, as names are."""
    if _PLAIN.fullmatch(char):
        return char
    escaped = {"".join(f"%{byte:02X}" for byte in each.encode()) for each in (char, char.lower(), char.upper())}
    return f"(?:{'|'.join([re.escape(char), *sorted(escaped), *([re.escape('+')] if char == ' ' else [])])})"


class CopyRule(Documented):
    """Without a word of the owners all copies must be equal, and the oldest stays."""

    keep: Literal["oldest", "newest"] = Field(default="oldest", examples=["newest"])
    """Which copy of a key stays when duplicates are removed."""
    ignore: tuple[str, ...] = Field(default=(), examples=[["ingested_at"]])
    """Columns that each write sets, such as the ingestion time. Copies that differ only in these are the same row."""

    @property
    def but(self) -> str:
        """` but a and b`; empty where copies are equal in every column."""
        return f" but {' and '.join(self.ignore)}" if self.ignore else ""


_PROPERTY = "write.upsert.enabled"


def is_upsert(properties: Mapping[str, str]) -> bool:
    """Whether every row that Flink writes is to replace the one of its key."""
    return properties.get(_PROPERTY, "").lower() == "true"


def why_by_key(properties: Mapping[str, str], commits: Iterable[Snapshot]) -> str | None:
    """One sentence that shows it, from the table's properties or from the deletes of these commits, as far as they are
    Flink's; None: only appends."""
    if is_upsert(properties):
        return f"The table is written by key ({_PROPERTY} is true)."
    of_flink = [
        commit
        for commit in commits
        if commit.job_id or (commit.engine == "flink" and commit.counted("added-equality-deletes"))
    ]
    if deletes := sum(commit.counted("added-equality-deletes") for commit in of_flink):
        return f"The job writes by key: its commits in the window carry {deletes} equality deletes."
    if files := sum(commit.counted("added-delete-files") for commit in of_flink):
        return f"The job writes by key: its commits in the window carry {files} delete files."
    return None


def bare_deletes(properties: Mapping[str, str], commits: Iterable[Snapshot]) -> int | None:
    """Deletes of these commits that brought no row; None: nobody can tell how many. An upsert writes a delete of the
    key with every row, by which commits with as many deletes as rows hold no deletion of a key alone; elsewhere a
    delete may be one that takes a row away, or the first half of an update."""
    bare = 0
    for commit in commits:
        deletes = commit.counted("added-equality-deletes") + commit.counted("added-position-deletes")
        if not deletes and commit.counted("added-delete-files"):
            return None
        rows = commit.counted("added-records") if is_upsert(properties) else 0
        if deletes and deletes < rows:
            return None
        bare += max(0, deletes - rows)
    return bare
