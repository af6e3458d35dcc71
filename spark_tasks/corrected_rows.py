"""Which keys have other values at the window's end than where it begins?"""

from collections.abc import Sequence

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known

from bot.domain.evidence import Answer, Ask, Measure, Task, Verdict
from bot.domain.findings import CompactedRows, CorrectedRowsFinding
from bot.domain.looked import NotSeen
from bot.domain.sentences import counted
from spark_tasks._changes import key_names, states_of, touched_keys
from spark_tasks._columns_of_before import names_at, renamed
from spark_tasks._compacted import compared, losses
from spark_tasks._data_files import files_of
from spark_tasks._window import Reach, begin_expired, is_cut, no_commits, reach_of
from spark_tasks._words import MAX_ROWS, could_not, shown, without_key

TASK = Task(
    name="corrected_rows",
    title="Corrected rows",
    question="Which keys changed their values in the window, and which keys are gone?",
    confirmed_means="some key was changed or is gone, or a compaction lost rows",
    ruled_out_means="no older key was changed or removed",
    needs=("table", "contract.key"),
    version=2,
    cost="keys of the files that the window added, removed or deleted from; all columns of older rows in their range",
)


def answer(spark: SparkSession, ask: Ask) -> Answer:
    """Two states are compared, not two logs: what was changed and changed back does not count.

    Only keys that the window's files can have touched are read. A key with several rows has changed when the lowest,
    the highest or the null among its values did. Compactions are passed over, but for those whose counters leave open
    whether they kept their rows: their keys are compared right before and after. Columns that were added since are
    passed over, too.
    """
    if (unfit := without_key(ask, "Corrected rows")) is not None:
        return unfit
    reach = reach_of(ask)
    if isinstance(reach, NotSeen):
        return could_not(f"{no_commits(ask)}, so its rows cannot be read.", reach)
    if is_cut(ask, reach):
        gone = begin_expired(ask, reach)
        return could_not(f"Corrected rows cannot be told. {gone.reason}", gone)
    key = ask.contract.key
    if unreadable := renamed(ask.observation.table, key):
        return could_not(f"Corrected rows cannot be told: {unreadable[0].reason}", *unreadable)
    compactions = compared(spark, ask, reach.main)
    if isinstance(compactions, NotSeen):
        return could_not(f"Corrected rows cannot be told: {compactions.reason}", compactions)
    lossy = {each.snapshot_id for each in compactions if each.lost}
    commits = [commit for commit in reach.main if commit.operation != "replace" or commit.snapshot_id in lossy]
    if not commits or reach.since is None:
        return _none("Nothing lived where the window begins, so nothing can have been corrected"
                     if commits else "No commit of the window changed a row", compactions)  # fmt: skip
    touched = touched_keys(spark, ask, files_of(spark, commits))
    if isinstance(touched, NotSeen):
        return could_not(f"Corrected rows cannot be told: {touched.reason}", touched)
    values = [name for name in names_at(ask.observation.table, reach.since) if name not in key]
    kept = touched.persist()
    try:
        return _compared(spark, ask, reach, kept, values, compactions)
    finally:
        kept.unpersist()


def changes(before: DataFrame, after: DataFrame, keys: Sequence[str], count: int) -> DataFrame:
    """Shape: the keys, is_gone (boolean), changed (array of the places of changed values); one row per key that was
    there before and is changed or gone. Both sides have one row per key."""
    ended = after.select(*(F.col(key).alias(f"{key}_after") for key in keys), "after_rows", *_sides("after", count))
    same = F.lit(True)
    for key in keys:
        same = same & F.col(key).eqNullSafe(F.col(f"{key}_after"))
    both = before.join(ended, on=same, how="left")
    differ = [
        F.when(~F.col(f"before_{n}").eqNullSafe(F.col(f"after_{n}")), F.lit(n)) for n in range(count)
    ]  # fmt: skip
    is_gone = F.col("after_rows").isNull()
    changed = F.array_compact(F.array(*differ)) if differ else F.array().cast("array<int>")
    told = both.select(*keys, is_gone.alias("is_gone"), changed.alias("changed"))
    return told.where(F.col("is_gone") | (F.size("changed") > 0))


def _sides(side: str, count: int) -> list[str]:
    return [f"{side}_{place}" for place in range(count)]


def _compared(
    spark: SparkSession,
    ask: Ask,
    reach: Reach,
    touched: DataFrame,
    values: Sequence[str],
    compactions: tuple[CompactedRows, ...],
) -> Answer:
    assert reach.since is not None
    keys = key_names(ask)
    before = states_of(spark, ask, reach.since, touched, values, "before")
    after = states_of(spark, ask, reach.until, touched, values, "after")
    found = changes(before, after, keys, len(values)).persist()
    try:
        total = found.agg(F.count_if(~F.col("is_gone")).alias("keys"), F.count_if("is_gone").alias("gone")).first()
        assert total is not None
        places = found.where("NOT is_gone").select(F.explode("changed").alias("place")).groupBy("place").count()
        by_column = {values[row["place"]]: int(row["count"]) for row in places.limit(len(values)).collect()}
        sample = found.orderBy("is_gone", *keys).limit(MAX_ROWS).collect()
    finally:
        found.unpersist()
    finding = CorrectedRowsFinding(
        keys=int(total["keys"]),
        gone=int(total["gone"]),
        columns=dict(sorted(by_column.items(), key=lambda each: (-each[1], each[0]))),
        compactions=compactions,
    )
    return Answer(
        verdict=Verdict.CONFIRMED if finding.keys or finding.gone or losses(compactions) else Verdict.RULED_OUT,
        headline=_headline(finding),
        measures=_measures(finding),
        columns=(*ask.contract.key, "what happened", "changed columns"),
        rows=tuple(_row(ask, row, values) for row in sample),
        finding=finding,
        sources=("keys in the window's files", "rows with these keys where the window begins, and at its end"),
    )


def _headline(finding: CorrectedRowsFinding) -> str:
    lost = losses(finding.compactions)
    if not finding.keys and not finding.gone and not lost:
        return "Every key that lived where the window begins has the same values at its end."
    most = ", ".join(f"{name} in {number:,}" for name, number in list(finding.columns.items())[:4])
    changed = f"{counted(finding.keys, 'key')} changed ({most})" if finding.keys else "No key changed"
    gone = f"; {counted(finding.gone, 'key')} {'is' if finding.gone == 1 else 'are'} gone" if finding.gone else ""
    return f"{changed}{gone} between the window's beginning and its end{lost}."


def _row(ask: Ask, row: Row, values: Sequence[str]) -> tuple[str, ...]:
    told = (shown(name, row[alias], ask.contract) for name, alias in zip(ask.contract.key, key_names(ask), strict=True))
    changed = ", ".join(values[place] for place in row["changed"])
    return (*told, *(("gone", "") if row["is_gone"] else ("changed", changed)))


def _measures(finding: CorrectedRowsFinding) -> tuple[Measure, ...]:
    return (
        Measure(name="changed keys", value=finding.keys, unit="keys"),
        Measure(name="keys that are gone", value=finding.gone, unit="keys"),
    )


def _none(headline: str, compactions: tuple[CompactedRows, ...]) -> Answer:
    finding = CorrectedRowsFinding(keys=0, gone=0, columns={}, compactions=compactions)
    lost = losses(compactions)
    return Answer(
        verdict=Verdict.CONFIRMED if lost else Verdict.RULED_OUT,
        headline=f"{headline}{lost}.",
        measures=_measures(finding),
        finding=finding,
    )
