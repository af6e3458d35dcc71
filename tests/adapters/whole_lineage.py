"""Lineage as a reader tells it that holds every event of a file: what the one that holds a few is measured by."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

from pydantic import ValidationError

from bot.adapters.lineage_reading import CatalogNames, LineageEvent, downstream_in, is_before, reads_in
from bot.domain.reads import FarRead, ReadRun
from bot.domain.table import TableState


class WholeLineage:
    """Every line is made an event; what follows is asked of all of them."""

    def __init__(self, path: Path, catalog: str, other_names: Sequence[str] | None = None) -> None:
        self._lines = tuple(_lines_of(path.read_bytes()))
        self._names = CatalogNames(catalog, other_names)

    def reads(self, table: TableState, since: datetime) -> tuple[ReadRun, ...]:
        """Who read it."""
        return reads_in(self.events(), table, self._names.of(table), since)

    def downstream(self, table: TableState, since: datetime) -> tuple[FarRead, ...]:
        """Who read what came of it."""
        return downstream_in(self.events(), table, self._names.of(table), since)

    def unknown(self, table: TableState, since: datetime) -> str | None:
        """Reads under names that are not known."""
        return self._names.unknown(self.events(), table, since)

    def events(self) -> list[LineageEvent]:
        """All that can be read."""
        return [event for line in self._lines if (event := _event(line)) is not None]

    def bad(self, since: datetime) -> list[int]:
        """The lines that cannot, unless they are old, blank, or the half of one."""
        return [
            number
            for number, line in enumerate(self._lines, start=1)
            if line.strip() and _event(line) is None and line.endswith(b"\n") and not is_before(line, since)
        ]


def _lines_of(text: bytes) -> Iterator[bytes]:
    *whole, last = text.split(b"\n")
    yield from (line + b"\n" for line in whole)
    if last:
        yield last


def _event(line: bytes) -> LineageEvent | None:
    try:
        return LineageEvent.model_validate_json(line)
    except ValidationError:
        return None
