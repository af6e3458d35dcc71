"""A history of `sales.orders` in one line: `a1[0:10] | a2[10:20] b2[15:25]k100`.

`a2[10:20]`: run a commits checkpoint 2 with positions 10 to 19. The brackets hold slices as Python has them, single
positions, and `-` for none: `[0:10,15,-]`. After them, `p3` says that these rows are of source partition 3, `p-` of
none; `k100` that their keys begin at 100, and `k[7,7,9]` which they are. More brackets are more rows of one file.
`a2^[10:15]k5~[1,2]`: run a upserts, and the rows with the keys behind `~` go without a successor.
`+[0:5]`: another engine appends. `drop[0:5]`: it deletes the rows at these positions, `drop[0:5]p1` those of partition
1 alone, `dropk[0:5]` those with these keys. `compact[0:5]`: it writes all rows anew, which are these.
`repair:` before a commit or a delete: an approved repair does it. `|`: the window begins.
`back`: main is rolled back to where the window begins; `back0`: to the first commit.
"""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import pyarrow as pa

from bot.observation.ids import SnapshotId
from bot.observation.snapshot import REPAIR
from tests.tables import OrdersTable, of_flink, rows
from tests.upserts import upserts

_COMMIT = re.compile(r"([a-z]|\+)(\d*)(\^?)(\[[^~]*)(?:~\[(.*)\])?")
_DROP = re.compile(r"drop(k?)\[(-?\d+):(-?\d+)\](?:p(\d+))?")
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
    for each in line.split():
        word = each.removeprefix("repair:")
        by = {REPAIR: "x/1"} if word != each else {}
        if word == "|":
            before = commits[-1]
        elif word.startswith("back"):
            to = commits[int(word[4:])] if word[4:] else before
            assert to is not None
            orders.rolls_back_to(to)
        elif word.startswith("drop"):
            commits.append(orders.deletes(_where(word), by))
        elif word.startswith("compact"):
            commits.append(orders.compacts(table_of(word.removeprefix("compact"))))
        else:
            commits.append(_commit(orders, word, by))
    return History(before, commits)


def _where(word: str) -> str:
    found = _DROP.fullmatch(word)
    assert found, word
    by_key, low, high, partition = found.groups()
    column = "order_id" if by_key else "source_position"
    of_partition = f" and source_partition = {partition}" if partition else ""
    return f"{column} >= {low} and {column} < {high}{of_partition}"


def _commit(orders: OrdersTable, word: str, by: Mapping[str, str]) -> SnapshotId:
    found = _COMMIT.fullmatch(word)
    assert found, word
    run, checkpoint, is_upsert, parts, gone = found.groups()
    made = table_of(parts)
    if is_upsert:
        places, keys = (made[name].to_pylist() for name in ("source_position", "order_id"))
        return upserts(
            orders, run, int(checkpoint), places, keys=keys, deletes=[int(n) for n in (gone or "").split(",") if n]
        )
    return orders.appends(made, by if run == "+" else of_flink(run, int(checkpoint), by))


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
