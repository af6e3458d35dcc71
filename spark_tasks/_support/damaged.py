"""Which file it is that Spark cannot decode, asked after it has failed for one that nobody named."""

import re
from urllib.parse import unquote

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from bot.observation.evidence import Ask
from bot.observation.paths import ByPath
from spark_tasks._support.reading import entries
from spark_tasks._support.storage import exact
from spark_tasks._support.window import reach_of
from spark_tasks._support.words import Inconclusive

_MAX_READ = 5_000
_NAMED = re.compile(r"(?:reading|read|read file:|footer for file:?) (?:file:? )?((?:[a-z0-9]+:)?/.+?)\.?(?:\s|$)")
"""`Encountered error while reading file …`, as Spark's own readers say it; Iceberg's leave the name out."""


def first_damaged(spark: SparkSession, ask: Ask) -> str | None:
    """A data file that the window's commits added and that Spark's own reader cannot read to its end, as the table
    names it. None where there is none among the first 5,000, or none is named.

    Cost: reads these files whole.
    """
    try:
        reach = reach_of(ask)
    except Inconclusive:
        return None
    added = entries(spark, reach.main).where("status = 1 and content = 0").select("file_path", "file_format")
    files = added.distinct().orderBy("file_path").limit(_MAX_READ).collect()
    known: ByPath[str] = ByPath((row["file_path"], row["file_path"]) for row in files)
    for form in sorted({str(row["file_format"]).lower() for row in files}):
        paths = [row["file_path"] for row in files if str(row["file_format"]).lower() == form]
        found = _named(spark, form, paths)
        path = known.get(found) or known.get(unquote(found)) if found is not None else None
        if path is not None:
            return path
    return None


def _named(spark: SparkSession, form: str, paths: list[str]) -> str | None:
    read = spark.read.format(form).option("mergeSchema", "true").option("ignoreMissingFiles", "true")
    try:
        read.load([exact(path) for path in paths]).write.format("noop").mode("overwrite").save()
    except PySparkException as error:
        said = _NAMED.search(str(error))
        return said[1] if said is not None else None
    return None
