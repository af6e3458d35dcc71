"""Who read which snapshot: a file of OpenLineage events (one JSON a line), and several sources as one."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import structlog
from pydantic import ValidationError

from bot.adapters.lineage_downstream import downstream_in
from bot.adapters.lineage_events import LineageEvent, reads_in, united
from bot.domain.errors import CouldNotLook
from bot.domain.reads import FarRead, ReadRun
from bot.domain.table import TableState
from bot.ports import ReadEvents

_log = structlog.get_logger(__name__)


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
        for source in self._sources:
            try:
                told += source.reads(table, since)
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
        return found

    def downstream(self, table: TableState, since: datetime) -> tuple[FarRead, ...]:
        """See the port. A way that leads through runs of two sources is not seen; one source that fails fails all."""
        found = [far for source in self._sources for far in source.downstream(table, since)]
        return tuple(dict.fromkeys(sorted(found, key=lambda far: (far.distance, far.at, far.run_id))))


class OpenLineageFile:
    """Reads the whole file at each look.

    A line that cannot be read does not hide the others. But when nothing was found *and* lines could not be
    read, that is "could not look", never "nobody read it". The last line may be half written: it is left
    out silently.
    """

    def __init__(self, path: Path, catalog: str) -> None:
        self._path = path
        self._catalog = catalog

    def reads(self, table: TableState, since: datetime) -> tuple[ReadRun, ...]:
        """See the port. Raises CouldNotLook."""
        events, bad = self._events()
        told = reads_in(events, table, self._catalog, since)
        if bad:
            _log.warning("lineage events could not be read", path=str(self._path), lines=bad[:20], count=len(bad))
            if not told:
                raise CouldNotLook(
                    f"Who read {table.name} is not known: lineage events could not be read.",
                    f"Expected one OpenLineage event a line in {self._path}; found {len(bad)} lines that are not, "
                    f"the first is line {bad[0]}.",
                    "Repair or remove these lines, then look again.",
                )
        return told

    def downstream(self, table: TableState, since: datetime) -> tuple[FarRead, ...]:
        """See the port. Lines that cannot be read hide no others. Raises CouldNotLook."""
        return downstream_in(self._events()[0], table, self._catalog, since)

    def _events(self) -> tuple[list[LineageEvent], list[int]]:
        """The readable events, and the numbers of the lines that are none."""
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
                        if line.endswith(b"\n"):
                            bad.append(number)
        except OSError as error:
            raise CouldNotLook(
                "Lineage events could not be read.",
                f"Expected a readable file {self._path}; found {type(error).__name__}: {error.strerror}.",
                "Check `lineage.events` in the configuration, and that the file is readable here.",
            ) from error
        return events, bad
