"""Who read which snapshot: a file of OpenLineage events (one JSON a line), and several sources as one.

Which runs of a file of events somebody's outputs may have reached: only their events are held.
"""

import errno
import math
import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import BinaryIO, TypeVar

import structlog
from pydantic import BaseModel, Field, ValidationError

from bot.adapters.lineage_reading import (
    MOST_STEPS,
    CatalogNames,
    LineageEvent,
    downstream_in,
    is_before,
    is_read_of,
    like,
    reads_in,
    refused,
    united,
)
from bot.domain.errors import CouldNotLook
from bot.domain.looked import Part, unread_in
from bot.domain.reads import FarRead, ReadRun
from bot.domain.sentences import counted
from bot.domain.table import TableState
from bot.ports import ReadEvents

_NAMED = 20
"""So many lines that are no events are known by number; the others are counted."""
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?(Z|[+-]\d\d:\d\d)", re.ASCII)
"""A time that means the same to `LineageEvent` and to `is_before`."""
Key = int
"""Of a run: the hash of its id. Two runs may share one; then both are read."""


class _BriefRun(BaseModel):
    run_id: str = Field(alias="runId")


class _Brief(BaseModel):
    """What is read of each line. All of it is parsed, so that none passes that is no JSON, but no more is made of it:
    that takes a third of the time of a `LineageEvent`."""

    at: str = Field(alias="eventTime")
    run: _BriefRun | None = None


class EventLines:
    """Every line of a file, seen once: 24 bytes of each that tells of a run are held, and no event.

    Of a line from before `since` only its time and its run are read: if more of it is wrong, nobody is told so.
    """

    def __init__(self, file: BinaryIO, since: datetime, is_asked_for: Callable[[LineageEvent], bool]) -> None:
        """`is_asked_for`: whether the run of this event, which came after `since` (exclusive), is one of `asked`."""
        self._file = file
        self._runs, self._times, self._starts = array("q"), array("d"), array("q")
        self.asked: set[Key] = set()
        self.bad: list[int] = []
        """The numbers of the first lines that are no events and may be of after `since`; the last line only where it
        ends, as it may be half written."""
        self.bad_count = 0
        start = 0
        for number, line in enumerate(file, start=1):
            if line.strip() and not self._is_old(line, start, since):
                try:
                    event = LineageEvent.model_validate_json(line)
                except ValidationError:
                    if line.endswith(b"\n") and not is_before(line, since):
                        self.bad_count += 1
                        self.bad += [number] if self.bad_count <= _NAMED else []
                else:
                    if event.run is not None:
                        self._add(event.run.run_id, event.at, start)
                        if event.at > since and is_asked_for(event):
                            self.asked.add(hash(event.run.run_id))
            start += len(line)

    def of(self, runs: Set[Key]) -> Iterator[LineageEvent]:
        """Every event of these runs, in the order of the file, whenever it came. *cost*: their lines are read again.

        Raises OSError where the file has become shorter: what was there may have told of them.
        """
        for start in [start for run, start in zip(self._runs, self._starts, strict=True) if run in runs]:
            self._file.seek(start)
            line = self._file.readline()
            if not line:
                raise OSError(errno.EIO, "it became shorter while it was read")
            try:
                yield LineageEvent.model_validate_json(line)
            except ValidationError:
                continue

    def alive(self, timestamp: float) -> set[Key]:
        """The runs of which anything was told at this time or later."""
        return {run for run, at in zip(self._runs, self._times, strict=True) if at >= timestamp}

    def _is_old(self, line: bytes, start: int, since: datetime) -> bool:
        """Whether it surely tells a time before `since`; its run is added then."""
        try:
            brief = _Brief.model_validate_json(line)
        except ValidationError:
            return False
        if not _MOMENT.fullmatch(brief.at):
            return False
        try:
            at = datetime.fromisoformat(brief.at)
        except ValueError:
            return False
        if at >= since:
            return False
        if brief.run is not None:
            self._add(brief.run.run_id, at, start)
        return True

    def _add(self, run_id: str, at: datetime, start: int) -> None:
        self._runs.append(hash(run_id))
        self._times.append(at.timestamp())
        self._starts.append(start)


def runs_reached(lines: EventLines, origins: Set[Key]) -> set[Key]:
    """The origins, and all that may have read what they wrote, directly or through others: rather too many.

    Who was last told of before the first of those who wrote had begun is none of them. *cost*: the events of all that
    were told of since then are read, one at a time; places of their inputs are held.
    """
    known: set[Key] = set()
    new = set(origins)
    looked_at: set[Key] = set()
    readers_of: dict[str, set[Key]] = {}
    written: set[str] = set()
    first_at = math.inf
    for _ in range(MOST_STEPS):
        if not new:
            break
        for event in lines.of(new):
            first_at = min(first_at, event.at.timestamp())
            written |= {place for each in event.outputs for place in each.places}
        known |= new
        alive = lines.alive(first_at) - looked_at
        for event in lines.of(alive):
            if event.run is None:
                continue
            for place in {place for each in event.inputs for place in each.places}:
                readers_of.setdefault(place, set()).add(hash(event.run.run_id))
        looked_at |= alive
        new = set().union(*(readers_of.get(place, ()) for place in written)) - known
    return known | new


_log = structlog.get_logger(__name__)
T = TypeVar("T")


class AllLineage:
    """Every configured source, asked one after the other. Where one cannot be read, who read the table is not known:
    a reader may be in just that one."""

    def __init__(self, sources: Sequence[ReadEvents]) -> None:
        self._sources = tuple(sources)

    def reads(self, table: TableState, since: datetime) -> tuple[ReadRun, ...]:
        """See the port. A run and snapshot that two sources tell counts once, at the later time."""
        self._refuse_no_source()
        told: list[ReadRun] = []
        failed: list[CouldNotLook] = []
        unread: list[str] = []
        for source in self._sources:
            try:
                these = source.reads(table, since)
                told += these
                unread += [what] if (what := unread_in(these)) else []
            except CouldNotLook as error:
                failed.append(error)
        found = united(told)
        if failed and len(self._sources) == 1:
            raise failed[0]
        if failed:
            raise CouldNotLook(
                f"Not all readers of {table.name} are known: {' '.join(error.happened for error in failed)}",
                f"The other sources have {len(found)} read(s). {' '.join(error.found for error in failed)}",
                " ".join(dict.fromkeys(error.remedy for error in failed)),
            )
        return _part(found, unread)

    def downstream(self, table: TableState, since: datetime) -> tuple[FarRead, ...]:
        """See the port. A way that leads through runs of two sources is not seen; one source that fails fails all."""
        self._refuse_no_source()
        told = [source.downstream(table, since) for source in self._sources]
        found = sorted((far for each in told for far in each), key=lambda far: (far.distance, far.at, far.run_id))
        return _part(dict.fromkeys(found), [what for each in told if (what := unread_in(each))])

    def _refuse_no_source(self) -> None:
        if not self._sources:
            raise CouldNotLook(
                "It is not known who read the table.",
                "Expected OpenLineage events; no source is configured.",
                "Set `lineage.events` or `lineage.marquez` in the configuration file.",
            )


class OpenLineageFile:
    """Reads each line of the file at each look, and holds no more of it than the events of the runs that count.

    A line that cannot be read does not hide the others, and is counted beside them: who is not among them may be in
    it. When nothing was found *and* lines could not be read, that is "could not look", never "nobody read it". The
    last line may be half written: it is left out silently, as is one that tells a time before the look. A read under a
    name that may be the table's is held like a line that cannot be read.
    """

    def __init__(self, path: Path, catalog: str, other_names: Sequence[str] | None = None) -> None:
        """`other_names`: what else engines call the catalog; None: not told."""
        self._path = path
        self._names = CatalogNames(catalog, other_names)

    def reads(self, table: TableState, since: datetime) -> tuple[ReadRun, ...]:
        """See the port. Raises CouldNotLook."""
        with self._lines(table, since) as lines:
            events = list(lines.of(lines.asked))
        told = reads_in(events, table, self._names.of(table), since)
        if lines.bad:
            _log.warning(
                "lineage events could not be read", path=str(self._path), lines=lines.bad, count=lines.bad_count
            )
            if not told:
                raise CouldNotLook(
                    f"It is not known who read {table.name}: lineage events could not be read.",
                    f"Expected one OpenLineage event per line in {self._path}; {lines.bad_count} lines are not. The "
                    f"first is line {lines.bad[0]}.",
                    "Repair or remove these lines, then look again.",
                )
        unknown = self._names.unknown(events, table, since)
        if unknown is not None and not told:
            raise refused(table, unknown)
        return _part(told, self._unread(lines, unknown))

    def downstream(self, table: TableState, since: datetime) -> tuple[FarRead, ...]:
        """See the port. Raises CouldNotLook."""
        with self._lines(table, since) as lines:
            events = list(lines.of(runs_reached(lines, lines.asked)))
        far = downstream_in(events, table, self._names.of(table), since)
        return _part(far, self._unread(lines, self._names.unknown(events, table, since)))

    def _unread(self, lines: EventLines, unknown: str | None) -> list[str]:
        count = counted(lines.bad_count, "line")
        told = (
            [f"{count} of {self._path.name} could not be read, the first is line {lines.bad[0]}"] if lines.bad else []
        )
        return told if unknown is None else [*told, unknown]

    @contextmanager
    def _lines(self, table: TableState, since: datetime) -> Iterator[EventLines]:
        """The file's lines; asked for are the runs with an input that is the table, or may be it."""
        names = self._names.of(table)

        def is_asked_for(event: LineageEvent) -> bool:
            return any(is_read_of(each, table, names) or like(each, table) is not None for each in event.inputs)

        try:
            with self._path.open("rb") as file:
                yield EventLines(file, since, is_asked_for)
        except OSError as error:
            raise CouldNotLook(
                "Lineage events could not be read.",
                f"Expected a readable file {self._path}; found {type(error).__name__}: {error.strerror}.",
                "Check `lineage.events` in the configuration, and that the file is readable here.",
            ) from error


def _part(values: Iterable[T], unread: Sequence[str]) -> tuple[T, ...]:
    return Part.of(values, "; ".join(unread)) if unread else tuple(values)
