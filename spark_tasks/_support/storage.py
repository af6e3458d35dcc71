"""What lies on the table's storage, asked of Spark: it holds the credentials, and the bot's memory stays small.

A path that Spark is told to load must exist, else the whole question fails. Alternatives in braces are looked up
one by one, without listing a folder, and those that do not exist are left out: so existence is asked here. Measured
on two cores: 5,000 local paths in 1.7 s; a folder of 4,000 files is listed in 0.9 s. Few paths cost what Spark does
around them: 20 in 20 patterns took 102 ms, in two 50 ms; what comes back more than once is dropped here, because to
have Spark do it takes a second stage.

One file has several spellings, so paths are taken apart as `bot.observation.paths` does. `load` takes braces,
brackets and stars for patterns, and Iceberg writes names of columns into files as far as Avro allows them.
"""

import re
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from functools import reduce
from typing import NamedTuple
from urllib.parse import unquote

from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known

from bot.history.checkpoint_pace import completed_at, interval_of, longest_of
from bot.observation.errors import EvidenceFailed
from bot.observation.evidence import Ask
from bot.observation.flink import FlinkManifest, JobRun
from bot.observation.paths import SCHEMES, place_of
from bot.observation.table import TableState

_SCHEME = r"^([a-zA-Z][a-zA-Z0-9+.-]*):"
_AUTHORITY = r"^[a-zA-Z][a-zA-Z0-9+.-]*://([^/]*)"
_BEFORE_PATH = r"^[a-zA-Z][a-zA-Z0-9+.-]*:(?://[^/]*)?"


def scheme_of(path: Column) -> Column:
    told = F.lower(F.regexp_extract(path, _SCHEME, 1))
    return reduce(lambda found, name: F.when(told == name, F.lit(SCHEMES[name])).otherwise(found), SCHEMES, told)


def authority_of(path: Column) -> Column:
    told = F.regexp_extract(path, _AUTHORITY, 1)
    return F.when(scheme_of(path) == "hdfs", F.regexp_replace(told, ":8020$", "")).otherwise(told)


def inside_of(path: Column) -> Column:
    below = F.concat(F.lit("/"), F.regexp_replace(path, _BEFORE_PATH, ""))
    return F.regexp_replace(F.regexp_replace(below, "/+", "/"), "/$", "")


def plain_column(path: Column) -> Column:
    scheme, authority = scheme_of(path), authority_of(path)
    host = F.when(authority == "", "").otherwise(F.concat(F.lit("//"), authority))
    return F.when(scheme == "", inside_of(path)).otherwise(F.concat(scheme, F.lit(":"), host, inside_of(path)))


def agree(one: Column, other: Column) -> Column:
    """Whether scheme and authority are equal, where both paths say one: with an equal `inside_of`, `may_be_same`."""
    pairs = [(scheme_of(one), scheme_of(other)), (authority_of(one), authority_of(other))]
    return reduce(lambda so_far, each: so_far & each, (((a == b) | (a == "") | (b == "")) for a, b in pairs))


_SUBTASK, _ATTEMPT = r"\d{5}", r"\d+"
_ID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_NUMBER, _END = r"\d{5,10}", r"(?:-\w+)?\.(?:parquet|avro|orc|puffin)$"
_REST = rf"{_ID}-{_NUMBER}{_END}"
"""A random id of the writer, and a running number. Spark's names have one number more between them and do not match."""

ATTEMPT_IN_FILE_NAME = rf"^{_SUBTASK}-({_ATTEMPT})-{_REST}"
"""Flink's data and delete files; group 1 is the attempt."""
SUBTASK_IN_FILE_NAME = rf"^({_SUBTASK})-{_ATTEMPT}-{_REST}"
"""The same names; group 1 is the writer's subtask."""
WRITER_IN_PATH = rf"(?:^|/)({_SUBTASK}-{_ATTEMPT}-{_ID})-({_NUMBER}){_END}"
"""The same names at the end of a path; group 1 is `subtask-attempt-id`, group 2 the running number."""


SPECIAL = re.compile(r"([\\\[\]{}*?,^])")
"""What a pattern is made of (Hadoop's `GlobPattern`), and the comma between alternatives."""

_AVRO_NAMES = frozenset({"parquet", "avro"})


def exact(path: str) -> str:
    """The pattern that only this path fits: a table in a folder `a{b}` must not be looked for in `ab`."""
    return SPECIAL.sub(r"\\\1", path)


def stored_name(column: str, form: str) -> str:
    """The name of a top-level column in a data file. Source: Iceberg's `AvroSchemaUtil.makeCompatibleName`, which it
    uses for Parquet and Avro; asked for by its own name, such a column would be null in every row."""
    if form not in _AVRO_NAMES:
        return column
    first = column[0] if column[0].isalpha() or column[0] == "_" else _first(column[0])
    return first + "".join(each if each.isalnum() or each == "_" else _hex(each) for each in column[1:])


def _first(each: str) -> str:
    return f"_{each}" if each.isdigit() else _hex(each)


def _hex(each: str) -> str:
    return f"_x{ord(each):X}"


MAX_PATHS = 50_000
_PATTERNS = 40
"""Spark looks patterns up in as many threads."""
_PER_PATTERN = 16
"""So many paths at least, where there are as many: each pattern needs a file that exists beside them."""
_REFUSED = re.compile(r"AccessDenied|AccessControlException|Permission denied|Forbidden|\b40[13]\b|SlowDown|\b503\b")
_ROOT = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:(?://[^/]*/|/+)|/+")
UNASKABLE = r"/(?:\.[^/]*|_[^/=]*|[^/]*\._COPYING_)$|^(?!file:|hdfs:|/).*[^:/]//"
"""Spark passes over files with such names, listed or asked for, and Hadoop knows no empty folder name, as a key of an
object store may have it: of these Spark never tells that they are there. Iceberg reads them all."""

PASSED_OVER = "a name that Spark passes over (it begins with _ or a dot, or a folder's name in it is empty)"
"""As said to people."""


class OnStorage(NamedTuple):
    """What storage has of files that were asked for by their names."""

    sizes: dict[str, int]
    """Path as it was asked for -> bytes, of those that are there."""

    def lacks(self, path: str) -> bool:
        """Whether it is surely not there, of a path that was asked for."""
        return path not in self.sizes and can_be_asked(path)

    def cannot_tell(self, path: str) -> bool:
        """Whether nobody knows, of a path that was asked for."""
        return path not in self.sizes and not can_be_asked(path)


def can_be_asked(path: str) -> bool:
    """Whether Spark would tell that the file is there."""
    return re.search(UNASKABLE, path) is None


def sizes_of(spark: SparkSession, table: TableState, paths: Iterable[str]) -> OnStorage:
    """Which of these files there are. Cost: two requests a path, no listing, no content.

    Raises EvidenceFailed above `MAX_PATHS`: a narrower window must be chosen.
    """
    wanted = list(dict.fromkeys(paths))
    if len(wanted) > MAX_PATHS:
        raise EvidenceFailed(
            "The window has too many files to check each.",
            f"Expected at most {MAX_PATHS:,} files; there are {len(wanted):,}.",
            "Choose a window that begins later, then run it again.",
        )
    by_root: dict[str, list[str]] = {}
    for path in wanted:
        by_root.setdefault(_root(path), []).append(path)
    found: dict[str, int] = {}
    for root, group in by_root.items():
        surely = [table.metadata_location] if _root(table.metadata_location) == root else []
        there = _sizes(spark, root, group, surely)
        found |= {path: size for path in group if (size := there.get(place_of(path).inside)) is not None}
    return OnStorage(found)


_FOLDERS = ("write.data.path", "write.folder-storage.path", "write.object-storage.path")


def data_folder(table: TableState) -> str:
    """Where the table's writers put data files now; older files may lie elsewhere."""
    told = (table.properties.get(name) for name in _FOLDERS)
    return next((folder for folder in told if folder), f"{table.location.rstrip('/')}/data")


def files_under(spark: SparkSession, folder: str) -> DataFrame | None:
    """Shape: path (plain), length, written_at (timestamp); one row per file below the folder; None if there is no
    such folder. Cost: one listing of all of it; storage cannot list by time."""
    read = spark.read.format("binaryFile").option("recursiveFileLookup", "true")
    try:
        listed = read.load(exact(folder)).select("path", "length", "modificationTime")
        _ = listed.schema
    except AnalysisException as error:
        if _is_absent(error):
            return None
        raise
    path = plain_column(F.col("path"))
    return listed.select(path.alias("path"), "length", F.col("modificationTime").alias("written_at"))


def load_files(spark: SparkSession, form: str, schema: str, paths: Sequence[str]) -> DataFrame:
    """These files, which exist, in a format of Spark's; one that cannot be read, or has gone since, gives no row.

    Adds `_path`: the file of the row, escaped as Spark has it, and undone by `unescaped`. To undo it here costs 10 µs
    a row.
    """
    read = spark.read.format(form).schema(schema)
    read = read.option("ignoreCorruptFiles", "true").option("ignoreMissingFiles", "true")
    return read.load([exact(path) for path in paths]).withColumn("_path", F.col("_metadata.file_path"))


def unescaped(path: str) -> str:
    """A `_path` as tables and people write it, in one of its spellings."""
    return unquote(path)


def is_refused(error: PySparkException) -> bool:
    """Whether storage denied or throttled the look, which tells nothing of what is there."""
    return _REFUSED.search(str(error)) is not None


def _sizes(spark: SparkSession, root: str, paths: list[str], surely: list[str]) -> dict[str, int]:
    """Place below the root -> bytes: Hadoop spells scheme and host of what it found in its own way. `surely` is a file
    that exists: a pattern without any is refused, and then none of its paths exists."""
    count = min(_PATTERNS, -(-len(paths) // _PER_PATTERN)) if surely else 1
    chunks = [[*paths[place::count], *surely] for place in range(count)]
    patterns = [f"{root}{{{','.join(_alternative(path) for path in chunk)}}}" for chunk in chunks]
    try:
        listed = spark.read.format("binaryFile").load(patterns).select("path", "length")
        rows = listed.limit(sum(map(len, chunks))).collect()
    except AnalysisException as error:
        if _is_absent(error):
            return {}
        raise
    return {place_of(row["path"]).inside: int(row["length"]) for row in rows}


def _root(path: str) -> str:
    """Scheme and authority, or the first slash: what all alternatives of one pattern share."""
    found = _ROOT.match(path)
    return found.group() if found else ""


def _alternative(path: str) -> str:
    """Below its root, escaped twice: once for the braces, once for the name."""
    return SPECIAL.sub(r"\\\\\1", path[len(_root(path)) :])


def _is_absent(error: AnalysisException) -> bool:
    return error.getCondition() == "PATH_NOT_FOUND"


_INTERVALS = 5
_AT_LEAST = timedelta(minutes=2)


def is_overdue(leak: FlinkManifest, ask: Ask) -> bool:
    """Whether a pending manifest waits longer than a healthy job lets it wait: a V2 sink commits a checkpoint some
    moments after it, or, for a savepoint, with the next one."""
    run = next((run for run in ask.observation.jobs.values if run.job_id == leak.job_id), None)
    if run is None or run.is_terminal or (since := _waits_since(leak, run)) is None:
        return False
    return ask.observation.table.read_at - since > patience(ask, run)


def _waits_since(leak: FlinkManifest, run: JobRun) -> datetime | None:
    """Nothing commits what was written at the barrier before the checkpoint completes; None: it is in progress, or
    nobody knows when it was written."""
    its_own = next((c for c in run.checkpoints if c.checkpoint_id == leak.checkpoint_id), None)
    if its_own is None or its_own.status not in {"COMPLETED", "IN_PROGRESS"}:
        return leak.written_at
    return completed_at(its_own) if its_own.status == "COMPLETED" else None


def patience(ask: Ask, run: JobRun | None) -> timedelta:
    """Five checkpoint intervals, two minutes at the least, and what the longest checkpoint took, for the next one may
    take as long; by the contract where Flink does not tell the interval."""
    told = interval_of(run) if run is not None else None
    interval = told or ask.contract.checkpoint_every or ask.contract.commit_every or timedelta(0)
    took = longest_of(run) if run is not None else timedelta(0)
    return max(_INTERVALS * interval, _AT_LEAST) + took
