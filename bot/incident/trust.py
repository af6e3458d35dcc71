"""May this table be relied on? The answer that pages, programs, agents and pipelines are given.

How each engine reads one snapshot of a table, as text that can be copied. Pure.
"""

import re
from enum import StrEnum

from pydantic import Field

from bot.observation.ids import ExactId, IncidentId, SnapshotId, TableName
from bot.observation.record import Record, Utc
from bot.observation.table import TableState


class TrustState(StrEnum):
    """The three answers. A doubt beats everything; not knowing is never trust."""

    TRUSTED = "trusted"
    UNDER_REVIEW = "under-review"
    UNKNOWN = "unknown"


class Basis(StrEnum):
    """Why the snapshot counts as good."""

    VERIFIED = "verified"
    """A verification passed on it after an incident."""
    NEVER_QUESTIONED = "never-questioned"
    """No incident was ever opened on the table: nobody had a doubt, and nobody proved anything."""
    BEFORE_THE_FAULT = "before-the-fault"
    """The newest snapshot before what is suspected, was found in the incident or by the watch; not proven."""
    NONE = "none"
    """There is no such snapshot, or it could not be told."""


class Pin(Record):
    """How one engine reads exactly the trusted snapshot."""

    engine: str = Field(description="The engine, as people call it.")
    exact: str = Field(description="Reads this snapshot, today and later.")
    following: str | None = Field(
        description="Reads wherever the tag `waterline` stands; null where the engine cannot, or no tag stands there."
    )


class Trust(Record):
    table: TableName = Field(description="namespace.table, as configured.")
    state: TrustState = Field(description="Whether consumers may rely on the table as it is now.")
    snapshot: ExactId | None = Field(
        description="The newest snapshot that can be relied on; null where there is none or it is not known. As text, "
        "because 64 bits do not fit into every JSON number."
    )
    committed_at: Utc | None = Field(description="When that snapshot was committed; null where it is not listed.")
    basis: Basis = Field(description="Why that snapshot counts as good.")
    head: ExactId | None = Field(description="What a plain read would give now; null where it could not be looked at.")
    above: int | None = Field(ge=0, description="Commits of main above that snapshot; null where that is not known.")
    why: str = Field(description="The reason, a sentence or two.")
    advice: str = Field(description="What a consumer does now, a sentence.")
    since: Utc | None = Field(description="Since when it is so; null where nothing ever happened, or it is not known.")
    incident: IncidentId | None = Field(
        description="The incident behind it; null where there is none, or it is private."
    )
    doubts: tuple[str, ...] = Field(
        description="What could not be looked at; where the record and the table's own marks disagree; findings of the "
        "watch without an incident."
    )
    pins: tuple[Pin, ...] = Field(description="How to read that snapshot; empty where it cannot be read for certain.")
    checked_at: Utc = Field(description="When this was found out.")
    recoverable_until: Utc | None = Field(
        default=None,
        description="From then on something that a recovery needs may be gone, as the incident or the watch saw it "
        "last. Null where no such moment is known.",
    )
    recoverable_because: str | None = Field(default=None, description="What happens then, a clause.")

    @property
    def is_trusted(self) -> bool:
        return self.state is TrustState.TRUSTED


class Turn(Record):
    """One change in a table's trust, for its history."""

    at: Utc
    state: TrustState
    snapshot: ExactId | None
    incident: IncidentId | None
    """None where it is private."""
    sentence: str


TAG = "waterline"


_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def pins_for(table: TableState, snapshot: SnapshotId) -> tuple[Pin, ...]:
    """One pin an engine. What follows the waterline is given only where the tag stands on this very snapshot."""
    parts = table.name.split(".")
    backticks, quotes = _quoted(parts, "`"), _quoted(parts, '"')
    loaded = f"catalog.load_table({_python(table.name)})"
    scan = f"iceberg_scan('{_sql(table.metadata_location)}', snapshot_from_id = {snapshot})"
    pins = (
        _pin("Spark", backticks, f"VERSION AS OF {snapshot}", f"VERSION AS OF '{TAG}'"),
        _pin("Trino", quotes, f"FOR VERSION AS OF {snapshot}", f"FOR VERSION AS OF '{TAG}'"),
        _pin("Flink", backticks, _hint("snapshot-id", str(snapshot)), _hint("tag", TAG)),
        Pin(
            engine="PyIceberg",
            exact=f"{loaded}.scan(snapshot_id={snapshot}).to_arrow()",
            following=f"{loaded}.scan().use_ref({_python(TAG)}).to_arrow()",
        ),
        _pin("DuckDB", scan, "", None),
    )
    is_tagged = table.ref(TAG) == snapshot
    return pins if is_tagged else tuple(pin.model_copy(update={"following": None}) for pin in pins)


def _pin(engine: str, source: str, exact: str, following: str | None) -> Pin:
    """In SQL: the same query with either suffix."""
    query = f"SELECT * FROM {source}"  # noqa: S608 - text to be copied by people; nothing here runs it
    return Pin(
        engine=engine,
        exact=f"{query} {exact}".rstrip(),
        following=None if following is None else f"{query} {following}",
    )


def _hint(option: str, value: str) -> str:
    return f"/*+ OPTIONS('streaming'='false', '{option}'='{value}') */"


def _quoted(parts: list[str], mark: str) -> str:
    """A name as the engine takes it: parts that are not plain words are quoted, quotes in them doubled."""
    return ".".join(part if _PLAIN.fullmatch(part) else f"{mark}{part.replace(mark, mark * 2)}{mark}" for part in parts)


def _sql(text: str) -> str:
    return text.replace("'", "''")


def _python(text: str) -> str:
    """As a literal in double quotes."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
