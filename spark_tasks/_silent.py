"""Source partitions that wrote until the window began and have no row in it: idle, or lost as a whole."""

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known

from bot.domain.evidence import Ask
from bot.domain.ids import short
from bot.domain.looked import NotSeen
from spark_tasks._event_time import newest_with_rows
from spark_tasks._places import added_places
from spark_tasks._source_edges import MOST_PARTITIONS, Edges
from spark_tasks._source_state import source_state
from spark_tasks._window import Reach
from spark_tasks._words import shown

BELOW = 20
"""Commits with rows below the window that are looked at: a partition that was silent through all of them had stopped
long before, and a look through the whole table would cost what the table costs."""
_NAMED = 4


@dataclass(frozen=True)
class Silent:
    """A partition of which the window has no row."""

    partition: str | None
    highest: int
    """The highest position that the commits just below the window brought."""
    following: int | None
    """Where the job's state goes on in it, as of the window's end or later; None: not known."""


def silent_partitions(spark: SparkSession, ask: Ask, reach: Reach, edges: Edges) -> tuple[Silent, ...]:
    """Those that may have lost rows, by partition. Reads. One of which the job's own state shows that nothing came
    after its last row is idle, and left out; without a named source partition there is none.

    Cost: two columns of the newest `BELOW` commits with rows below the window.
    """
    if ask.contract.position_partition is None or reach.since is None:
        return ()
    below = newest_with_rows(ask.observation.table, reach.since, BELOW)
    if not below:
        return ()
    wrote = {edge.partition for edge in edges.each}
    told = (
        added_places(spark, ask, below, below[0].parent_id, reach.since)
        .where("position IS NOT NULL")
        .groupBy("partition")
        .agg(F.max("position").alias("highest"))
        .limit(MOST_PARTITIONS)
        .collect()
    )
    state = source_state(ask)
    found = (
        Silent(row["partition"], int(row["highest"]), state.following(row["partition"]) if state else None)
        for row in told
        if row["partition"] not in wrote
    )
    return tuple(sorted((each for each in found if not _is_idle(each)), key=lambda each: each.partition or ""))


def silence(ask: Ask, reach: Reach, silent: Sequence[Silent]) -> NotSeen:
    """What is said of them; there is one at least."""
    named = ", ".join(_named(ask, each) for each in silent[:_NAMED])
    more = f" and {len(silent) - _NAMED} more" if len(silent) > _NAMED else ""
    since = ask.observation.table.by_id[reach.since].committed_at if reach.since is not None else None
    begin = f" after {short(reach.since)} ({since:%Y-%m-%d %H:%M:%S} UTC), where the window begins" if since else ""
    has = "has" if len(silent) == 1 else "have"
    return NotSeen(
        source=f"source partition{'s' if len(silent) > 1 else ''} {named}{more} in the window",
        reason=f"Source partition{'s' if len(silent) > 1 else ''} {named}{more} {has} no row{begin}, while others go "
        f"on{_read_past(ask, silent)}: idle, or its rows are lost.",
        remedy="Ask the source whether it has records there; if it has, they are missing.",
    )


def _read_past(ask: Ask, silent: Sequence[Silent]) -> str:
    """What the job's state tells against it being idle, of the first that it tells of."""
    past = next((each for each in silent if each.following is not None and each.following > each.highest + 1), None)
    if past is None or past.following is None:
        return ""
    name = shown(ask.contract.position_partition or "", past.partition, ask.contract)
    records = past.following - past.highest - 1
    return f"; by its own state the job has read {records:,} offsets of partition {name} that made no row"


def _named(ask: Ask, each: Silent) -> str:
    column = ask.contract.position_partition or ""
    return f"{shown(column, each.partition, ask.contract)} (last {_place(ask, each)})"


def _place(ask: Ask, each: Silent) -> str:
    return shown(ask.contract.position or "", each.highest, ask.contract)


def _is_idle(each: Silent) -> bool:
    return each.following == each.highest + 1
