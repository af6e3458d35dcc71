"""Paths of files as columns, taken apart as `bot.domain.paths` takes them: one file has several spellings.

What the names of data files tell (facts 1.6).

Paths and names from data as files and Spark have them: `load` takes braces, brackets and stars for patterns, and
Iceberg writes names of columns into files as far as Avro allows them.
"""

import re
from functools import reduce

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known

from bot.domain.paths import SCHEMES

_SCHEME = r"^([a-zA-Z][a-zA-Z0-9+.-]*):"
_AUTHORITY = r"^[a-zA-Z][a-zA-Z0-9+.-]*://([^/]*)"
_ROOT = r"^[a-zA-Z][a-zA-Z0-9+.-]*:(?://[^/]*)?"


def scheme_of(path: Column) -> Column:
    told = F.lower(F.regexp_extract(path, _SCHEME, 1))
    return reduce(lambda found, name: F.when(told == name, F.lit(SCHEMES[name])).otherwise(found), SCHEMES, told)


def authority_of(path: Column) -> Column:
    told = F.regexp_extract(path, _AUTHORITY, 1)
    return F.when(scheme_of(path) == "hdfs", F.regexp_replace(told, ":8020$", "")).otherwise(told)


def inside_of(path: Column) -> Column:
    below = F.concat(F.lit("/"), F.regexp_replace(path, _ROOT, ""))
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
