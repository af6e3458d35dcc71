"""Repairs as one atomic commit on whatever branch: references to data files added and removed, rows deleted.

Written by hand on top of PyIceberg's manifest writers, for four reasons (its producers, 0.12, source): they retry on a
head that moved, so that they compare with another head than the approved one; they delete by path, and so take both
references of a file that is named twice; they write every added file under the table's present partition spec; and
they lose one of two equal entries of a manifest that they rewrite.

Rows are deleted by position delete files in format 2, by deletion vectors in format 3. No data file is written anew,
and so no row gets a new sequence number: a row that is deleted by key elsewhere stays deleted.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from uuid import UUID, uuid4

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.io import FileIO
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat, ManifestEntry, ManifestEntryStatus, ManifestFile
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.refs import MAIN_BRANCH, SnapshotRefType
from pyiceberg.table.snapshots import Operation, Snapshot, SnapshotSummaryCollector, Summary, update_snapshot_summaries
from pyiceberg.table.update import (
    AddSnapshotUpdate,
    AssertRefSnapshotId,
    AssertTableUUID,
    SetSnapshotRefUpdate,
    TableRequirement,
    TableUpdate,
)

from bot.adapters.iceberg.errors import UNREAD_OR_UNOPENED, not_written
from bot.adapters.iceberg.file_sources import PATH, PLACE, FilesOfTable, Live, resolved
from bot.adapters.iceberg.format_v3 import (
    CONTENT_OFFSET,
    CONTENT_SIZE,
    Blob,
    as_new,
    manifest_writer,
    places_in,
    puffin_of,
    write_listing,
)
from bot.observation.errors import CommitRefused
from bot.observation.file_changes import FORMATS_WRITTEN, FileList, RowsOfFile
from bot.observation.ids import TableName, short
from bot.observation.paths import plain
from bot.ports import FileChange, RowChange


def must_fit(name: TableName, unfit: Sequence[str]) -> None:
    """Raises CommitRefused for a Flink manifest whose files were not written for the table."""
    if unfit:
        raise CommitRefused(
            f"Table {name} was not changed: files of a Flink manifest do not fit it.",
            f"Expected a schema and a partition spec that the table has or had; found {unfit[0]}.",
            "Replay their source range instead.",
        )


def must_be(name: TableName, what: str, found: FileList | None, approved: FileList | None) -> None:
    """Raises CommitRefused unless it is the very list that was approved."""
    if (found.digest if found else None) == (approved.digest if approved else None):
        return
    said = [f"{each.files} files with {each.rows} rows" if each else "no file" for each in (approved, found)]
    raise CommitRefused(
        f"Table {name} was not changed: the files to be {what} are not the approved ones.",
        f"Expected {said[0]}; found {said[1]}, or as many others.",
        "Collect evidence again and propose again.",
    )


def must_be_there(name: TableName, unreadable: Sequence[str]) -> None:
    """Raises CommitRefused for files that storage does not give whole any more."""
    if unreadable:
        raise CommitRefused(
            f"Table {name} was not changed: files to be added are no longer on storage.",
            f"Expected every file whole; {len(unreadable)} are not. The first is {unreadable[0]}.",
            "Stop maintenance of the table, collect evidence again and propose again.",
        )


def must_be_writable(name: TableName, metadata: TableMetadata, change: FileChange) -> None:
    """Raises CommitRefused for a format that is not written, and for a branch that is not where it was."""
    ref = metadata.refs.get(change.ref)
    if metadata.format_version not in FORMATS_WRITTEN:
        raise CommitRefused(
            f"Table {name} was not changed: Waterline does not write manifests of format {metadata.format_version}.",
            "Expected format 2 or 3.",
            "Make the change with the engine that writes the table; the preview names files and commits.",
        )
    if ref is None or ref.snapshot_ref_type is not SnapshotRefType.BRANCH or ref.snapshot_id != change.expected_head:
        found = f"it is on {short(ref.snapshot_id)}" if ref is not None else "there is none"
        raise CommitRefused(
            f"Table {name} was not changed: its branch {change.ref} has moved.",
            f"Expected it on {short(change.expected_head)}; {found}.",
            "Find out who moved it, then propose the repair again.",
        )


class FileCommit:
    """Writes the manifests of one change; `take_back` deletes them again when the catalog has surely refused it."""

    def __init__(self, name: TableName, table: Table, change: FileChange) -> None:
        """Raises CommitRefused where the metadata already shows that the change cannot hold."""
        must_be_writable(name, table.metadata, change)
        self._name, self._table, self._change = name, table, change
        self._metadata: TableMetadata = table.metadata
        self._io: FileIO = table.io
        self._files = FilesOfTable(table.io, table.metadata, change.ref)
        self._uuid = uuid4()
        self._written: list[str] = []
        self._found = resolved(
            self._files, change.add.sources if change.add else None, change.remove.sources if change.remove else None
        )
        must_fit(name, self._found.unfit)
        must_be(name, "added", self._found.added, change.add)
        must_be(name, "removed", self._found.removed, change.remove)
        must_be_there(name, self._files.unreadable(self._found.add))
        self._brought: list[DataFile] = [as_new(file) for file in self._found.add]
        self._going: list[Live] = [*self._found.remove, *self._left_without_a_file()]
        self.snapshot_id = self._metadata.new_snapshot_id()

    def written(self) -> tuple[tuple[TableRequirement, ...], tuple[TableUpdate, ...]]:
        """What `parts` answers. Takes everything back and raises CouldNotLook where storage does not take all of it."""
        try:
            return self.parts()
        except UNREAD_OR_UNOPENED as error:
            self.take_back()
            raise not_written(self._name, error) from error

    def parts(self) -> tuple[tuple[TableRequirement, ...], tuple[TableUpdate, ...]]:
        """Writes the manifests and their list; what the catalog then decides about. `main` is compared with as well:
        a commit on it takes the sequence number that is written here."""
        metadata, change = self._metadata, self._change
        path = self._place(f"snap-{self.snapshot_id}-0-{self._uuid}.avro")
        listed = [*self._added(), *self._kept()]
        row_ids = write_listing(metadata, self._io.new_output(path), self.snapshot_id, change.expected_head, listed)
        snapshot = Snapshot(
            snapshot_id=self.snapshot_id,
            parent_snapshot_id=change.expected_head,
            sequence_number=metadata.next_sequence_number(),
            manifest_list=path,
            summary=_summary(metadata, self._brought, self._going, change),
            schema_id=metadata.current_schema_id,
            **row_ids,
        )
        compared = {MAIN_BRANCH: metadata.current_snapshot_id, change.ref: change.expected_head}
        requirements = [AssertRefSnapshotId(ref=ref, snapshot_id=head) for ref, head in compared.items()]
        branch = metadata.refs[change.ref].model_dump(exclude={"snapshot_id", "snapshot_ref_type"})
        moved = SetSnapshotRefUpdate(
            ref_name=change.ref, type=SnapshotRefType.BRANCH, snapshot_id=self.snapshot_id, **branch
        )
        return (
            (AssertTableUUID(uuid=UUID(change.expected_uuid)), *requirements),
            (AddSnapshotUpdate(snapshot=snapshot), moved),
        )

    def take_back(self) -> None:
        """Delete what was written; one that is not there is passed over."""
        for path in self._written:
            try:
                self._io.delete(path)
            except OSError:
                continue

    def _left_without_a_file(self) -> list[Live]:
        """Deletion vectors of data files no reference to which stays: format 3 wants them gone with the file."""
        going = {(live.manifest, live.place): live.path for live in self._found.remove}
        if self._metadata.format_version < 3 or not going:
            return []
        there = self._files.live_among(going.values())
        staying = {live.path for live in there if (live.manifest, live.place) not in going}
        return self._files.vectors_of({*going.values()} - staying)

    def _added(self) -> Iterator[ManifestFile]:
        """One manifest for each partition spec; sequence numbers are inherited from the commit."""
        for spec_id in sorted({file.spec_id for file in self._brought}):
            entries = [
                ManifestEntry.from_args(
                    status=ManifestEntryStatus.ADDED, snapshot_id=self.snapshot_id, sequence_number=None,
                    file_sequence_number=None, data_file=file,
                )
                for file in self._brought
                if file.spec_id == spec_id
            ]  # fmt: skip
            yield self._manifest(spec_id, entries)

    def _kept(self) -> Iterator[ManifestFile]:
        """The branch's manifests; one that loses a reference is written anew, everything else in it as it was."""
        going: dict[str, set[int]] = {}
        for live in self._going:
            going.setdefault(live.manifest, set()).add(live.place)
        staying = self._still_named()
        for manifest in self._files.manifests:
            places = going.get(manifest.manifest_path)
            if places is None:
                if manifest.has_added_files() or manifest.has_existing_files():
                    yield manifest
                continue
            entries = [
                self._again(entry, place in places)
                for place, entry in enumerate(self._files.entries_of(manifest))
                if place not in places or plain(entry.data_file.file_path) not in staying
            ]
            if entries:
                yield self._manifest(manifest.partition_spec_id, entries)

    def _still_named(self) -> set[str]:
        """Files that lose a reference and keep another, or get one: no entry may say that they were deleted.

        Iceberg's Java (`IncrementalFileCleanup`) deletes what an expired commit says that it deleted, without a look
        whether another entry names it. Cost: the branch's manifests of the kinds of files that go.
        """
        going = {(live.manifest, live.place) for live in self._going}
        there = self._files.live_among(live.path for live in self._going if not live.is_vector)
        if any(live.is_vector for live in self._going):
            there += self._files.deletes()
        staying = {plain(live.path) for live in there if (live.manifest, live.place) not in going}
        return staying | {plain(file.file_path) for file in self._brought}

    def _again(self, entry: ManifestEntry, is_removed: bool) -> ManifestEntry:
        return ManifestEntry.from_args(
            status=ManifestEntryStatus.DELETED if is_removed else ManifestEntryStatus.EXISTING,
            snapshot_id=self.snapshot_id if is_removed else entry.snapshot_id,
            sequence_number=entry.sequence_number,
            file_sequence_number=entry.file_sequence_number,
            data_file=entry.data_file,
        )

    def _manifest(self, spec_id: int, entries: Sequence[ManifestEntry]) -> ManifestFile:
        spec = self._metadata.specs()[spec_id]
        schema = schema_for(spec, self._metadata)
        output = self._io.new_output(self._place(f"{self._uuid}-m{len(self._written)}.avro"))
        deletes = entries[0].data_file.content is not DataFileContent.DATA
        with manifest_writer(self._metadata, spec, schema, output, self.snapshot_id, deletes=deletes) as writer:
            for entry in entries:
                writer.add_entry(entry)
        return writer.to_manifest_file()

    def _place(self, name: str) -> str:
        path = self._table.location_provider().new_metadata_location(name)
        self._written.append(path)
        return path


def _summary(
    metadata: TableMetadata, brought: Sequence[DataFile], going: Sequence[Live], change: FileChange
) -> Summary:
    counted = SnapshotSummaryCollector()
    specs = metadata.specs()
    for file in brought:
        counted.add_file(file, schema_for(specs[file.spec_id], metadata), specs[file.spec_id])
    for live in going:
        file = live.entry.data_file
        counted.remove_file(file, schema_for(specs[file.spec_id], metadata), specs[file.spec_id])
    added = [file for file in brought if file.content is DataFileContent.DATA]
    operation = Operation.OVERWRITE if added and going else Operation.APPEND
    if not added:
        operation = Operation.DELETE
    before = metadata.snapshot_by_id(change.expected_head)
    return update_snapshot_summaries(
        Summary(operation=operation, **counted.build(), **change.summary),
        before.summary if before is not None else None,
    )


def schema_for(spec: PartitionSpec, metadata: TableMetadata) -> Schema:
    """The newest schema that still has the spec's columns: one of them may have been dropped since."""
    schemas = (metadata.schema(), *reversed(metadata.schemas))
    return next(s for s in schemas if all(s.find_column_name(field.source_id) for field in spec.fields))


def refuse_nothing(name: TableName, change: FileChange) -> None:
    """Raises CommitRefused for a change that names no file: an empty snapshot would look like a repair."""
    if change.add is None and change.remove is None:
        raise CommitRefused(
            f"Table {name} was not changed: there is nothing to add and nothing to remove.",
            "Expected at least one data file; the change names none.",
            "Collect evidence again and propose again.",
        )


_SCHEMA = pa.schema(
    [
        pa.field("file_path", pa.string(), nullable=False, metadata={"PARQUET:field_id": str(PATH)}),
        pa.field("pos", pa.int64(), nullable=False, metadata={"PARQUET:field_id": str(PLACE)}),
    ]
)
Targets = Mapping[str, DataFile]


class RowCommit(FileCommit):
    """Writes the deletes and their manifests; all else is as of a change of files."""

    def __init__(self, name: TableName, table: Table, change: RowChange) -> None:
        """Raises CommitRefused where a file is not live exactly once on the branch, or has fewer rows."""
        same = dict(change)
        rows: tuple[RowsOfFile, ...] = same.pop("rows")
        super().__init__(name, table, FileChange(**same, add=None, remove=None))
        self._targets = self._live_once(rows)
        self._places = {each.path: _places_of(each) for each in rows}

    def parts(self) -> tuple[tuple[TableRequirement, ...], tuple[TableUpdate, ...]]:
        """Writes the deletes first. Raises CommitRefused, before anything is written, where a reader would pass over
        deletes that are there."""
        if self._metadata.format_version >= 3:
            self._brought = self._vectors()
        else:
            self._brought = [self._written_for(self._targets[path], path, self._places[path]) for path in self._places]
        return super().parts()

    def _live_once(self, rows: Iterable[RowsOfFile]) -> Targets:
        wanted = {each.path: each.spans[-1][1] for each in rows}
        live = self._files.live_among(wanted)
        times = Counter(found.path for found in live)
        files = {found.path: found.entry.data_file for found in live}
        unfit = [path for path in wanted if times[path] != 1 or files[path].record_count <= wanted[path]]
        if unfit:
            raise CommitRefused(
                f"Table {self._name} was not changed: files whose rows are to be deleted have changed.",
                f"Expected each of {len(wanted)} files to be live once and whole; {len(unfit)} are not. The first "
                f"is {unfit[0]}. A compaction or a delete replaced them, or the table references them twice.",
                "Run the evidence extra_copies again and propose again.",
            )
        return files

    def _written_for(self, data: DataFile, path: str, places: list[int]) -> DataFile:
        content = pa.table([pa.array([path] * len(places), pa.string()), places], schema=_SCHEMA)
        made = self._data_place("deletes.parquet")
        output = self._io.new_output(made)
        with output.create() as stream:
            pq.write_table(content, stream, compression="zstd")
        of_file = path.encode()
        return _in_partition_of(
            data,
            DataFile.from_args(
                content=DataFileContent.POSITION_DELETES,
                file_path=made,
                file_format=FileFormat.PARQUET,
                partition=data.partition,
                record_count=len(places),
                file_size_in_bytes=len(output),
                lower_bounds={PATH: of_file, PLACE: _long(places[0])},
                upper_bounds={PATH: of_file, PLACE: _long(places[-1])},
            ),
        )

    def _vectors(self) -> list[DataFile]:
        """Also says which vectors go, because a data file may have one only."""
        targets, places = self._targets, self._places
        self._going = self._files.vectors_of(targets)
        if any(each.is_position_delete_file for each in self._files.deletes()):
            raise CommitRefused(
                f"Table {self._name} was not changed: it still has delete files from before format 3.",
                "Expected only deletion vectors; readers ignore older delete files of a data file that has a vector.",
                "Rewrite them with the engine that writes the table (`rewrite_position_delete_files`), then propose "
                "again.",
            )
        before = {plain(str(each.of_file)): self._places_before(each) for each in self._going}
        whole = {path: sorted({*places[path], *before.get(plain(path), ())}) for path in places}
        content, blobs = puffin_of(whole)
        made = self._data_place("deletes.puffin")
        with self._io.new_output(made).create() as stream:
            stream.write(content)
        return [_vector(targets[path], made, len(content), blobs[path], path, len(whole[path])) for path in whole]

    def _places_before(self, live: Live) -> list[int]:
        """Raises ValueError where the vector is not whole."""
        file = live.entry.data_file
        with self._io.new_input(live.path).open() as stream:
            stream.seek(file[CONTENT_OFFSET])
            return places_in(stream.read(file[CONTENT_SIZE]))

    def _data_place(self, name: str) -> str:
        named = f"waterline-{self._uuid}-{len(self._written):05}-{name}"
        path = self._table.location_provider().new_data_location(named)
        self._written.append(path)
        return path


def _places_of(rows: RowsOfFile) -> list[int]:
    return list(chain.from_iterable(range(first, last + 1) for first, last in rows.spans))


def _vector(data: DataFile, puffin: str, size: int, blob: Blob, path: str, rows: int) -> DataFile:
    return _in_partition_of(
        data,
        DataFile.from_args(
            3,
            content=DataFileContent.POSITION_DELETES,
            file_path=puffin,
            file_format=FileFormat.PUFFIN,
            partition=data.partition,
            record_count=rows,
            file_size_in_bytes=size,
            referenced_data_file=path,
            content_offset=blob[0],
            content_size_in_bytes=blob[1],
        ),
    )


def _in_partition_of(data: DataFile, made: DataFile) -> DataFile:
    made.spec_id = data.spec_id
    return made


def _long(value: int) -> bytes:
    return value.to_bytes(8, "little", signed=True)
