"""Which partitions a commit touched, in words, out of the values that its manifests hold."""

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from uuid import UUID

from bot.domain.table import MOST_PARTITIONS, PartitionField, TouchedPartitions
from spark_tasks._entry_counts import Counts, Touched
from spark_tasks._parted import NULL, Parted

_DECIMAL = re.compile(r"decimal\(\d+, (\d+)\)")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LONGEST = 60
"""Characters of one value."""


def touched_by(parted: Sequence[Parted], kinds: Sequence[Counts]) -> tuple[TouchedPartitions, ...]:
    """Of one commit's files, added and removed, data and deletes; without the fields that one of their specs lacks,
    because what such a file holds, or deletes, is in no partition of these."""
    specs = {spec for each in kinds for spec in each.spec_ids}
    together = zip(*(each.partitions for each in kinds), strict=True)
    return tuple(
        _in_words(each.field, found) for each, found in zip(parted, together, strict=True) if specs <= each.specs
    )


def _in_words(field: PartitionField, found: Sequence[Touched]) -> TouchedPartitions:
    """`more` is then at least so many, where it counts any."""
    values = sorted({value for some in found for value in some.values})
    many = max(len(values), *(some.many for some in found))
    kept = values[:MOST_PARTITIONS]
    return TouchedPartitions(
        field=field.words, values=tuple(word_of(field, value) for value in kept), more=many - len(kept)
    )


def word_of(field: PartitionField, stored: str) -> str:
    """A stored value as engines show it; what lies outside of the calendar stays a number."""
    if stored == NULL:
        return "null"
    try:
        told = _told(field, stored)
    except (OverflowError, ValueError):
        told = stored
    return told if len(told) <= _LONGEST else f"{told[: _LONGEST - 1]}…"


def _told(field: PartitionField, stored: str) -> str:
    match field.transform:
        case "year":
            return str(1970 + int(stored))
        case "month":
            years, month = divmod(int(stored), 12)
            return f"{1970 + years}-{month + 1:02d}"
        case "day":
            return f"{date(1970, 1, 1) + timedelta(days=int(stored))}"
        case "hour":
            return f"{_EPOCH + timedelta(hours=int(stored)):%Y-%m-%d-%H}"
        case "bucket":
            return stored
        case _:
            return _plain(field.type, stored)


def _plain(kind: str, stored: str) -> str:
    """A column's own value, whole or cut."""
    match kind:
        case "date":
            return f"{date(1970, 1, 1) + timedelta(days=int(stored))}"
        case "time":
            return f"{(datetime.combine(date(1970, 1, 1), time()) + timedelta(microseconds=int(stored))).time()}"
        case "timestamp" | "timestamptz" | "timestamp_ns" | "timestamptz_ns":
            micros = int(stored) // 1000 if kind.endswith("_ns") else int(stored)
            return f"{_EPOCH + timedelta(microseconds=micros):%Y-%m-%d %H:%M:%S.%f}".removesuffix(".000000")
        case "uuid":
            return str(UUID(hex=stored))
    found = _DECIMAL.fullmatch(kind)
    if found is None:
        return stored
    return str(Decimal(int.from_bytes(bytes.fromhex(stored), "big", signed=True)).scaleb(-int(found[1])))
