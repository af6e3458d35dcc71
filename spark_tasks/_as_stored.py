"""Paths and names from data as files and Spark have them: `load` takes braces, brackets and stars for patterns, and
Iceberg writes names of columns into files as far as Avro allows them."""

import re

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
