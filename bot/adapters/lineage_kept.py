"""Events of lineage, kept as they came: one a line, under an address that says what is needed to read them."""

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit

from pydantic import JsonValue, ValidationError

from bot.adapters.lineage_events import CatalogNames, LineageEvent
from bot.adapters.lineage_reads import reads_in
from bot.domain.reads import ReadRun
from bot.domain.table import TableState

LINEAGE = "openlineage:"
MOST_BYTES = 32 * 1024 * 1024


def kept_events(
    path: Path, catalog: str, table: TableState, since: datetime, other_names: Sequence[str] | None = None
) -> tuple[str, bytes]:
    """(Address, events) of those lines in which the table is named in any way; the newest where they are too many.

    `other_names`: what else engines call the catalog. Raises OSError when the file cannot be read.
    """
    with path.open("rb") as lines:
        return _address(str(path), CatalogNames(catalog, other_names), since), _about(lines, table)


def kept_answers(
    source: str, names: CatalogNames, events: Iterable[JsonValue], table: TableState, since: datetime
) -> tuple[str, bytes]:
    """(Address, events) of what a service answered, as `kept_events` of a file; `source` is its address."""
    return _address(source, names, since), _about((json.dumps(event).encode() for event in events), table)


def reads_again(address: str, events: bytes, table: TableState) -> tuple[ReadRun, ...]:
    """Who read the table, from kept events. Raises ValueError, KeyError for another address."""
    asked = parse_qs(urlsplit(address).query)
    since = datetime.fromisoformat(asked["since"][0])
    told = []
    for line in events.splitlines():
        try:
            told.append(LineageEvent.model_validate_json(line))
        except ValidationError:
            continue
    own, *others = asked["catalog"]
    return reads_in(told, table, CatalogNames(own, others).of(table), since)


def _address(source: str, names: CatalogNames, since: datetime) -> str:
    asked = urlencode({"catalog": names.all, "since": since.isoformat()}, doseq=True)
    return f"{LINEAGE}{source}?{asked}"


def _about(lines: Iterable[bytes], table: TableState) -> bytes:
    names = {table.name.rpartition(".")[2].encode(), table.location.rstrip("/").rpartition("/")[2].encode()}
    kept: list[bytes] = []
    size = 0
    for line in reversed([line.strip() for line in lines if any(name in line for name in names)]):
        size += len(line)
        if size > MOST_BYTES:
            break
        kept.append(line)
    return b"\n".join(reversed(kept))
