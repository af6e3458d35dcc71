"""The lines of a file of OpenLineage events: which are none, and which tell of the runs that are asked for."""

import errno
import re
from array import array
from collections.abc import Callable, Iterator, Set
from datetime import datetime
from typing import BinaryIO

from pydantic import BaseModel, Field, ValidationError

from bot.adapters.lineage_events import LineageEvent, is_before

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
