"""The files that all evidence together found to be missing, cut or damaged."""

from bot.domain.diagnosis import Case
from bot.domain.findings import UnreadableFile
from bot.domain.ids import SnapshotId
from bot.domain.met_files import met_files
from bot.domain.paths import plain
from bot.domain.record import Record


class LostFiles(Record):
    """What the window's look, the whole table's and tasks that read rows have found, each file once."""

    files: tuple[UnreadableFile, ...]
    """Those that are named: metadata and delete files first."""
    damaged: tuple[str, ...]
    """Of these: what has its size and cannot be decoded."""
    count: int
    """At least so many there are."""
    is_all: bool
    """Whether all of them are named."""
    commits: tuple[SnapshotId, ...]
    """Those that added them, as far as they are named."""


def lost_files(case: Case) -> LostFiles:
    """Empty where nothing was found. A damaged file, of which only its name is known, is taken for a data file."""
    findings = [found for found in (case.unreadable, case.missing_files) if found is not None]
    found = {plain(each.path): each for found in findings for each in found.files}
    by_chance = {
        plain(path): UnreadableFile(
            path=path, what="data", snapshot_id=None, rows=0, problem="It cannot be decoded.", has_its_size=True
        )
        for path in met_files(case.evidence, "damaged_file")
    }
    files = {**by_chance, **found}
    also = (
        *(case.missing_files.commits if case.missing_files is not None else ()),
        *((case.unreadable.added_by or ()) if case.unreadable is not None else ()),
    )
    known = (*(each.snapshot_id for each in files.values() if each.snapshot_id is not None), *also)
    return LostFiles(
        files=tuple(sorted(files.values(), key=lambda each: each.what == "data")),
        damaged=tuple(each.path for each in files.values() if each.has_its_size),
        count=max(len(files), *(found.count for found in findings)) if findings else len(files),
        is_all=all(found.count <= len(found.files) for found in findings),
        commits=tuple(dict.fromkeys(known)),
    )
