"""Did the window bring records of the source that had been brought already, by an earlier commit or by the same one?"""

from collections.abc import Sequence

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known

from bot.domain.evidence import Answer, Ask, Measure, Task, Verdict
from bot.domain.findings import DuplicatePair, ReplayedRowsFinding
from bot.domain.ids import SnapshotId, short
from bot.domain.looked import NotSeen
from spark_tasks._columns_of_before import added_since, renamed
from spark_tasks._data_files import data_added, files_of
from spark_tasks._null_positions import without_position
from spark_tasks._overwriting import brings_new_rows, mixes
from spark_tasks._repeats import (
    brought_rows,
    commits_of_first,
    has_identity,
    identity_of,
    ids_of,
    older_rows,
    replays_of,
    twice_within,
)
from spark_tasks._replayed_words import came_again, came_once, other_records, without_identity
from spark_tasks._told_apart import key_columns
from spark_tasks._window import Reach, begin_expired, begin_of, is_cut, no_commits, reach_of
from spark_tasks._words import MAX_ROWS, absent_columns, could_not

TASK = Task(
    name="replayed_rows",
    title="Replayed rows",
    question="Did the window bring source records again that the table already had, live or not?",
    confirmed_means="records of the source arrived twice",
    ruled_out_means="no record of the source arrived twice",
    needs=("table", "contract.position"),
    version=4,
    cost="all columns of the files that the window's commits added, and of older rows in their range",
)
MAX_PAIRS = 500


def answer(spark: SparkSession, ask: Ask) -> Answer:
    """Rows are compared as they were written: a copy that was deleted, merged away or rolled back since counts.

    A record is known by its source position; by key and time of the event where the contract names no position. Rows
    at one position that differ in both may be of two partitions or topics: they are not counted, and it is said so.
    What was deleted before the window began is not seen. Within one commit a row counts that is there once more, equal
    in every column, where the contract names a key: several that differ may be made of one record.
    """
    identity = identity_of(ask)
    if (unfit := _unfit(ask, identity)) is not None:
        return unfit
    reach = reach_of(ask)
    if isinstance(reach, NotSeen):
        return could_not(f"{no_commits(ask)}, so its rows cannot be read.", reach)
    commits = [commit for commit in (*reach.main, *reach.rolled_back) if brings_new_rows(commit)]
    files = data_added(files_of(spark, commits))
    added = added_since(ask.observation.table, begin_of(reach), identity)
    unseen = (*mixes(reach.main), *((begin_expired(ask, reach),) if is_cut(ask, reach) else ()), *added)
    if not files:
        return _told(ask, _nothing(0), (), unseen, "No commit of the window brought rows, so none came again.")
    rows = brought_rows(spark, ask, reach, files, identity).persist()
    try:
        named = has_identity(identity)
        total = rows.where("on_main").agg(F.count_if(named).alias("named"), F.count_if(~named).alias("bare")).first()
        assert total is not None
        checked, bare = int(total["named"]), int(total["bare"])
        if checked == 0 and any(brings_new_rows(commit) for commit in reach.main):
            return without_identity(ask, identity)
        if bare:
            unseen = (without_position(ask, identity[-1], bare, checked + bare, "these came again"), *unseen)
        told = rows.where(named)
        whole = told if reach.since is None else told.unionByName(older_rows(spark, ask, reach, told, identity))
        again = replays_of(whole, identity).persist()
        try:
            within = twice_within(told, identity) if key_columns(ask) else None
            return _counted(spark, ask, reach, again, within, checked, unseen)
        finally:
            again.unpersist()
    finally:
        rows.unpersist()


def pairs_of(again: DataFrame, writers: DataFrame) -> DataFrame:
    """Shape: first, second (snapshot ids), rows, changed; one row per pair of commits, most rows first. `writers` has
    one row per file. A first copy whose commit is no longer known counts as 0."""
    named = again.select(
        "snapshot_id", "digest", F.col("first.snapshot_id").alias("known"), F.col("first.file_path").alias("file_path"),
        F.col("first.digest").alias("first_digest"),
    ).join(F.broadcast(writers), on="file_path", how="left")  # fmt: skip
    first = F.coalesce("known", "writer", F.lit(0)).alias("first")
    grouped = named.groupBy(first, F.col("snapshot_id").alias("second")).agg(
        F.count("*").alias("rows"), F.count_if(F.col("digest") != F.col("first_digest")).alias("changed")
    )
    return grouped.orderBy(F.desc("rows"), "first", "second")


def _counted(
    spark: SparkSession,
    ask: Ask,
    reach: Reach,
    again: DataFrame,
    within: DataFrame | None,
    checked: int,
    unseen: tuple[NotSeen, ...],
) -> Answer:
    """`within`: as of `twice_within`; None where rows of one commit are not told apart."""
    is_placed = ask.contract.position is not None
    place = F.col(ids_of(identity_of(ask))[-1]) if is_placed else F.lit(None)
    if others := again.where("is_other").count():
        unseen = (other_records(ask, others), *unseen)
        again = again.where("NOT is_other")
    total = again.agg(
        F.count("*").alias("replayed"),
        F.count_if(F.col("digest") != F.col("first.digest")).alias("changed"),
        F.min(place).cast("bigint").alias("first"),
        F.max(place).cast("bigint").alias("last"),
    ).first()
    assert total is not None
    twice, most = _of_own(within)
    if total["replayed"] == 0:
        finding = _nothing(checked).model_copy(update={"within_commit": twice})
        return _told(
            ask,
            finding,
            most,
            unseen,
            came_once(finding, most[0]["first"] if most else None, is_told=within is not None),
        )
    begin = ask.observation.table.by_id[reach.since] if reach.since is not None else None
    writers = spark.createDataFrame([], "file_path string, writer bigint")
    if begin is not None:
        writers = commits_of_first(spark, begin, again)
    pairs = pairs_of(again, writers).limit(MAX_PAIRS).collect()
    finding = ReplayedRowsFinding(
        rows_checked=checked,
        replayed=int(total["replayed"]),
        changed=int(total["changed"]),
        first=total["first"],
        last=total["last"],
        pairs=tuple(
            DuplicatePair(first=SnapshotId(p["first"]), second=SnapshotId(p["second"]), keys=p["rows"]) for p in pairs
        ),
        within_commit=twice,
    )
    return _told(ask, finding, (*pairs, *most), unseen, came_again(ask, finding))


def _of_own(within: DataFrame | None) -> tuple[int, list[Row]]:
    """Rows that stand once more in their own commit, and the commits with most, as pairs of a commit with itself."""
    if within is None:
        return 0, []
    same = F.col("snapshot_id")
    pairs = within.select(same.alias("first"), same.alias("second"), "rows", F.lit(0).alias("changed")).persist()
    try:
        total = pairs.agg(F.sum("rows").alias("rows")).first()
        most = pairs.orderBy(F.desc("rows"), "first").limit(MAX_ROWS).collect()
    finally:
        pairs.unpersist()
    return int(total["rows"] or 0) if total is not None else 0, most


def _told(
    ask: Ask, finding: ReplayedRowsFinding, pairs: Sequence[Row], unseen: tuple[NotSeen, ...], headline: str
) -> Answer:
    is_again = finding.replayed or finding.within_commit
    verdict = Verdict.CONFIRMED if is_again else Verdict.INCONCLUSIVE if unseen else Verdict.RULED_OUT
    if verdict is Verdict.CONFIRMED:
        headline = " ".join((headline, *(each.reason for each in unseen[:2])))
    if verdict is Verdict.INCONCLUSIVE:
        headline = f"No row came again as far as can be seen; {unseen[0].reason}"
    lost = {s.snapshot_id for s in ask.observation.table.rolled_back}
    return Answer(
        verdict=verdict,
        headline=headline,
        measures=(
            Measure(name="replayed rows", value=finding.replayed, unit="rows"),
            Measure(name="replayed with other values", value=finding.changed, unit="rows"),
            Measure(name="equal rows within one commit", value=finding.within_commit, unit="rows"),
            Measure(name="rows of the window", value=finding.rows_checked, unit="rows"),
        ),
        columns=("first brought by", "again by", "rows", "with other values"),
        rows=tuple(
            (
                f"{short(pair['first'])}{' (rolled back)' if pair['first'] in lost else ''}",
                short(pair["second"]),
                str(pair["rows"]),
                str(pair["changed"]),
            )
            for pair in pairs[:MAX_ROWS]
        ),
        finding=finding,
        sources=("rows in the files that the window's commits added", "rows that lived where the window begins"),
        could_not_look=unseen,
    )


def _nothing(checked: int) -> ReplayedRowsFinding:
    return ReplayedRowsFinding(rows_checked=checked, replayed=0, changed=0, first=None, last=None, pairs=())


def _unfit(ask: Ask, identity: Sequence[str]) -> Answer | None:
    if not identity:
        return could_not(
            f"Replayed rows cannot be told: the contract of {ask.observation.table.name} names no source position.",
            NotSeen(
                source="contract.position",
                reason="The contract names no source position, and not both a key and an event_time to stand for it.",
                remedy="Name position, or key and event_time, in the table's contract.",
            ),
        )
    missing = absent_columns(ask, *identity)
    if missing:
        return could_not(f"Replayed rows cannot be told: {missing[0].reason}", *missing)
    unreadable = renamed(ask.observation.table, identity)
    return could_not(f"Replayed rows cannot be told: {unreadable[0].reason}", *unreadable) if unreadable else None
