"""Paths of files as columns, taken apart as `bot.domain.paths` takes them: one file has several spellings."""

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
