"""Source partitions that wrote until the window began and have no row in it: idle, or lost as a whole."""

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known

from bot.domain.evidence import Ask
from bot.domain.ids import short
from bot.domain.looked import NotSeen
from spark_tasks._event_time import newest_with_rows
from spark_tasks._places import added_places
from spark_tasks._source_edges import MOST_PARTITIONS, Edges
from spark_tasks._source_state import source_state
from spark_tasks._unlisted import places_below
from spark_tasks._window import Reach, line_of
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


def silences(spark: SparkSession, ask: Ask, reach: Reach, edges: Edges) -> tuple[NotSeen, ...]:
    """What is said of those that may have lost rows, and of expired commits that could not be looked at. Reads. One of
    which the job's own state shows that nothing came after its last row is idle, and left out; without a named source
    partition there is none.

    Cost: two columns of the newest `BELOW` commits with rows below the window; of expired ones as `places_below`.
    """
    if ask.contract.position_partition is None:
        return ()
    wrote = {edge.partition for edge in edges.each}
    table = ask.observation.table
    below = newest_with_rows(table, reach.since, BELOW) if reach.since is not None else ()
    parts: list[DataFrame] = []
    unseen: list[NotSeen] = []
    if below and reach.since is not None:
        parts.append(added_places(spark, ask, below, below[0].parent_id, reach.since))
    oldest = line_of(table, reach.until)[-1]
    if len(below) < BELOW and oldest.has_commit_below:
        older = places_below(spark, ask, oldest, BELOW - len(below), wrote)
        if isinstance(older, NotSeen):
            unseen.append(older)
        else:
            parts.append(older)
    highest: dict[str | None, int] = {}
    for part in parts:
        highest |= {each: max(top, highest.get(each, top)) for each, top in _highest(part).items()}
    state = source_state(ask)
    found = (
        Silent(each, top, state.following(each) if state else None)
        for each, top in highest.items()
        if each not in wrote
    )
    silent = sorted((each for each in found if not _is_idle(each)), key=lambda each: each.partition or "")
    return (*((_silence(ask, reach, silent),) if silent else ()), *unseen)


def _highest(places: DataFrame) -> dict[str | None, int]:
    """Partition -> its highest position."""
    told = places.where("position IS NOT NULL").groupBy("partition").agg(F.max("position").alias("highest"))
    return {row["partition"]: int(row["highest"]) for row in told.limit(MOST_PARTITIONS).collect()}


def _silence(ask: Ask, reach: Reach, silent: Sequence[Silent]) -> NotSeen:
    """What is said of them; there is one at least."""
    named = ", ".join(_named(ask, each) for each in silent[:_NAMED])
    more = f" and {len(silent) - _NAMED} more" if len(silent) > _NAMED else ""
    several, has = ("s", "have") if len(silent) > 1 else ("", "has")
    return NotSeen(
        source=f"source partition{several} {named}{more} in the window",
        reason=f"Source partition{several} {named}{more} {has} no row {_begin(ask, reach)}, while others go "
        f"on{_read_past(ask, silent)}: idle, or its rows are lost.",
        remedy="Ask the source whether it has records there; if it has, they are missing.",
    )


def _begin(ask: Ask, reach: Reach) -> str:
    if reach.since is None:
        first = reach.main[0]
        moment = f"{first.committed_at:%Y-%m-%d %H:%M:%S} UTC"
        return f"from {short(first.snapshot_id)} ({moment}) on, the oldest commit that is listed"
    since = ask.observation.table.by_id[reach.since].committed_at
    return f"after {short(reach.since)} ({since:%Y-%m-%d %H:%M:%S} UTC), where the window begins"


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
