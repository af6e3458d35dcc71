"""How each engine reads one snapshot of a table, as text that can be copied. Pure."""

import re

from bot.domain.ids import SnapshotId
from bot.domain.table import TableState
from bot.domain.trust import Pin

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
