"""Did the window bring records of the source that had been brought already, by an earlier commit or by the same one?

Told by their place in the source, else by key and time of the event.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import and_
from typing import NamedTuple

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known

from bot.observation.evidence import Answer, Ask, Measure, Task, Verdict
from bot.observation.findings import DuplicatePair, ReplayedRowsFinding
from bot.observation.ids import SnapshotId, short
from bot.observation.looked import NotSeen
from bot.observation.sentences import counted
from bot.observation.table import Snapshot
from spark_tasks._support.copies import FILE, in_range_of, with_key_in
from spark_tasks._support.coverage import (
    Part,
    key_columns,
    key_hash,
    lowest_of,
    moment_of,
    not_told_apart,
    older_at,
    parts_by_commit,
    spans_of,
)
from spark_tasks._support.data_files import COMMIT, PATH, comparable, data_added, files_of, rows_in
from spark_tasks._support.event_time import brings_new_rows, mixes
from spark_tasks._support.manifest_entries import Entry, asked_of
from spark_tasks._support.reading import (
    added_since,
    column,
    local_ids,
    names_at,
    persisted,
    require_readable,
    rows_at,
    whole_schema,
    writers_of,
)
from spark_tasks._support.source_ranges import without_position
from spark_tasks._support.window import Reach, begin_of, cut_off, reach_of
from spark_tasks._support.words import MAX_ROWS, answers, inconclusive, require_columns


def came_again(ask: Ask, finding: ReplayedRowsFinding) -> str:
    """How many rows an earlier commit had brought, and how many their own holds once more."""
    positions = (
        f", positions {finding.first} to {finding.last}"
        if finding.first is not None and not ask.contract.hides(ask.contract.position)
        else ""
    )
    largest = finding.pairs[0]
    changed = f"{finding.changed:,} of them with other values" if finding.changed else "all with the same values"
    stand = "stands in its" if finding.within_commit == 1 else "stand in their"
    own = f" {counted(finding.within_commit, 'row')} {stand} own commit once more." if finding.within_commit else ""
    return (
        f"{finding.replayed:,} of {counted(finding.rows_checked, 'row')} came again{positions}, "
        f"{changed}; most were brought by {short(largest.first)} first and by {short(largest.second)} again.{own}"
    )


def came_once(finding: ReplayedRowsFinding, most: SnapshotId | None, *, is_told: bool) -> str:
    """No earlier commit had brought any. `most`: the commit that holds most rows once more; `is_told`: whether rows of
    one commit were compared."""
    if most is not None:
        stand = "stands in its" if finding.within_commit == 1 else "stand in their"
        return (
            f"No row was brought again by a later commit, but {finding.within_commit:,} of "
            f"{counted(finding.rows_checked, 'row')} {stand} own commit once more, equal in every column; most in "
            f"{short(most)}."
        )
    own = ", nor stands in its own one twice, equal in every column" if is_told else ""
    return f"None of {counted(finding.rows_checked, 'row')} of the window had been brought by an earlier commit{own}."


def other_records(ask: Ask, rows: int) -> NotSeen:
    """What is said of rows at the position of another record."""
    carry = "carries" if rows == 1 else "carry"
    return not_told_apart(
        ask,
        f"{counted(rows, 'row')} of the window {carry} a position that a row of another key had before",
        "Whether records like these are repeated is not known.",
    )


_DIGESTS = ("digest", "key", "moment")
OLDER = -1
"""The place of a row that lived before the window."""


def identity_of(ask: Ask) -> tuple[str, ...]:
    """Columns that together name one record of the source; empty where the contract names none.

    A key alone does not: an upsert brings the same key again, rightly.
    """
    contract = ask.contract
    if contract.position is not None:
        return tuple(name for name in (contract.position_partition, contract.position) if name is not None)
    if contract.event_time is None or not contract.key:
        return ()
    return tuple(dict.fromkeys((*contract.key, contract.event_time)))


def ids_of(identity: Sequence[str]) -> list[str]:
    """Names of the identity's columns in our frames."""
    return [f"id_{place}" for place in range(len(identity))]


def has_identity(identity: Sequence[str]) -> Column:
    """Whether a row in our frames has what names its record: its position, or the time of its event."""
    return F.col(ids_of(identity)[-1]).isNotNull()


def brought_rows(
    spark: SparkSession, ask: Ask, reach: Reach, files: Sequence[Entry], identity: Sequence[str]
) -> DataFrame:
    """Shape: the identity, digest (bigint, of all other columns), key, moment (bigint, hashes), file_path, snapshot_id,
    place (rising with the commits), on_main (boolean); one row per row that stands in the files; see `has_identity`."""
    table = ask.observation.table
    told = [(int(s.snapshot_id), True) for s in reach.main] + [(int(s.snapshot_id), False) for s in reach.rolled_back]
    sides = spark.createDataFrame(told, "snapshot_id bigint, on_main boolean")
    names = _compared(ask, reach)
    rows = rows_in(spark, table, files, [*identity, *names])
    told_of = F.col(PATH).alias("file_path"), F.col(COMMIT).alias("snapshot_id")
    named = rows.select(*_identity(identity), *_digests(spark, ask, names), *told_of)
    order = local_ids(spark, [s.snapshot_id for s in table.snapshots])
    chosen = named.join(F.broadcast(order), on="snapshot_id", how="inner").join(
        F.broadcast(sides), on="snapshot_id", how="inner"
    )
    return chosen.select(*ids_of(identity), *_DIGESTS, "file_path", "snapshot_id", "place", "on_main")


def older_rows(spark: SparkSession, ask: Ask, reach: Reach, brought: DataFrame, identity: Sequence[str]) -> DataFrame:
    """The same shape; rows that lived where the window begins and whose identity the window brought again.

    Cost: all columns of the files in which the range of the window's identities lies: none, where nothing came again.
    """
    assert reach.since is not None
    ids = ids_of(identity)
    live = rows_at(spark, ask.observation.table, reach.since)
    chosen = live.select(*_identity(identity), *_digests(spark, ask, _compared(ask, reach)), F.col(FILE))
    narrowed, _, _ = in_range_of(ask, brought, chosen, dict(zip(ids, identity, strict=True)))
    same = with_key_in(narrowed, brought.select(*ids).distinct(), ids).withColumnRenamed(FILE, "file_path")
    nowhere = F.lit(None).cast("bigint").alias("snapshot_id")
    return same.select("*", nowhere, F.lit(OLDER).alias("place"), F.lit(True).alias("on_main"))


def replays_of(rows: DataFrame, identity: Sequence[str]) -> DataFrame:
    """Shape: the identity, digest, snapshot_id, first (struct of place, the digests, snapshot_id, file_path: its first
    copy), is_other (boolean: key and time of the event are not the first copy's, so that it may be another record);
    one row per row on main whose identity an earlier commit had brought."""
    ids = ids_of(identity)
    one = F.struct("place", *_DIGESTS, "snapshot_id", "file_path")
    is_other = (F.col("key") != F.col("first.key")) & (F.col("moment") != F.col("first.moment"))
    firsts = rows.groupBy(*ids).agg(F.min(one).alias("first"), F.max("place").alias("last_place"))
    again = firsts.where("last_place > first.place").select(*(F.col(i).alias(f"{i}_of") for i in ids), "first")
    same = reduce(and_, (F.col(name).eqNullSafe(F.col(f"{name}_of")) for name in ids))
    return (
        rows.where("on_main")
        .join(again, on=same, how="inner")
        .where("place > first.place")
        .select(*ids, "digest", "snapshot_id", "first", is_other.alias("is_other"))
    )


def twice_within(rows: DataFrame, identity: Sequence[str]) -> DataFrame:
    """Shape: snapshot_id, rows (bigint, 1 or more); one row per commit on main that brought a record's very row more
    than once, equal in every column, and how often too many. Rows at one place of the source that differ are not
    counted: one record may make several. Cost: one more grouping of what the window brought."""
    same = rows.where("on_main").groupBy(*ids_of(identity), "digest", "snapshot_id").agg(F.count("*").alias("copies"))
    return same.where("copies > 1").groupBy("snapshot_id").agg(F.sum(F.col("copies") - 1).alias("rows"))


def commits_of_first(spark: SparkSession, at: Snapshot, pairs: DataFrame) -> DataFrame:
    """Shape: file_path, writer (snapshot_id); one row per file in which a first copy lived before the window.
    Cost: as of `writers_of`; nothing where no such file is."""
    files = pairs.where("first.snapshot_id IS NULL").select(F.col("first.file_path").alias("file_path")).distinct()
    if files.limit(1).count() == 0:
        return spark.createDataFrame([], "file_path string, writer bigint")
    return writers_of(spark, at, files).withColumnRenamed("snapshot_id", "writer")


def _compared(ask: Ask, reach: Reach) -> list[str]:
    """Columns beside the identity, that both the window's beginning and its end have; of these none with a default,
    which files that lack it do not tell."""
    table, identity = ask.observation.table, identity_of(ask)
    names = [each.name for each in table.columns] if reach.since is None else names_at(table, reach.since)
    untold = {each.name for each in table.columns if each.has_default}
    return [name for name in names if name not in identity and name not in untold]


def _identity(identity: Sequence[str]) -> list[Column]:
    return [column(name).alias(alias) for name, alias in zip(identity, ids_of(identity), strict=True)]


def _digests(spark: SparkSession, ask: Ask, names: Sequence[str]) -> list[Column]:
    """`_DIGESTS`: of all these columns, of those of the key, and of the event's time: the key's too where none tells.
    A hash passes nulls over, so which are null is hashed too."""
    kinds = {field.name: field.dataType for field in whole_schema(spark, ask.observation.table).fields}
    told = [comparable(name, kinds[name]) for name in names]
    digest = F.xxhash64(F.lit(0), *told, *(each.isNull() for each in told))
    key = [name for name in key_columns(ask) if name in names]
    moment = [name for name in moment_of(ask) if name in names] or key
    return [each.alias(name) for each, name in zip((digest, key_hash(key), key_hash(moment)), _DIGESTS, strict=True)]


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


@answers(TASK)
def answer(spark: SparkSession, ask: Ask) -> Answer:
    """Rows are compared as they were written: a copy that was deleted, merged away or rolled back since counts.

    A record is known by its source position; by key and time of the event where the contract names no position. Rows
    at one position that differ in both may be of two partitions or topics: they are not counted, and it is said so.
    What was deleted before the window began is not seen. Within one commit a row counts that is there once more, equal
    in every column, where the contract names a key: several that differ may be made of one record.
    """
    identity = identity_of(ask)
    if not identity:
        raise inconclusive(
            source="contract.position",
            reason="The contract names no source position, and not both a key and an event_time to stand for it.",
            remedy="Name position, or key and event_time, in the table's contract.",
        )
    require_columns(ask, *identity)
    require_readable(ask.observation.table, identity)
    reach = reach_of(ask)
    return judge(ask, reach, read(spark, ask, reach))


class Pair(NamedTuple):
    first: int
    """The commit that brought the rows first; 0: not known."""
    second: int
    rows: int
    changed: int
    """Of these, with other values."""


@dataclass(frozen=True)
class Facts:
    """What was read of the rows that the window brought to main."""

    checked: int
    """Those of which it is known which record each is."""
    bare: int
    """The others."""
    strangers: int = 0
    """Rows at the position that a row of another key, and of another time, had before."""
    replayed: int = 0
    changed: int = 0
    first: int | None = None
    last: int | None = None
    """The lowest and the highest position that came again."""
    pairs: tuple[Pair, ...] = ()
    """Most rows first, at most `MAX_PAIRS`."""
    within: int = 0
    """Rows that stand in their own commit once more."""
    own: tuple[Pair, ...] = ()
    """The commits with most of these, each as a pair with itself."""


def read(spark: SparkSession, ask: Ask, reach: Reach) -> Facts:
    """Rows, where the ranges of the commits do not show that none came again."""
    commits = [commit for commit in (*reach.main, *reach.rolled_back) if brings_new_rows(commit)]
    if (parts := _once(spark, ask, reach, commits)) is not None:
        return Facts(sum(part.rows for part in parts), sum(part.bare for part in parts))
    files = data_added(files_of(spark, ask.observation.table, ask.contract, commits))
    if not files:
        return Facts(0, 0)
    identity = identity_of(ask)
    with persisted(brought_rows(spark, ask, reach, files, identity)) as rows:
        named = has_identity(identity)
        total = rows.where("on_main").agg(F.count_if(named), F.count_if(~named)).first()
        assert total is not None
        told = rows.where(named)
        whole = told if reach.since is None else told.unionByName(older_rows(spark, ask, reach, told, identity))
        with persisted(replays_of(whole, identity)) as again:
            facts = replace(_came_again(spark, ask, reach, again), checked=total[0], bare=total[1])
            within, own = _of_own(twice_within(told, identity)) if key_columns(ask) else (0, ())
            return replace(facts, within=within, own=own)


def _once(spark: SparkSession, ask: Ask, reach: Reach, commits: Sequence[Snapshot]) -> list[Part] | None:
    """What these commits brought to main, where its ranges show that none of it came again; None: only rows tell."""
    asked = asked_of(ask.observation.table, ask.contract)
    if asked.position is None or (asked.source is None and ask.contract.position_partition is not None):
        return None
    brought = parts_by_commit(spark, ask.observation.table, ask.contract, commits)
    if isinstance(brought, NotSeen):
        return None
    parts = [part for told in brought.values() for part in told]
    if spans_of(parts, is_dense=False) is None:
        return None
    if reach.since is not None and any(o.again for o in older_at(spark, ask, reach.since, lowest_of(parts)).values()):
        return None
    return [part for commit in reach.main for part in brought.get(commit.snapshot_id, ())]


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


def _came_again(spark: SparkSession, ask: Ask, reach: Reach, again: DataFrame) -> Facts:
    """`again`: as of `replays_of`."""
    place = F.col(ids_of(identity_of(ask))[-1]) if ask.contract.position is not None else F.lit(None)
    strangers = again.where("is_other").count()
    again = again.where("NOT is_other")
    total = again.agg(
        F.count("*"),
        F.count_if(F.col("digest") != F.col("first.digest")),
        F.min(place).cast("bigint"),
        F.max(place).cast("bigint"),
    ).first()
    assert total is not None
    if total[0] == 0:
        return Facts(0, 0, strangers)
    writers = spark.createDataFrame([], "file_path string, writer bigint")
    if reach.since is not None:
        writers = commits_of_first(spark, ask.observation.table.by_id[reach.since], again)
    pairs = pairs_of(again, writers).limit(MAX_PAIRS).collect()
    replayed, changed, first, last = total
    return Facts(0, 0, strangers, replayed, changed, first, last, tuple(Pair(*row) for row in pairs))


def _of_own(within: DataFrame) -> tuple[int, tuple[Pair, ...]]:
    """Of `twice_within`: all, and the commits with most."""
    same = F.col("snapshot_id")
    found = within.select(same.alias("first"), same.alias("second"), "rows", F.lit(0).alias("changed"))
    with persisted(found) as pairs:
        total = pairs.agg(F.sum("rows")).first()
        most = pairs.orderBy(F.desc("rows"), "first").limit(MAX_ROWS).collect()
    return int(total[0] or 0) if total is not None else 0, tuple(Pair(*row) for row in most)


def judge(ask: Ask, reach: Reach, facts: Facts) -> Answer:
    """Without Spark."""
    table, identity = ask.observation.table, identity_of(ask)
    if not facts.checked and facts.bare:
        raise inconclusive(
            source=f"column {identity[-1]} of {table.name}",
            reason=f"Column {identity[-1]} is null in every row that the window brought.",
            remedy="Look whether the job still fills it; name another column if not.",
        )
    rows = facts.checked + facts.bare
    unseen = (
        *((other_records(ask, facts.strangers),) if facts.strangers else ()),
        *((without_position(ask, identity[-1], facts.bare, rows, "these are repeated"),) if facts.bare else ()),
        *mixes(reach.main),
        *cut_off(ask, reach),
        *added_since(table, begin_of(reach), identity),
    )
    finding = ReplayedRowsFinding(
        rows_checked=facts.checked,
        replayed=facts.replayed,
        changed=facts.changed,
        first=facts.first,
        last=facts.last,
        pairs=tuple(
            DuplicatePair(first=SnapshotId(p.first), second=SnapshotId(p.second), keys=p.rows) for p in facts.pairs
        ),
        within_commit=facts.within,
    )
    headline = "No commit of the window brought rows, so none is repeated."
    if facts.replayed:
        headline = came_again(ask, finding)
    elif rows:
        most = SnapshotId(facts.own[0].first) if facts.own else None
        headline = came_once(finding, most, is_told=bool(key_columns(ask)))
    verdict = Verdict.INCONCLUSIVE if unseen else Verdict.RULED_OUT
    if facts.replayed or facts.within:
        verdict, headline = Verdict.CONFIRMED, " ".join((headline, *(each.reason for each in unseen[:2])))
    elif unseen:
        headline = f"No row is repeated as far as can be seen; {unseen[0].reason}"
    lost = {s.snapshot_id for s in table.rolled_back}
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
                f"{short(SnapshotId(pair.first))}{' (rolled back)' if pair.first in lost else ''}",
                short(SnapshotId(pair.second)),
                str(pair.rows),
                str(pair.changed),
            )
            for pair in (*facts.pairs, *facts.own)[:MAX_ROWS]
        ),
        finding=finding,
        sources=("rows in the files that the window's commits added", "rows that lived where the window begins"),
        could_not_look=unseen,
    )
