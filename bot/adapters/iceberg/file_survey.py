"""What a change of files would meet on a branch: said before anybody decides, and looked at again when it is done."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pyiceberg.conversions import from_bytes
from pyiceberg.manifest import DataFile
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.snapshots import ancestors_of
from pyiceberg.types import PrimitiveType, TimestampType, TimestamptzType
from pyiceberg.utils.datetime import micros_to_timestamp

from bot.adapters.iceberg.file_sources import FilesOfTable, Live, file_list, may_lack_rows
from bot.domain.file_changes import FileList, FileSources, FileSurvey, OfCommit, Some
from bot.domain.ids import SnapshotId
from bot.domain.paths import plain

_FIRST = 5
_PARTITIONS = 10


@dataclass(frozen=True)
class Resolved:
    """The exact files behind two sets of sources."""

    add: list[DataFile]
    remove: list[Live]
    added: FileList | None
    removed: FileList | None
    live_already: list[str]
    not_live: list[str]
    whole_again: list[str]
    delete_files: int
    unfit: tuple[str, ...]


def resolved(files: FilesOfTable, add: FileSources | None, remove: FileSources | None) -> Resolved:
    """Both lists. What is live already is not among what is added."""
    named = files.named(add) if add is not None else None
    wanted = dict(named.files) if named is not None else {}
    since = files.first_possible(add) if add is not None else 0
    marked = _meant_to_go(files, remove) if remove is not None else []
    going = _lost_of(files, remove, marked) if remove is not None else []
    places = {(live.manifest, live.place) for live in going}
    there = files.live_among(wanted, since)
    staying = {plain(live.path) for live in there if (live.manifest, live.place) not in places}
    coming = [file for path, file in sorted(wanted.items()) if plain(path) not in staying]
    meant = files.named(remove.model_copy(update={"only_unreadable": False})) if remove is not None else None
    hit, going_paths = ({plain(live.path) for live in found} for found in (marked, going))
    paths = remove.paths if remove is not None else ()
    by_commit = meant.files if meant is not None and remove is not None and not remove.only_unreadable else ()
    return Resolved(
        add=coming,
        remove=going,
        added=file_list(add, coming) if add is not None else None,
        removed=file_list(remove, [live.entry.data_file for live in going]) if remove is not None else None,
        live_already=sorted(path for path in wanted if plain(path) in staying),
        not_live=sorted(path for path in {*by_commit, *paths} if plain(path) not in hit),
        whole_again=sorted(path for path in paths if plain(path) in hit - going_paths),
        delete_files=(named.delete_files if named else 0) + (meant.delete_files if meant else 0),
        unfit=named.unfit if named else (),
    )


def _meant_to_go(files: FilesOfTable, sources: FileSources) -> list[Live]:
    """The live references that the sources mean, whatever storage gives of them. Of a path that is live several times,
    all of them by commits of the sources, one stays: its rows are the table's. `paths` are taken out with every
    reference."""
    found = [*files.live_added_by(sources.added_by), *_added_again(files, sources)]
    chosen = {(live.manifest, live.place): live for live in found}
    times = Counter(live.path for live in chosen.values())
    several = {path for path, count in times.items() if count > 1}
    for path in several:
        everywhere = [live for live in files.live_among(several) if live.path == path]
        if all((live.manifest, live.place) in chosen for live in everywhere):
            first = min(everywhere, key=lambda live: (live.entry.sequence_number or 0, live.manifest, live.place))
            del chosen[first.manifest, first.place]
    chosen |= {(live.manifest, live.place): live for live in files.live_among(sources.paths)}
    return sorted(
        chosen.values(), key=lambda live: (live.path, live.entry.sequence_number or 0, live.manifest, live.place)
    )


def _added_again(files: FilesOfTable, sources: FileSources) -> list[Live]:
    """The live references of `added_again_by` to files that are live more than once, or were added before."""
    added = files.live_added_by(sources.added_again_by)
    times = Counter(live.path for live in files.live_among(live.path for live in added))
    before = files.added_before(sources).keys()
    return [live for live in added if times[live.path] > 1 or live.path in before]


def _lost_of(files: FilesOfTable, sources: FileSources, meant: Sequence[Live]) -> list[Live]:
    """Of the references that the sources mean those that go: where `only_unreadable` is asked for, none to a file that
    storage gives whole now."""
    if not sources.only_unreadable:
        return list(meant)
    lost = {*files.unreadable({live.path: live.entry.data_file for live in meant}.values())}
    damaged = {plain(path) for path in sources.damaged}
    return [live for live in meant if live.path in lost or plain(live.path) in damaged]


def survey(
    files: FilesOfTable, add: FileSources | None, remove: FileSources | None, columns: Sequence[str]
) -> FileSurvey:
    """See the port."""
    found = resolved(files, add, remove)
    touched = [*found.add, *(live.entry.data_file for live in found.remove)]
    return FileSurvey(
        add=found.added,
        remove=found.removed,
        by_commit=_by_commit(found.remove),
        live_already=_some(found.live_already),
        beside=_beside(files, found.add) if add is not None and add.manifests else {},
        gone=_some(files.unreadable(found.add)),
        not_live=_some(found.not_live),
        whole_again=_some(found.whole_again),
        delete_files=found.delete_files,
        unfit=found.unfit,
        has_equality_deletes=files.has_equality_deletes(),
        has_position_deletes=may_lack_rows(files, found.remove),
        partitions=_partitions(files.metadata, touched),
        span={name: ends for name in columns if (ends := _span(files.metadata, touched, name)) is not None},
    )


def _beside(files: FilesOfTable, coming: Sequence[DataFile]) -> dict[str, Some]:
    """Branch or tag -> those of the files that are live there. Refs on the line of this branch are passed over, and
    what was its head once: that was lost, and may be brought back. Cost: manifests that this branch does not have."""
    metadata, wanted = files.metadata, [file.file_path for file in coming]
    known = {manifest.manifest_path for manifest in files.manifests}
    had = {each.snapshot_id for each in metadata.snapshot_log}
    had |= {each.snapshot_id for each in ancestors_of(files.head, metadata)}
    found = {}
    for name in sorted(name for name, ref in metadata.refs.items() if ref.snapshot_id not in had):
        other = FilesOfTable(files.io, metadata, name)
        other.manifests = [each for each in other.manifests if each.manifest_path not in known]
        found[name] = _some(sorted({live.path for live in other.live_among(wanted)}))
    return {name: paths for name, paths in found.items() if paths.count}


def _by_commit(going: Iterable[Live]) -> tuple[OfCommit, ...]:
    """A commit's files have one sequence number, whether the commit is listed still or not."""
    told: dict[tuple[int, int], list[int]] = {}
    for live in going:
        key = (live.entry.sequence_number or 0, live.entry.snapshot_id or 0)
        told.setdefault(key, []).append(live.entry.data_file.record_count)
    return tuple(
        OfCommit(snapshot_id=SnapshotId(commit), files=len(rows), rows=sum(rows))
        for (_, commit), rows in sorted(told.items(), reverse=True)
    )


def _some(paths: Sequence[str]) -> Some:
    return Some(count=len(paths), first=tuple(paths[:_FIRST]))


def _partitions(metadata: TableMetadata, files: Iterable[DataFile]) -> tuple[str, ...]:
    """By the paths that Iceberg itself would give them."""
    specs = metadata.specs()
    schemas = [metadata.schema(), *reversed(metadata.schemas)]
    told = set()
    for file in files:
        spec = specs[file.spec_id]
        schema = next((s for s in schemas if all(s.find_column_name(f.source_id) for f in spec.fields)), None)
        if spec.fields and schema is not None:
            told.add(spec.partition_to_path(file.partition, schema))
    return tuple(sorted(told)[:_PARTITIONS])


def _span(metadata: TableMetadata, files: Sequence[DataFile], name: str) -> tuple[str, str] | None:
    """None where the column is not there or a file keeps no bounds of it."""
    schema = metadata.schema()
    field = next((each for each in schema.fields if each.name == name), None)
    if field is None or not isinstance(field.field_type, PrimitiveType) or not files:
        return None
    ends = []
    for file in files:
        low, high = (bounds.get(field.field_id) for bounds in (file.lower_bounds or {}, file.upper_bounds or {}))
        if low is None or high is None:
            return None
        ends.append((from_bytes(field.field_type, low), from_bytes(field.field_type, high)))
    lowest, highest = min(low for low, _ in ends), max(high for _, high in ends)
    return _word(field.field_type, lowest), _word(field.field_type, highest)


def _word(kind: PrimitiveType, value: object) -> str:
    if isinstance(kind, TimestampType | TimestamptzType) and isinstance(value, int):
        return f"{micros_to_timestamp(value):%Y-%m-%d %H:%M:%S}"
    return str(value)
