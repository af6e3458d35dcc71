"""A history of `sales.orders` in one line: `a1[0:10] | a2[10:20] b2[15:25]k100`.

`a2[10:20]`: run a commits checkpoint 2 with positions 10 to 19. The brackets hold slices as Python has them, single
positions, and `-` for none: `[0:10,15,-]`. After them, `p3` says that these rows are of source partition 3, `p-` of
none; `k100` that their keys begin at 100, and `k[7,7,9]` which they are. More brackets are more rows of one file.
`+[0:5]`: another engine appends. `drop[0:5]`: it deletes the rows at these positions. `|`: the window begins.
`back`: main is rolled back to where the window begins; `back0`: to the first commit.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

import pyarrow as pa

from bot.observation.ids import SnapshotId
from tests.tables import OrdersTable, of_flink, rows

_COMMIT = re.compile(r"([a-z]|\+)(\d*)(\[.*)")
_PART = re.compile(r"\[([^\]]*)\](?:p(-?\d+|-))?(?:k(?:\[([^\]]*)\]|(\d+)))?")


class History(NamedTuple):
    """What was written."""

    before: SnapshotId | None
    """After which commit the window begins; None: it is the whole table."""
    commits: list[SnapshotId]
    """In the order of the line; deletes, too."""


def write(orders: OrdersTable, line: str) -> History:
    """Commit what the line says."""
    before, commits = None, list[SnapshotId]()
    for word in line.split():
        if word == "|":
            before = commits[-1]
        elif word.startswith("back"):
            to = commits[int(word[4:])] if word[4:] else before
            assert to is not None
            orders.rolls_back_to(to)
        elif word.startswith("drop"):
            low, high = word.removeprefix("drop[").rstrip("]").split(":")
            commits.append(orders.deletes(f"source_position >= {low} and source_position < {high}"))
        else:
            commits.append(_commit(orders, word))
    return History(before, commits)


def _commit(orders: OrdersTable, word: str) -> SnapshotId:
    found = _COMMIT.fullmatch(word)
    assert found, word
    run, checkpoint, parts = found.groups()
    return orders.appends(table_of(parts), {} if run == "+" else of_flink(run, int(checkpoint)))


def table_of(parts: str) -> pa.Table:
    """The rows of one file: `[0:10]p0[5:8]p1k100`."""
    assert _PART.sub("", parts) == "", parts
    return pa.concat_tables([_rows(*found.groups()) for found in _PART.finditer(parts)])


def _rows(listed: str, partition: str | None, keys: str | None, first: str | None) -> pa.Table:
    places = list(_numbers(listed))
    begin = int(first) if first is not None else None
    orders = range(begin, begin + len(places)) if begin is not None else _numbers(keys) if keys is not None else None
    return rows(places, partition=None if partition == "-" else int(partition or 0), orders=orders)


def _numbers(listed: str) -> Iterator[int | None]:
    for word in filter(None, listed.split(",")):
        if ":" in word:
            yield from range(*(int(each) for each in word.split(":")))
        else:
            yield None if word == "-" else int(word)
