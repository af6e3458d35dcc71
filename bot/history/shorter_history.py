"""The same case, of a table with a shorter history: a diagnosis costs what its window costs, however old the table is.

Below the window most commits come in stretches: of one run, alike, each on top of the one before, at a higher
checkpoint. No rule asks for one of them alone. Rules ask which of them came first or last, and compare their place,
time and checkpoint with what the case names. So of each stretch stay both ends and what lies near anything that the
case names. The others are left out, as though the job had made fewer commits; sequence numbers count on without them.
"""

import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import chain, islice, pairwise
from typing import NamedTuple

from bot.history.case import Case
from bot.observation.ids import SnapshotId
from bot.observation.listed import NONE, Listed
from bot.observation.table import HeadMove, HeadMoves, Snapshot, TableState

KEPT = 10
"""So many commits stay at each end of a stretch, and around whatever is named: more than any rule counts."""
NEAR = timedelta(hours=1)
"""What came so shortly before or after a moment that the case names stays: rules allow for clocks that differ, and for
commits that are late."""
_NUMBER = re.compile(r"(?<![\w.])\d{1,19}(?!\w)")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)")
_MILLIS = range(10**12, 10**13)
Spans = list[tuple[int, int]]
"""Places in the list of snapshots, both ends inclusive, rising and apart."""


class _Named(NamedTuple):
    """What the case and the rest of the history name, each rising; moments in milliseconds since 1970."""

    places: Sequence[int]
    numbers: Sequence[int]
    """Any of them may be a checkpoint's id."""
    moments: Sequence[int]
    """Of the case."""
    instants: Sequence[int]
    """Of the table: commits there are in order but for clocks that differ between lines."""


class _Moved(NamedTuple):
    """Lines of the snapshot log, one after the other, by which main went over snapshots that are listed so, too."""

    line: int
    place: int | None
    """None: of one line, whose snapshot is no longer listed."""
    length: int


def shortened(case: Case) -> Case:
    """The case itself where its window or that of evidence has no beginning, or its table a short history."""
    table = case.observation.table
    snapshots, moves = table.snapshots, table.head_moves
    if not isinstance(snapshots, Listed) or not isinstance(moves, HeadMoves):
        return case
    stretches = list(_stretches(snapshots, table.head, _edge(case)))
    if not stretches:
        return case
    log = list(_log(moves.ids, snapshots))
    named = _named(case, snapshots, stretches, log)
    left_out = [span for stretch in stretches for span in _left_out(snapshots, stretch, named)]
    shorter = case.observation.model_copy(update={"table": _without(table, snapshots, left_out, log)})
    return case.model_copy(update={"observation": shorter})


def reaches_below(case: Case, told: str) -> bool:
    """Whether what is told of the shorter history names a commit below the window and that of all evidence: then it may
    list or count some that were left out, and only the whole history answers."""
    table, edge = case.observation.table, _edge(case)
    return any(0 <= table.place_of(SnapshotId(int(each))) < edge for each in _NUMBER.findall(told))


def _edge(case: Case) -> int:
    table, windows = case.observation.table, (case.window, *(each.window for each in case.evidence))
    return min(table.place_of(window.since) for window in windows)


def _stretches(snapshots: Listed, head: SnapshotId | None, edge: int) -> Iterator[tuple[int, int]]:
    """The long ones of main up to the edge of the windows, but for runs whose ids do not rise from stretch to stretch:
    where a run counts its checkpoints anew, each may meet another one of its id."""
    _, parents, _, _, checkpoints, writers = snapshots.columns
    found, place = Spans(), snapshots.place(head)
    while place is not None:
        first = snapshots.begins[bisect_right(snapshots.begins, place) - 1]
        found.append((first, place))
        place = snapshots.place(parents[first])
    highest, anew = dict[int, int](), set[int]()
    for first, last in reversed(found):
        writer = writers[first]
        if checkpoints[first] <= highest.get(writer, NONE) and checkpoints[first] != NONE:
            anew.add(writer)
        highest[writer] = checkpoints[last]
    for first, last in reversed(found):
        if writers[first] not in anew and min(last, edge) - first > 2 * KEPT:
            yield first, min(last, edge)


def _log(ids: "array[int]", snapshots: Listed) -> Iterator[_Moved]:
    """Compared in pieces, as there is a line for every commit."""
    line, listed = 0, snapshots.columns.ids
    while line < len(ids):
        place, length, step = snapshots.place(ids[line]), 1, 1 << 16
        while place is not None and step:
            piece = ids[line + length : line + length + step]
            is_same = len(piece) == step and piece == listed[place + length : place + length + step]
            length, step = (length + step, step) if is_same else (length, step // 2)
        yield _Moved(line, place, length)
        line += length


def _named(case: Case, snapshots: Listed, stretches: Spans, log: Sequence[_Moved]) -> _Named:
    """By the case, by branches, tags and properties, and by all commits that are no part of such a stretch, or an end
    of one; and where main or a branch parted."""
    table, (ids, parents, _, moments, checkpoints, _) = case.observation.table, snapshots.columns
    told = [case.model_dump_json(exclude={"observation": {"table"}}), table.read_at.isoformat()]
    told += [*table.properties.values(), *(str(ref.snapshot_id) for ref in table.refs)]
    told += [value for place in snapshots.naming for value in snapshots.summary_at(place).values()]
    text = "\n".join(told)
    bounds = pairwise((0, *chain.from_iterable(stretches), len(ids) - 1))
    others = [place for first, last in islice(bounds, 0, None, 2) for place in range(first, last + 1)]
    numbers = {int(each) for each in _NUMBER.findall(text)}
    ends = {end for each in log if each.place is not None for end in (each.line, each.line + each.length - 1)}
    listed = (*numbers, *(parents[place] for place in others), *(table.head_moves[end].snapshot_id for end in ends))
    instants = {moments[place] for place in others} | {_millis(table.head_moves[end].at) for end in ends}
    return _Named(
        places=sorted({place for each in listed if (place := snapshots.place(each)) is not None}),
        numbers=sorted(numbers | {checkpoints[place] for place in others}),
        moments=sorted(
            {_millis(datetime.fromisoformat(each)) for each in {*_MOMENT.findall(text)}}
            | {each for each in numbers if each in _MILLIS}
        ),
        instants=sorted(instants),
    )


def _millis(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)


def _left_out(snapshots: Listed, stretch: tuple[int, int], named: _Named) -> Spans:
    (first, last), near = stretch, round(NEAR.total_seconds() * 1000)
    _, _, _, moments, checkpoints, _ = snapshots.columns
    stay = [(place, place) for place in (first, last, *_within(named.places, first, last))]
    for number in _within(named.numbers, checkpoints[first], checkpoints[last]):
        stay.append((place := bisect_left(checkpoints, number, first, last + 1), place))
    for instant in _within(named.instants, moments[first], moments[last]):
        stay.append((bisect_left(moments, instant, first, last + 1), bisect_right(moments, instant, first, last + 1)))
    for moment in _within(named.moments, moments[first] - near, moments[last] + near):
        begins = bisect_left(moments, moment - near, first, last + 1)
        stay.append((begins, bisect_right(moments, moment + near, begins, last + 1)))
    found, free = Spans(), first
    for begins, ends in sorted(stay):
        if begins - KEPT > free:
            found.append((free, begins - KEPT - 1))
        free = max(free, ends + KEPT + 1)
    return found


def _within(rising: Sequence[int], low: int, high: int) -> Sequence[int]:
    """Both inclusive."""
    return rising[bisect_left(rising, low) : bisect_right(rising, high)]


def _without(table: TableState, snapshots: Listed, left_out: Spans, log: Sequence[_Moved]) -> TableState:
    ids, numbers = snapshots.columns.ids, snapshots.columns.sequence_numbers
    kept, places, gone, free = list[Snapshot](), array("I"), 0, 0
    for first, last in (*left_out, (len(ids), len(ids) - 1)):
        for place in range(free, first):
            parent = {"parent_id": ids[places[-1]]} if place == free and free else {}
            own = {"sequence_number": max(numbers[place] - gone, 0), "summary": dict(snapshots.summary_at(place))}
            kept.append(snapshots[place].model_copy(update=own | parent))
            places.append(place)
        gone, free = gone + last + 1 - bisect_right(numbers, 0, first, last + 1), last + 1
    newest = table.last_sequence_number
    changes: dict[str, object] = {
        "snapshots": tuple(kept),
        "head_moves": tuple(move for each in log for move in _lines(table, each, places)),
        "last_sequence_number": newest - gone if newest else newest,
    }
    return TableState.model_construct(**{name: getattr(table, name) for name in TableState.model_fields} | changes)


def _lines(table: TableState, moved: _Moved, kept: Sequence[int]) -> Iterator[HeadMove]:
    """Those of the log whose snapshots are kept, or were no longer listed."""
    line, place, length = moved
    if place is None:
        yield table.head_moves[line]
        return
    for each in _within(kept, place, place + length - 1):
        yield table.head_moves[line + each - place]
