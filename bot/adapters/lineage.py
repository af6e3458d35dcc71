"""Who read which snapshot: a file of OpenLineage events (one JSON a line), and several sources as one."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TypeVar

import structlog

from bot.adapters.lineage_downstream import downstream_in
from bot.adapters.lineage_events import LineageEvent
from bot.adapters.lineage_lines import EventLines
from bot.adapters.lineage_names import CatalogNames, like, refused
from bot.adapters.lineage_reach import runs_reached
from bot.adapters.lineage_reads import is_read_of, reads_in, united
from bot.domain.errors import CouldNotLook
from bot.domain.looked import Part, unread_in
from bot.domain.reads import FarRead, ReadRun
from bot.domain.sentences import counted
from bot.domain.table import TableState
from bot.ports import ReadEvents

_log = structlog.get_logger(__name__)
T = TypeVar("T")


class AllLineage:
    """Every configured source, asked one after the other. Where one cannot be read, who read the table is not known:
    a reader may be in just that one."""

    def __init__(self, sources: Sequence[ReadEvents]) -> None:
        self._sources = tuple(sources)

    def reads(self, table: TableState, since: datetime) -> tuple[ReadRun, ...]:
        """See the port. A run and snapshot that two sources tell counts once, at the later time."""
        if not self._sources:
            raise CouldNotLook(
                "Who read the table is not known.",
                "Expected OpenLineage events; no source is configured.",
                "Set `lineage.events` or `lineage.marquez` in the configuration file.",
            )
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
                f"Not all who read {table.name} are known: {' '.join(error.happened for error in failed)}",
                f"The others tell of {len(found)} read(s). {' '.join(error.found for error in failed)}",
                " ".join(dict.fromkeys(error.remedy for error in failed)),
            )
        return _part(found, unread)

    def downstream(self, table: TableState, since: datetime) -> tuple[FarRead, ...]:
        """See the port. A way that leads through runs of two sources is not seen; one source that fails fails all."""
        told = [source.downstream(table, since) for source in self._sources]
        found = sorted((far for each in told for far in each), key=lambda far: (far.distance, far.at, far.run_id))
        return _part(dict.fromkeys(found), [what for each in told if (what := unread_in(each))])


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
                    f"Who read {table.name} is not known: lineage events could not be read.",
                    f"Expected one OpenLineage event a line in {self._path}; found {lines.bad_count} lines that are "
                    f"not, the first is line {lines.bad[0]}.",
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
