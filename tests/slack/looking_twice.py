"""What came twice, without Spark: entries are read by PyIceberg, and compared by the very code of the tasks."""

from collections.abc import Iterator, Sequence

from pyiceberg.manifest import ManifestFile
from pyiceberg.table import StaticTable

from bot.domain.evidence import Answer, Ask, Verdict
from bot.domain.findings import DuplicateCommitsFinding, DuplicateFile, DuplicateFilesFinding
from bot.domain.table import Column
from spark_tasks._few_entries import Edges, Entry
from spark_tasks._source_ranges import ranges_here, source_columns
from spark_tasks._window import Reach, reach_of
from spark_tasks.duplicate_commits import _compared, _in_parts, _shared_here, repeating
from spark_tasks.duplicate_files import _by_age, told_here


def duplicate_commits(ask: Ask) -> Answer:
    """As the task of this name finds it."""
    reach = _reach(ask)
    table, commits = ask.observation.table, _compared(ask, reach)
    columns, wanted = source_columns(table, ask.contract), {int(commit.snapshot_id) for commit in commits}
    added = [each for each in _added(ask, wanted, columns) if each.snapshot_id in wanted]
    repeated, proven = repeating(table, commits, reach, ranges_here(added, table, ask.contract), _shared_here(added))
    repeated = _in_parts(None, ask, repeated, proven)  # type: ignore[arg-type] - bounds tell here
    return Answer(
        verdict=Verdict.CONFIRMED if repeated else Verdict.RULED_OUT,
        headline=f"{len(repeated)} commits bring again what others had brought.",
        finding=DuplicateCommitsFinding(commits_checked=len(reach.main), repeated=repeated),
    )


def duplicate_files(ask: Ask) -> Answer:
    """As the task of this name finds it; it compares with all that is live, and not with the newest alone."""
    reach = _reach(ask)
    stored = _stored(ask)
    manifests = stored.snapshot_by_id(reach.until).manifests(stored.io)  # type: ignore[union-attr]
    entries = [each for manifest in manifests for each in _entries(stored, manifest, ())]
    found = told_here(entries, [int(commit.snapshot_id) for commit in reach.main])
    table = ask.observation.table
    finding = DuplicateFilesFinding(
        files_checked=found.files,
        count=found.repeated,
        extra_rows=found.extra_rows,
        files=tuple(
            DuplicateFile(path=each.path, snapshots=_by_age(table, each.snapshots), rows=each.rows)
            for each in found.sample
        ),
        again=_by_age(table, {late for sharing in found.sharing for late in _by_age(table, sharing)[1:]}),
    )
    return Answer(
        verdict=Verdict.CONFIRMED if found.repeated else Verdict.RULED_OUT,
        headline=f"{found.repeated} data files are live more than once.",
        finding=finding,
    )


def _reach(ask: Ask) -> Reach:
    reach = reach_of(ask)
    assert isinstance(reach, Reach)
    return reach


def _stored(ask: Ask) -> StaticTable:
    return StaticTable.from_metadata(ask.observation.table.metadata_location)


def _added(ask: Ask, wanted: set[int], columns: Sequence[Column | None]) -> Iterator[Entry]:
    """What these commits added, from the window's end; where their manifests were written anew since, from their own
    lists."""
    table, left, lists = _stored(ask), set(wanted), [ask.window.until, *sorted(wanted)]
    for at in lists:
        snapshot = table.snapshot_by_id(at) if at in {lists[0], *left} else None  # type: ignore[arg-type]
        manifests = snapshot.manifests(table.io) if snapshot is not None else []
        for manifest in manifests:
            if manifest.added_snapshot_id in left:
                yield from (each for each in _entries(table, manifest, columns) if each.status == 1)
        left -= {manifest.added_snapshot_id for manifest in manifests}


def _entries(table: StaticTable, manifest: ManifestFile, columns: Sequence[Column | None]) -> Iterator[Entry]:
    for entry in manifest.fetch_manifest_entry(table.io, discard_deleted=False):
        file = entry.data_file
        low, high = file.lower_bounds or {}, file.upper_bounds or {}
        yield Entry(
            snapshot_id=entry.snapshot_id or manifest.added_snapshot_id,
            status=int(entry.status),
            content=int(file.content),
            path=file.file_path,
            rows=file.record_count,
            spec_id=manifest.partition_spec_id,
            edges=tuple(Edges(low.get(c.field_id), high.get(c.field_id)) if c else Edges(None, None) for c in columns),
        )
