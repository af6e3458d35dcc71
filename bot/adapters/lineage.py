"""Who read which snapshot: a file of OpenLineage events (one JSON a line), and several sources as one."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import TypeVar

import structlog
from pydantic import ValidationError

from bot.adapters.lineage_downstream import downstream_in
from bot.adapters.lineage_events import LineageEvent, is_before
from bot.adapters.lineage_names import CatalogNames, refused
from bot.adapters.lineage_reads import reads_in, united
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
    """Reads the whole file at each look.

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
        events, bad = self._events(since)
        told = reads_in(events, table, self._names.of(table), since)
        if bad:
            _log.warning("lineage events could not be read", path=str(self._path), lines=bad[:20], count=len(bad))
            if not told:
                raise CouldNotLook(
                    f"Who read {table.name} is not known: lineage events could not be read.",
                    f"Expected one OpenLineage event a line in {self._path}; found {len(bad)} lines that are not, "
                    f"the first is line {bad[0]}.",
                    "Repair or remove these lines, then look again.",
                )
        unknown = self._names.unknown(events, table, since)
        if unknown is not None and not told:
            raise refused(table, unknown)
        return _part(told, self._unread(bad, unknown))

    def downstream(self, table: TableState, since: datetime) -> tuple[FarRead, ...]:
        """See the port. Raises CouldNotLook."""
        events, bad = self._events(since)
        far = downstream_in(events, table, self._names.of(table), since)
        return _part(far, self._unread(bad, self._names.unknown(events, table, since)))

    def _unread(self, bad: list[int], unknown: str | None) -> list[str]:
        lines = counted(len(bad), "line")
        told = [f"{lines} of {self._path.name} could not be read, the first is line {bad[0]}"] if bad else []
        return told if unknown is None else [*told, unknown]

    def _events(self, since: datetime) -> tuple[list[LineageEvent], list[int]]:
        """The readable events, and the numbers of the lines that are none and may be of after `since`."""
        events: list[LineageEvent] = []
        bad: list[int] = []
        try:
            with self._path.open("rb") as lines:
                for number, line in enumerate(lines, start=1):
                    if not line.strip():
                        continue
                    try:
                        events.append(LineageEvent.model_validate_json(line))
                    except ValidationError:
                        if line.endswith(b"\n") and not is_before(line, since):
                            bad.append(number)
        except OSError as error:
            raise CouldNotLook(
                "Lineage events could not be read.",
                f"Expected a readable file {self._path}; found {type(error).__name__}: {error.strerror}.",
                "Check `lineage.events` in the configuration, and that the file is readable here.",
            ) from error
        return events, bad


def _part(values: Iterable[T], unread: Sequence[str]) -> tuple[T, ...]:
    return Part.of(values, "; ".join(unread)) if unread else tuple(values)
