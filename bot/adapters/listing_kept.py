"""The listing of a table's metadata folder, kept in a saved case: the names from which Flink's manifests are told."""

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from pyarrow.fs import FileSelector, FileType
from pydantic import TypeAdapter

from bot.adapters.case_comparing import differences
from bot.adapters.iceberg.storage import Opened
from bot.adapters.table_files import manifest_named
from bot.domain.evidence import Observation
from bot.domain.looked import Seen
from bot.domain.pairing import folder_of_manifests
from bot.domain.table import TableState

LISTING = "listing:"
MOST_NAMES = 10_000
_ICEBERGS_OWN = re.compile(r"snap-.*|.*-m\d+\.avro|.*\.metadata\.json(\.gz)?|.*\.crc|.*\.stats|version-hint\.text")
_LINES = TypeAdapter(list[tuple[str, int, datetime | None]])
_CLOCKS = timedelta(seconds=10)
"""How far the clocks of storage and of the bot may be apart."""


def listing_of(table: TableState, of_table: Opened) -> tuple[str, bytes]:
    """(Address, names with size and time) of what Iceberg did not name itself. Raises what pyarrow raises."""
    folder = folder_of_manifests(table)
    files, path = of_table(folder)
    listed = sorted(files.get_file_info(FileSelector(path)), key=lambda info: str(info.base_name))
    told = [
        (info.base_name, info.size, info.mtime.astimezone(UTC).isoformat() if info.mtime is not None else None)
        for info in listed
        if info.type is FileType.File and not _ICEBERGS_OWN.fullmatch(info.base_name)
    ]
    return f"{LISTING}{folder}", json.dumps(told[:MOST_NAMES]).encode()


def names_again(observed: Observation, raw: Mapping[str, bytes]) -> tuple[int, tuple[str, ...]]:
    """(How many names were read, where this version tells Flink's manifests otherwise).

    The sink deletes and writes while the case is saved, so only what lay there before the look counts as new.
    Raises ValueError for a listing of another form.
    """
    recorded = observed.flink_manifests
    kept = next((content for address, content in raw.items() if address.startswith(LISTING)), None)
    if kept is None or not isinstance(recorded, Seen):
        return 0, ()
    told: list[str] = []
    for each in recorded.values:
        now = manifest_named(each.path, each.bytes, each.written_at)
        what = f"Flink manifest {each.path}"
        told += differences(what, each, now) if now is not None else (f"{what} is not told as one now",)
    known = {each.path.rpartition("/")[2] for each in recorded.values}
    names = _LINES.validate_json(kept)
    before = observed.table.read_at - _CLOCKS
    told += [
        f"{name} is told as a Flink manifest only now"
        for name, size, at in names
        if name not in known and at is not None and at < before and manifest_named(name, size, at) is not None
    ]
    return len(names), tuple(told)
