"""Which data files a repair means, from manifests alone: the same question gives the same list and digest.

A sink writes with the schema it was started with, the dynamic sink with that of each record, so the id in a manifest is
often not the table's present one. Iceberg reads a file by field ids: any schema that the table has or had is right. One
that it never had is not: the ids may be those of other columns, as after a table was dropped and created anew.
"""

import hashlib
import json
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pydantic import ValidationError
from pyiceberg.conversions import from_bytes
from pyiceberg.exceptions import ResolveError
from pyiceberg.io import FileIO
from pyiceberg.manifest import (
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestFile,
)
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema, promote
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.snapshots import ancestors_of
from pyiceberg.types import IcebergType, PrimitiveType, TimestampType, TimestamptzType
from pyiceberg.utils.concurrent import ExecutorFactory
from pyiceberg.utils.datetime import micros_to_timestamp

from bot.adapters.iceberg.format_v3 import REFERENCED, entries_of, manifest_in, manifests_of
from bot.observation.file_changes import FileList, FileSources, FileSurvey, OfCommit, Some
from bot.observation.ids import SnapshotId
from bot.observation.paths import plain


def why_unfit(header: Mapping[str, str], metadata: TableMetadata) -> str | None:
    """A clause that says why they may not; None: they may. `header`: the metadata of the manifest's Avro file."""
    try:
        schema = Schema.model_validate_json(header["schema"])
        spec_id = int(header["partition-spec-id"])
        fields = [PartitionField.model_validate(each) for each in json.loads(header["partition-spec"])]
    except (KeyError, ValueError, TypeError, ValidationError):
        return "it does not say with which schema and partition spec its files were written"
    spec = metadata.specs().get(spec_id)
    if spec is None or _parts(spec) != _parts(PartitionSpec(*fields)):
        return f"its files are parted by spec {spec_id}, which is not one of the table's by that number"
    for field_id in schema.field_ids:
        name, kind = schema.find_column_name(field_id), schema.find_type(field_id)
        if not any(_is_same(field_id, name, kind, known) for known in metadata.schemas):
            return f"field {field_id} of its schema {schema.schema_id} is {name} ({kind}), which the table never had"
    absent = next((f for f in metadata.schema().fields if f.required and f.field_id not in schema.field_ids), None)
    if absent is not None and absent.initial_default is None:
        return f"its files have no column {absent.name}, which the table requires since"
    return None


def _parts(spec: PartitionSpec) -> list[tuple[int, int, str]]:
    return [(field.source_id, field.field_id, str(field.transform)) for field in spec.fields]


def _is_same(field_id: int, name: str | None, kind: IcebergType, known: Schema) -> bool:
    """Whether a schema of the table has the field by that name, in that type or one to which it may be widened."""
    if known.find_column_name(field_id) != name:
        return False
    other = known.find_type(field_id)
    if not kind.is_primitive or kind == other:
        return kind.is_primitive == other.is_primitive
    try:
        return bool(promote(kind, other) == other)
    except ResolveError:
        return False


@dataclass(frozen=True)
class Live:
    """One live reference to a data file: manifest and place in it tell apart two references to one path."""

    manifest: str
    place: int
    entry: ManifestEntry

    @property
    def path(self) -> str:
        return str(self.entry.data_file.file_path)

    @property
    def is_vector(self) -> bool:
        return self.entry.data_file.file_format is FileFormat.PUFFIN

    @property
    def is_position_delete_file(self) -> bool:
        """Whether it deletes rows by their places in the way of format 2."""
        return self.entry.data_file.content is DataFileContent.POSITION_DELETES and not self.is_vector

    @property
    def of_file(self) -> str | None:
        return self.entry.data_file[REFERENCED] if self.is_vector else None


@dataclass(frozen=True)
class Sources:
    """What the sources name, before anybody looked what is live."""

    files: dict[str, DataFile]
    delete_files: int
    unfit: tuple[str, ...] = ()
    """Flink manifests whose files were left out, each a clause with its name and the reason."""


class FilesOfTable:
    """Reads manifests of one table at one metadata file. Raises what PyIceberg raises when one cannot be read."""

    def __init__(self, io: FileIO, metadata: TableMetadata, ref: str) -> None:
        self.io = io
        self.metadata = metadata
        self.head = metadata.snapshot_by_name(ref)
        self.manifests = self._list(self.head.manifest_list) if self.head is not None else []

    def named(self, sources: FileSources) -> Sources:
        """Every data file that the sources name, whether or not it is live; `paths` name files by themselves and are
        only found where they are live."""
        files: dict[str, DataFile] = {}
        deletes = 0
        wanted = _added(sources.added_by)
        wanted += [(ManifestEntryStatus.DELETED, s) for s in sources.removed_by]
        unfit: list[str] = []
        for entry in (*self._of_commits(wanted), *self._of_flink(sources.manifests, unfit)):
            if entry.data_file.content is DataFileContent.DATA:
                files.setdefault(entry.data_file.file_path, entry.data_file)
            else:
                deletes += 1
        unwanted = self._of_commits(_added(sources.without_added_by))
        for path in {entry.data_file.file_path for entry in unwanted}:
            files.pop(path, None)
        files |= self.added_before(sources)
        if sources.only_unreadable:
            files = {path: files[path] for path in self.unreadable(files.values())}
        return Sources(files, deletes, tuple(unfit))

    def added_before(self, sources: FileSources) -> dict[str, DataFile]:
        """What `added_again_by` added of the files that `added_first_by` had added, whether or not it is live."""
        if not sources.added_first_by:
            return {}
        first = {plain(e.data_file.file_path) for e in self._of_commits(_added(sources.added_first_by))}
        again = (entry.data_file for entry in self._of_commits(_added(sources.added_again_by)))
        data = (file for file in again if file.content is DataFileContent.DATA)
        return {file.file_path: file for file in data if plain(file.file_path) in first}

    def live_among(self, paths: Iterable[str], since: int = 0) -> list[Live]:
        """Live references to any of `paths`, however spelled. Cost: the manifests of sequence numbers from `since`."""
        wanted = {plain(path) for path in paths}
        chosen = [m for m in self.data_manifests if m.sequence_number >= since] if wanted else []
        return self._live(chosen, lambda entry: plain(entry.data_file.file_path) in wanted)

    def live_added_by(self, commits: Sequence[int]) -> list[Live]:
        """Live references that these commits added. Cost: the manifests that can hold them."""
        numbers = self._sequence_numbers(commits)
        if not numbers:
            return []
        low, high = min(numbers), max(numbers)
        chosen = [m for m in self.data_manifests if m.sequence_number >= low and m.min_sequence_number <= high]
        wanted = set(commits)
        return self._live(chosen, lambda entry: entry.snapshot_id in wanted)

    def first_possible(self, sources: FileSources) -> int:
        """The sequence number below which no manifest can name the sources' files; 0 where it is not known."""
        if sources.manifests or sources.paths:
            return 0
        return min(self._sequence_numbers((*sources.added_by, *sources.removed_by)), default=0)

    def unreadable(self, files: Iterable[DataFile]) -> list[str]:
        """Those that storage does not give, or not in full; the other way round would be a read of every footer."""
        listed = list(files)
        sizes = ExecutorFactory.get_or_create().map(lambda file: self._size(file.file_path), listed)
        return sorted(f.file_path for f, size in zip(listed, sizes, strict=True) if size != f.file_size_in_bytes)

    def vectors_of(self, paths: Iterable[str]) -> list[Live]:
        """The live deletion vectors of these data files, which format 3 has. Cost: the branch's delete manifests."""
        wanted = {plain(path) for path in paths}
        return [each for each in self.deletes() if each.is_vector and plain(str(each.of_file)) in wanted]

    def deletes(self) -> list[Live]:
        """Every live delete file, or vector, of the branch. Cost: its delete manifests."""
        return self._live(self.delete_manifests, lambda _entry: True)

    def has_equality_deletes(self) -> bool:
        """Whether any live delete file of the branch deletes by key. Cost: delete manifests until the first."""
        return any(
            entry.data_file.content is DataFileContent.EQUALITY_DELETES
            for manifest in self.delete_manifests
            for entry in self.entries_of(manifest)
        )

    @property
    def data_manifests(self) -> list[ManifestFile]:
        return [m for m in self.manifests if m.content is ManifestContent.DATA]

    @property
    def delete_manifests(self) -> list[ManifestFile]:
        return [m for m in self.manifests if m.content is ManifestContent.DELETES]

    def entries_of(self, manifest: ManifestFile) -> list[ManifestEntry]:
        """Its live entries, in order: their places are what `Live.place` counts."""
        return entries_of(manifest, self.io, self.metadata.format_version)

    def _live(self, manifests: Sequence[ManifestFile], is_wanted: Callable[[ManifestEntry], bool]) -> list[Live]:
        def look(manifest: ManifestFile) -> list[Live]:
            entries = enumerate(self.entries_of(manifest))
            return [Live(manifest.manifest_path, place, entry) for place, entry in entries if is_wanted(entry)]

        return [live for found in ExecutorFactory.get_or_create().map(look, manifests) for live in found]

    def _of_commits(self, wanted: Sequence[tuple[ManifestEntryStatus, int]]) -> Iterator[ManifestEntry]:
        for status, commit in wanted:
            snapshot = self.metadata.snapshot_by_id(commit)
            if snapshot is None:
                raise ValueError(f"snapshot {commit} is not listed any more")
            for manifest in self._list(snapshot.manifest_list):
                if manifest.added_snapshot_id == commit:
                    every = entries_of(manifest, self.io, self.metadata.format_version, discard_deleted=False)
                    for entry in every:
                        if entry.status is status and entry.snapshot_id == commit:
                            yield entry

    def _of_flink(self, paths: Sequence[str], unfit: list[str]) -> Iterator[ManifestEntry]:
        """Fills `unfit` with what it leaves out."""
        for path in paths:
            file = self.io.new_input(path)
            with manifest_in(file, self.metadata.format_version) as reader:
                header = reader.header.meta
            if (why := why_unfit(header, self.metadata)) is not None:
                unfit.append(f"{path.rsplit('/', 1)[-1]}: {why}")
                continue
            manifest = ManifestFile.from_args(
                manifest_path=path, manifest_length=len(file), content=ManifestContent.DATA,
                partition_spec_id=int(header["partition-spec-id"]), sequence_number=0, min_sequence_number=0,
                added_snapshot_id=0,
            )  # fmt: skip
            yield from self.entries_of(manifest)

    def _sequence_numbers(self, commits: Sequence[int]) -> list[int]:
        found = (self.metadata.snapshot_by_id(commit) for commit in commits)
        return [snapshot.sequence_number or 0 for snapshot in found if snapshot is not None]

    def _list(self, path: str) -> list[ManifestFile]:
        return manifests_of(self.io.new_input(path), self.metadata.format_version)

    def _size(self, path: str) -> int | None:
        try:
            return len(self.io.new_input(path))
        except FileNotFoundError:
            return None


def _added(commits: Iterable[int]) -> list[tuple[ManifestEntryStatus, int]]:
    return [(ManifestEntryStatus.ADDED, commit) for commit in commits]


def file_list(sources: FileSources, files: Sequence[DataFile]) -> FileList | None:
    """These files with counts and digest; None for none."""
    if not files:
        return None
    lines = sorted(f"{file.file_path}\t{file.record_count}\t{file.file_size_in_bytes}" for file in files)
    return FileList(
        sources=sources,
        files=len(files),
        rows=sum(file.record_count for file in files),
        bytes=sum(file.file_size_in_bytes for file in files),
        digest=hashlib.sha256("\n".join(lines).encode()).hexdigest(),
    )


PATH, PLACE = 2147483546, 2147483545
"""Field ids that the format reserves for the columns of a position delete file."""


def may_lack_rows(files: FilesOfTable, data: Sequence[Live]) -> bool:
    """Whether a live vector is of one of these files, or a live position delete file may name one: it is no older than
    the oldest of them, and the bounds of its paths, where it has any, let one in. Cost: delete manifests."""
    if not data:
        return False
    vectored = {plain(live.path) for live in data}
    paths = sorted(live.path.encode() for live in data)
    since = min(live.entry.sequence_number or 0 for live in data)
    return any(
        plain(str(each.of_file)) in vectored
        if each.is_vector
        else each.is_position_delete_file and (each.entry.sequence_number or 0) >= since and _may_name(each, paths)
        for each in files.deletes()
    )


def _may_name(delete: Live, paths: Sequence[bytes]) -> bool:
    """`paths` ascend."""
    file = delete.entry.data_file
    low, high = (bounds.get(PATH) for bounds in (file.lower_bounds or {}, file.upper_bounds or {}))
    place = bisect_left(paths, low) if low is not None else 0
    return place < len(paths) and (high is None or paths[place] <= high)


_FIRST = 5
_PARTITIONS = 10


@dataclass(frozen=True)
class Resolved:
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
