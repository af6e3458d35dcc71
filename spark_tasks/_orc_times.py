"""ORC files whose times Spark's own reader cannot tell. What Iceberg reads itself is not concerned.

Spark 4.1 fails over every file with a column that Iceberg stores as `timestamp with local time zone`, whichever columns
are asked for, and takes the seconds of a time without a zone for microseconds.
"""

from collections.abc import Collection, Iterable

from bot.domain.looked import NotSeen
from bot.domain.table import TableState


def orc_times(table: TableState, formats: Iterable[str], names: Collection[str]) -> tuple[NotSeen, ...]:
    """Why these columns cannot be read from files of these formats (`orc`, `parquet`, …); empty: they can."""
    if "orc" not in formats:
        return ()
    ever = [each for columns in table.schemas.values() for each in columns] or list(table.columns)
    zoned = next((each.name for each in ever if "timestamptz" in each.type), None)
    asked = next((each.name for each in table.columns if each.name in names and "timestamp" in each.type), None)
    if (column := zoned or asked) is None:
        return ()
    return (
        NotSeen(
            source=f"ORC files of {table.name}",
            reason=f"Spark's own ORC reader cannot tell the times that Iceberg writes, and column {column} holds such.",
            remedy="Ask what Iceberg reads by itself: duplicate_rows, and missing_positions where the window only "
            "appends. For all else have the table write Parquet (write.format.default).",
        ),
    )
