"""Which file it is that Spark cannot decode, asked after it has failed for one that nobody named."""

import re
from urllib.parse import unquote

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known

from bot.observation.evidence import Ask
from bot.observation.looked import NotSeen
from bot.observation.paths import ByPath
from spark_tasks._support.reading import entries
from spark_tasks._support.storage import exact, plain_column
from spark_tasks._support.window import Reach, reach_of

_MAX_READ = 5_000
_NAMED = re.compile(r"(?:reading|read|read file:|footer for file:?) (?:file:? )?((?:[a-z0-9]+:)?/.+?)\.?(?:\s|$)")
"""`Encountered error while reading file …`, as Spark's own readers say it; Iceberg's leave the name out."""


_VECTOR = {"content_offset": "bigint", "content_size_in_bytes": "bigint"}
_IS_BROKEN = """
    length(blob) < content_size_in_bytes
    OR crc32(substring(blob, 5, length(blob) - 8)) <> conv(hex(substring(blob, -4)), 16, 10)
"""
"""Of a deletion vector: four bytes of length, what it holds, four bytes of checksum (Puffin: `deletion-vector-v1`)."""


def first_damaged(spark: SparkSession, ask: Ask) -> str | None:
    """A file that the window's commits added and that cannot be read to its end, as the table names it: one of
    deletion vectors, by their checksums, else a data file, by Spark's own reader. None where there is none among the
    first 5,000 of each, or none is named.

    Cost: reads these files whole.
    """
    reach = reach_of(ask)
    if isinstance(reach, NotSeen):
        return None
    return _file_of_vectors(spark, reach) or _data_file(spark, reach)


def _file_of_vectors(spark: SparkSession, reach: Reach) -> str | None:
    added = entries(spark, reach.main, more=_VECTOR).where("status = 1 and upper(file_format) = 'PUFFIN'")
    vectors = added.select("file_path", *_VECTOR).orderBy("file_path", "content_offset").limit(_MAX_READ).persist()
    try:
        paths = [row["file_path"] for row in vectors.select("file_path").distinct().limit(_MAX_READ).collect()]
        if not paths:
            return None
        read = spark.read.format("binaryFile").option("ignoreMissingFiles", "true").load([exact(p) for p in paths])
        stored = read.select(plain_column(F.col("path")).alias("at"), "content")
        placed = vectors.join(stored, on=plain_column(F.col("file_path")) == F.col("at"), how="inner")
        blob = F.expr("substring(content, int(content_offset) + 1, int(content_size_in_bytes))")
        first = placed.withColumn("blob", blob).where(_IS_BROKEN).orderBy("file_path").select("file_path").first()
        return None if first is None else str(first["file_path"])
    finally:
        vectors.unpersist()


def _data_file(spark: SparkSession, reach: Reach) -> str | None:
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
