"""Who read which snapshot: a file of OpenLineage events (one JSON a line), and several sources as one."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from pydantic import ValidationError

from bot.adapters.lineage_reading import EventSource, LineageEvent, Unreadable, is_before, part_of, united
from bot.domain.errors import CouldNotLook
from bot.domain.looked import unread_in
from bot.domain.reads import FarRead, ReadRun
from bot.domain.sentences import counted
from bot.domain.table import TableState
from bot.ports import ReadEvents

MAX_EVENTS = 100_000
"""All are held while they are looked at; with more the look is given up, and that is said."""


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
        return part_of(found, unread)

    def downstream(self, table: TableState, since: datetime) -> tuple[FarRead, ...]:
        """See the port. A way that leads through runs of two sources is not seen; one source that fails fails all."""
        self._refuse_no_source()
        told = [source.downstream(table, since) for source in self._sources]
        found = sorted((far for each in told for far in each), key=lambda far: (far.distance, far.at, far.run_id))
        return part_of(dict.fromkeys(found), [what for each in told if (what := unread_in(each))])

    def _refuse_no_source(self) -> None:
        if not self._sources:
            raise CouldNotLook(
                "It is not known who read the table.",
                "Expected OpenLineage events; no source is configured.",
                "Set `lineage.events` or `lineage.marquez` in the configuration file.",
            )


class OpenLineageFile(EventSource):
    """Reads each line of the file at each look. The last line may be half written: it is left out silently, as is one
    that tells a time before the look."""

    def __init__(self, path: Path, catalog: str, other_names: Sequence[str] | None = None) -> None:
        """`other_names`: what else engines call the catalog; None: not told."""
        super().__init__(catalog, other_names)
        self._path = path

    def events(self, since: datetime) -> tuple[list[LineageEvent], Unreadable | None]:
        events, bad = list[LineageEvent](), list[int]()
        try:
            with self._path.open("rb") as file:
                for number, line in enumerate(file, start=1):
                    try:
                        event = LineageEvent.model_validate_json(line)
                    except ValidationError:
                        if line.strip() and line.endswith(b"\n") and not is_before(line, since):
                            bad.append(number)
                        continue
                    if event.at >= since:
                        events.append(event)
                    if len(events) > MAX_EVENTS:
                        raise self._too_many(since)
        except OSError as error:
            raise CouldNotLook(
                "Lineage events could not be read.",
                f"Expected a readable file {self._path}; found {type(error).__name__}: {error.strerror}.",
                "Check `lineage.events` in the configuration, and that the file is readable here.",
            ) from error
        if not bad:
            return events, None
        return events, Unreadable(
            what="lineage events",
            found=f"Expected one OpenLineage event per line in {self._path}; {len(bad)} lines are not. The first is "
            f"line {bad[0]}.",
            remedy="Repair or remove these lines, then look again.",
            said=f"{counted(len(bad), 'line')} of {self._path.name} could not be read, the first is line {bad[0]}",
        )

    def _too_many(self, since: datetime) -> CouldNotLook:
        return CouldNotLook(
            f"The file {self._path} holds too many lineage events to read.",
            f"Expected at most {MAX_EVENTS:,} since {since:%Y-%m-%d %H:%M} UTC; found more.",
            "Choose a window that begins later.",
        )
