"""Manifests that were kept in a saved case, counted again and held against what evidence had counted with Spark."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from pyiceberg.manifest import DataFileContent, ManifestEntry, ManifestEntryStatus, ManifestFile

from bot.adapters.kept_file import entries_in, manifests_in
from bot.domain.diagnosis import Case
from bot.domain.findings import LeakedManifest
from bot.domain.ids import short
from bot.domain.ledger import LedgerRow
from bot.domain.table import Snapshot


@dataclass
class Counted:
    """How many were read, and what they say otherwise."""

    lists: int = 0
    manifests: int = 0
    differences: list[str] = field(default_factory=list)


def manifests_again(case: Case, raw: Mapping[str, bytes]) -> Counted:
    """Added files and rows of each commit, and of each Flink manifest that waits or leaked. Never raises."""
    told = Counted()
    by_id = {row.snapshot_id: row for row in (case.ledger.rows if case.ledger else ())}
    for snapshot in case.window.of(case.observation.table):
        if snapshot.manifest_list in raw:
            _of_commit(told, snapshot, by_id.get(snapshot.snapshot_id), raw)
    for leak in case.leaked.manifests if case.leaked is not None else ():
        if leak.path in raw:
            _of_flink(told, leak, raw[leak.path])
    return told


def _of_commit(told: Counted, snapshot: Snapshot, row: LedgerRow | None, raw: Mapping[str, bytes]) -> None:
    try:
        listed = manifests_in(snapshot.manifest_list, raw[snapshot.manifest_list])
        told.lists += 1
        own = [each for each in listed if each.added_snapshot_id == snapshot.snapshot_id]
        if any(each.manifest_path not in raw for each in own):
            return
        entries = list(_entries(told, own, raw))
    except (ValueError, OSError) as error:
        told.differences.append(f"manifests of {short(snapshot.snapshot_id)} cannot be read now: {error}")
        return
    if row is None:
        return
    added = [entry for entry in entries if entry.status is ManifestEntryStatus.ADDED]
    data = [entry for entry in added if entry.data_file.content is DataFileContent.DATA]
    counted = {
        "files": (row.added_files, len(data)),
        "rows": (row.added_rows, sum(entry.data_file.record_count for entry in data)),
        "delete files": (row.added_delete_files, len(added) - len(data)),
    }
    told.differences += [
        f"commit {short(snapshot.snapshot_id)}: recorded {then} added {what}, its manifests hold {now}"
        for what, (then, now) in counted.items()
        if then != now
    ]


def _entries(told: Counted, manifests: list[ManifestFile], raw: Mapping[str, bytes]) -> Iterator[ManifestEntry]:
    for manifest in manifests:
        yield from entries_in(raw[manifest.manifest_path])
        told.manifests += 1


def _of_flink(told: Counted, leak: LeakedManifest, content: bytes) -> None:
    try:
        entries = entries_in(content)
    except (ValueError, OSError) as error:
        if leak.files is not None:
            told.differences.append(f"Flink manifest {leak.path} cannot be read now: {error}")
        return
    told.manifests += 1
    rows = sum(e.data_file.record_count for e in entries if e.data_file.content is DataFileContent.DATA)
    if (leak.files, leak.rows) != (len(entries), rows):
        told.differences.append(
            f"Flink manifest {leak.path}: recorded {leak.files} files and {leak.rows} rows, it holds {len(entries)} "
            f"and {rows}"
        )
