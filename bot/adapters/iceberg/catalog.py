"""One Iceberg catalog through PyIceberg, whatever serves it: SQL, REST, Hive, Glue.

A `TableChange` becomes the requirements and updates of one atomic commit, built as data on purpose: PyIceberg's
`ManageSnapshots` keeps only one requirement of each type, so tagging the old head and then rolling back would drop the
guard on `main`.

Where the catalog points to a metadata file that cannot be read (F10), the newest one that can is found: catalogs that
keep only a pointer read the file here, on the client; a REST catalog names it in its error.
"""

import gzip
import json
import re
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from threading import Lock
from typing import Literal
from uuid import UUID

from pyarrow import ArrowException
from pyarrow.fs import FileSelector, FileType
from pydantic import ValidationError
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.exceptions import NoSuchTableError, RESTError
from pyiceberg.exceptions import ValidationError as NotIceberg
from pyiceberg.io import PY_IO_IMPL, FileIO, InputFile, OutputFile, load_file_io
from pyiceberg.serializers import FromInputFile
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.refs import MAIN_BRANCH, SnapshotRef, SnapshotRefType
from pyiceberg.table.update import (
    AssertRefSnapshotId,
    AssertTableUUID,
    RemovePropertiesUpdate,
    RemoveSnapshotRefUpdate,
    SetPropertiesUpdate,
    SetSnapshotRefUpdate,
    TableRequirement,
    TableUpdate,
)

from bot.adapters.iceberg.backends import (
    ANSWER_TIMEOUT_S,
    guarded,
    limited,
    must_be_installed,
    patient,
    refuse_unlocked,
)
from bot.adapters.iceberg.errors import (
    COMMIT_TROUBLE,
    MISSING,
    UNOPENED,
    UNREAD,
    UNREAD_OR_UNOPENED,
    could_not_look,
    holds,
    judged,
    metadata_lost,
    not_read,
    refused_and_there,
    shows,
    unknown_table,
)
from bot.adapters.iceberg.file_sources import FilesOfTable, survey
from bot.adapters.iceberg.format_v3 import writing_format_3
from bot.adapters.iceberg.opaque_types import read_any_type
from bot.adapters.iceberg.repairs import FileCommit, RowCommit, refuse_nothing
from bot.adapters.iceberg.streaming_metadata import catching, expired_of_main, history_at, lean, table_state
from bot.adapters.storage import TableStorage, opened_with, remedy_for
from bot.observation.errors import CommitRefused, CouldNotLook, WaterlineError
from bot.observation.file_changes import FileSources, FileSurvey
from bot.observation.ids import SnapshotId, TableName
from bot.observation.looked import Part
from bot.observation.snapshot import Snapshot
from bot.observation.table import TableState, UnnamedCommit
from bot.ports import Clock, FileChange, RowChange, TableChange

read_any_type()
_METADATA = re.compile(r"(?:v|(?=\d))(?P<number>\d+)(?:-[0-9a-f-]{36})?(?:\.gz)?\.metadata\.json(?:\.gz)?")
"""`00007-uuid.metadata.json` of catalogs, `v7.metadata.json` of Hadoop tables."""
_LOCATION = re.compile(r"[^\s'\"]+\.metadata\.json(?:\.gz)?")
_UNREADABLE = (FileNotFoundError, NotIceberg, ValidationError, ValueError)
"""The file is not there, or is not a metadata file. A refused right or a dead connection says nothing of it."""
_GZIP = b"\x1f\x8b"
_TRIED = 20
"""So many files are opened before it is given up; in practice it is one."""


class PointsTo(Exception):
    """Raised instead of reading, with the address that was asked for, and nothing else."""


class OnlyPoints(FileIO):
    """A file access for PyIceberg (`py-io-impl`) that reads nothing and only tells which file was asked for."""

    def new_input(self, location: str) -> InputFile:
        raise PointsTo(location)

    def new_output(self, location: str) -> OutputFile:
        raise PointsTo(location)

    def delete(self, location: str | InputFile | OutputFile) -> None:
        raise PointsTo(location)


def lost_location(error: Exception, properties: Mapping[str, str], pointer: Callable[[], str]) -> str | None:
    """Where the catalog points, if `error` says that this very file is gone or garbled; None for any other trouble. One
    that is Iceberg's and cannot be understood here, as of a newer format, is not lost."""
    if isinstance(error, RESTError | NoSuchTableError):
        told = _LOCATION.search(str(error))
        return told[0] if told and "NotFound" in str(error) else None
    if not isinstance(error, _UNREADABLE):
        return None
    location = pointer()
    is_lost = _read(location, properties) is None and not _is_icebergs(location, properties)
    return location if is_lost else None


def newest_readable(lost: str, properties: Mapping[str, str]) -> tuple[TableMetadata, str] | None:
    """The newest metadata file below the lost one, and its address; None if none can be read.

    A refused commit leaves a file of the same number behind; where two have it, the one that later files name as
    their past is the table's own. Cost: one listing of the metadata folder and most often one file.
    """
    folder, _, lost_name = lost.rpartition("/")
    limit = _METADATA.fullmatch(lost_name)
    below = int(limit["number"]) if limit else None
    try:
        listed = list(_listed(folder, properties))
    except (OSError, ArrowException, ValueError):
        return None
    older = [each for each in listed if each[2] != lost_name and (below is None or each[0] < below)]
    newest_first = sorted(older, reverse=True)
    told = (
        _told_by([each for each in listed if each[2] != lost_name], folder, properties) if _is_tie(newest_first) else ()
    )
    chosen = sorted(newest_first, key=lambda each: (each[0], each[2] in told, each[1]), reverse=True)
    for _, _, name in chosen[:_TRIED]:
        metadata = _read(f"{folder}/{name}", properties)
        if metadata is not None:
            return metadata, f"{folder}/{name}"
    return None


def unnamed_in(table: TableState, named: Collection[str], properties: Mapping[str, str]) -> tuple[UnnamedCommit, ...]:
    """See `PyIcebergCatalog.unnamed_commits`. `named`: the current metadata file, and those of its log. Below the log
    nothing names a file; where a commit was overwritten there, two have one number. Of those whose newest commit lies
    below all that is listed nobody can tell, nor does anything speak of these."""
    names = {each.rsplit("/", 1)[-1] for each in named}
    numbers = [int(found["number"]) for name in names if (found := _METADATA.fullmatch(name))]
    folder, lowest = table.metadata_location.rpartition("/")[0], min(numbers, default=0)
    listed = sorted(_listed(folder, properties), reverse=True)
    files_of = Counter(number for number, _, _ in listed)
    beside = [
        (number, at, name)
        for number, at, name in listed
        if name not in names and (number >= lowest or (files_of[number] > 1 and not _is_below(at, table)))
    ]
    commits, unread = list[UnnamedCommit](), len(beside[_TRIED:])
    for _, _, name in beside[:_TRIED]:
        path = f"{folder}/{name}"
        metadata = _read(path, properties)
        unread += metadata is None
        if metadata is None or str(metadata.table_uuid) != table.uuid or metadata.current_snapshot_id in table.by_id:
            continue
        state = table_state(table.name, metadata, path, table.read_at)
        if state.head is not None and not _is_below(state.by_id[state.head].committed_at, table):
            files = FilesOfTable(load_file_io(dict(properties), path), metadata, MAIN_BRANCH)
            brought = files.named(FileSources(added_by=(state.head,))).files.values()
            gone = files.unreadable(brought)
            commits.append(
                UnnamedCommit(path=path, commit=state.by_id[state.head], files=len(brought), unreadable=len(gone))
            )
    if not unread:
        return tuple(commits)
    were = "file that no metadata names was" if unread == 1 else "files that no metadata names were"
    return Part.of(commits, f"{unread} metadata {were} not read in {folder}")


def _is_below(at: datetime, table: TableState) -> bool:
    """Whether all that the table still lists of main is younger. A file is written after what it commits."""
    oldest = table.chain[-1] if table.chain else None
    return oldest is not None and oldest.has_commit_below and at < oldest.committed_at


def _listed(folder: str, properties: Mapping[str, str]) -> Iterator[tuple[int, datetime, str]]:
    """(number, when it was written, name) of every metadata file in the folder."""
    files, path = opened_with(dict(properties), folder)
    for info in files.get_file_info(FileSelector(path)):
        found = _METADATA.fullmatch(info.base_name)
        if info.type is FileType.File and found is not None:
            yield int(found["number"]), info.mtime or datetime.min.replace(tzinfo=UTC), info.base_name


def _is_tie(newest_first: list[tuple[int, datetime, str]]) -> bool:
    return len(newest_first) > 1 and newest_first[0][0] == newest_first[1][0]


def _told_by(listed: Iterable[tuple[int, datetime, str]], folder: str, properties: Mapping[str, str]) -> frozenset[str]:
    """Names of the files that the newest ones name as their past."""
    newest = sorted(listed, reverse=True)[:_TRIED]
    read = (_read(f"{folder}/{name}", properties) for _, _, name in newest)
    past = (entry.metadata_file for metadata in read if metadata is not None for entry in metadata.metadata_log)
    return frozenset(file.rsplit("/", 1)[-1] for file in past)


def _read(location: str, properties: Mapping[str, str]) -> TableMetadata | None:
    try:
        return FromInputFile.table_metadata(load_file_io(dict(properties), location).new_input(location))
    except (OSError, ArrowException, *_UNREADABLE):
        return None


def _is_icebergs(location: str, properties: Mapping[str, str]) -> bool:
    """Whether it is JSON that names a table and a format, whatever else stands there."""
    try:
        with load_file_io(dict(properties), location).new_input(location).open() as stream:
            content = stream.read()
        told = json.loads(gzip.decompress(content) if content.startswith(_GZIP) else content)
    except (OSError, EOFError, ArrowException, zlib.error, *_UNREADABLE):
        return False
    return isinstance(told, dict) and {"format-version", "table-uuid", "schemas"} <= told.keys()


_WITHOUT_END_MS = 2**63 - 1
Commit = tuple[tuple[TableRequirement, ...], tuple[TableUpdate, ...]]


def commit_of(name: TableName, change: TableChange, metadata: TableMetadata) -> Commit:
    """Requirements and updates of `change` on top of `metadata`.

    Raises CommitRefused where the metadata already shows that the change cannot hold: an unknown snapshot,
    a new tag that is taken, or a move of main that names no head to compare with.
    """
    if change.move_main_to is not None and change.expected_head is None:
        raise CommitRefused(
            f"Table {name} was not changed: the move of main does not name the expected head.",
            f"Expected the approved head with the target {change.move_main_to}; found none.",
            "Report this as a defect of Waterline. It never moves main without comparing the head.",
        )
    _refuse_unknown_snapshots(name, change, metadata)
    requirements: list[TableRequirement] = [AssertTableUUID(uuid=UUID(change.expected_uuid))]
    if change.expected_head is not None:  # sent as None it would mean "there must be no main"
        requirements.append(AssertRefSnapshotId(ref=MAIN_BRANCH, snapshot_id=change.expected_head))
    updates: list[TableUpdate] = []
    for tag, target in change.new_tags.items():
        present = metadata.refs.get(tag)
        if present is not None and present.snapshot_id != target:
            raise CommitRefused(
                f"Table {name} was not changed: the name {tag} is taken.",
                f"Expected no {tag}, or a tag on snapshot {target}; found a "
                f"{present.snapshot_ref_type.value} on snapshot {present.snapshot_id}.",
                "Find out who set it, then propose again. This change never moves it.",
            )
        # With the tag in place the requirement holds it there; without, nobody may set it in between.
        expected = None if present is None else target
        requirements.append(AssertRefSnapshotId(ref=tag, snapshot_id=expected))
        if present is None or _takes_an_age(present):
            updates.append(_set_ref(tag, target, metadata))
    updates += [_set_ref(tag, target, metadata) for tag, target in change.set_tags.items()]
    if change.move_main_to is not None:
        updates.append(_set_ref(MAIN_BRANCH, change.move_main_to, metadata))
    compared = {**change.expected_refs, **dict.fromkeys(change.new_branches)}
    requirements += [AssertRefSnapshotId(ref=ref, snapshot_id=target) for ref, target in compared.items()]
    updates += [_set_ref(name, at, metadata, SnapshotRefType.BRANCH) for name, at in change.new_branches.items()]
    updates += [RemoveSnapshotRefUpdate(ref_name=ref) for ref in change.remove_refs if ref in metadata.refs]
    if change.set_properties:
        updates.append(SetPropertiesUpdate(updates=dict(change.set_properties)))
    present_keys = [key for key in change.remove_properties if key in metadata.properties]
    if present_keys:
        updates.append(RemovePropertiesUpdate(removals=present_keys))
    return tuple(requirements), tuple(updates)


def _refuse_unknown_snapshots(name: TableName, change: TableChange, metadata: TableMetadata) -> None:
    targets = {*change.new_tags.values(), *change.set_tags.values(), *change.new_branches.values()}
    if change.move_main_to is not None:
        targets.add(change.move_main_to)
    gone = sorted(target for target in targets if metadata.snapshot_by_id(target) is None)
    if gone:
        raise CommitRefused(
            f"Table {name} was not changed: a snapshot of the change no longer exists.",
            f"Expected the metadata to list {', '.join(map(str, gone))}; it does not. They may have expired.",
            "Collect evidence again and propose again. An expired snapshot cannot be used.",
        )


def _takes_an_age(present: SnapshotRef) -> bool:
    """Whether it is a tag that the table's own setting lets expire."""
    return present.snapshot_ref_type is SnapshotRefType.TAG and present.max_ref_age_ms is None


def _set_ref(
    name: str, snapshot_id: int, metadata: TableMetadata, new: SnapshotRefType = SnapshotRefType.TAG
) -> SetSnapshotRefUpdate:
    """Points `name` to the snapshot and keeps the retention that the ref has; a ref that is not there is made `new`.

    One without an age of its own is given one without end: else the table's `history.expire.max-ref-age-ms` holds for
    it, and Spark's expiry takes the tag away (seen with Iceberg 1.12). `main` never goes, and takes no age.
    """
    present = metadata.refs.get(name)
    own = present.max_ref_age_ms if present else None
    kind = present.snapshot_ref_type if present else new
    return SetSnapshotRefUpdate(
        ref_name=name,
        type=SnapshotRefType.BRANCH if name == MAIN_BRANCH else kind,
        snapshot_id=snapshot_id,
        max_ref_age_ms=own if own is not None or name == MAIN_BRANCH else _WITHOUT_END_MS,
        max_snapshot_age_ms=present.max_snapshot_age_ms if present else None,
        min_snapshots_to_keep=present.min_snapshots_to_keep if present else None,
    )


class PyIcebergCatalog:
    """Loads tables and commits refs and properties. The connections are made at the first use: one for reading,
    which leaves history to us, one that opens no file, and one for commits, through which PyIceberg must see the whole
    metadata.

    Safe to use from several threads: every call works on a table object of its own.
    """

    def __init__(
        self, name: str, properties: Mapping[str, str], clock: Clock, *, answer_timeout_s: float = ANSWER_TIMEOUT_S
    ) -> None:
        """`name` and `properties` go to PyIceberg; `answer_timeout_s`: of one request, but to a SQL catalog."""
        self.name = name
        self._properties = patient(properties)
        self._answer_within_s = answer_timeout_s
        self.storage = TableStorage(self._properties)
        self._clock = clock
        self._made: dict[str, Catalog] = {}
        self._lock = Lock()

    def close(self) -> None:
        """Gives the connections back; a later call connects again."""
        with self._lock:
            for made in self._made.values():
                made.close()
            self._made.clear()

    def load(self, table: TableName) -> TableState:
        """The table now: one catalog call and one metadata file. Raises UnknownTable, CouldNotLook.

        Where the catalog points to a file that is gone or garbled, the newest older one is read instead, and the
        state says so in `lost_metadata`.
        """
        try:
            with catching() as caught:
                loaded = self._catalog("read").load_table(table)
            self.storage.learn(table, loaded.io.properties)
            history = caught.get(loaded.metadata_location)
            return table_state(table, loaded.metadata, loaded.metadata_location, self._clock.now(), history)
        except UNREAD as error:
            state = self._without_its_file(table, error)
            if state is not None:
                return state
            if isinstance(error, MISSING):
                raise unknown_table(table, self.name) from error
            raise could_not_look(f"Table {table}", self.name, error) from error

    def pointer(self, table: TableName) -> str:
        """See the port. Only a REST catalog sends the metadata along, because it cannot but do so."""
        with self._reading(table, f"Table {table}"):
            try:
                return self._catalog("point").load_table(table).metadata_location
            except PointsTo as told:
                return str(told)

    def expired(self, table: TableState) -> tuple[Snapshot, ...]:
        with self._reading(table.name, f"The older metadata of {table.name}"):
            loaded = self._catalog("read").load_table(table.name)
            past = [entry.metadata_file for entry in reversed(loaded.metadata.metadata_log)]
            return expired_of_main(table, past, partial(history_at, loaded.io))

    def unnamed_commits(self, table: TableState) -> tuple[UnnamedCommit, ...]:
        with self._reading(table.name, f"The metadata folder of {table.name}"):
            loaded = self._catalog("read").load_table(table.name)
            named = {loaded.metadata_location, *(entry.metadata_file for entry in loaded.metadata.metadata_log)}
            told = {key: value for key, value in loaded.io.properties.items() if key != PY_IO_IMPL}
            return unnamed_in(table, named, {**self._properties, **told})

    @contextmanager
    def _reading(self, table: TableName, what: str) -> Iterator[None]:
        """Raises UnknownTable and CouldNotLook in place of what PyIceberg raises; `what` could not be read then."""
        try:
            yield
        except MISSING as error:
            raise unknown_table(table, self.name) from error
        except UNREAD as error:
            raise could_not_look(what, self.name, error) from error

    def commit(self, table: TableName, change: TableChange) -> TableState:
        """One `commit_table` with all requirements; the state comes from the catalog's own answer.

        Raises as the port says. Not retried; PyIceberg itself repeats only a request that the catalog did not let in
        (401).
        """
        try:
            loaded = self._catalog("commit").load_table(table)
        except UNREAD_OR_UNOPENED as error:
            lost = self._lost(table, error)
            if lost is not None:
                raise metadata_lost(table, self.name, lost) from error
            raise not_read(table, self.name, error) from error
        refuse_unlocked(table, self._properties, loaded.metadata.properties)
        requirements, updates = commit_of(table, change, loaded.metadata)
        try:
            answer = self._catalog("commit").commit_table(loaded, requirements, updates)
        except COMMIT_TROUBLE as error:
            told, now = judged(table, requirements, error, lambda: self._now(table))
            compares = change.expected_head is not None or change.expected_refs  # who only marks looks anew by himself
            if now is not None and compares and holds(requirements, loaded.metadata) and shows(now, updates):
                told = refused_and_there(table, error)
            raise told from error
        return table_state(table, answer.metadata, answer.metadata_location, self._clock.now())

    def survey_files(
        self, table: TableName, ref: str, *, add: FileSources | None, remove: FileSources | None, columns: Sequence[str]
    ) -> FileSurvey:
        with self._reading(table, f"The files of {table}"):
            loaded = self._catalog("commit").load_table(table)
            return survey(FilesOfTable(loaded.io, loaded.metadata, ref), add, remove, columns)

    def change_files(self, table: TableName, change: FileChange) -> SnapshotId:
        """See the port. What was written is deleted again where the table, read after a refusal, does not name it."""
        refuse_nothing(table, change)
        return self._put(table, lambda loaded: FileCommit(table, loaded, change))

    def delete_rows(self, table: TableName, change: RowChange) -> SnapshotId:
        return self._put(table, lambda loaded: RowCommit(table, loaded, change))

    def _put(self, table: TableName, commit: Callable[[Table], FileCommit]) -> SnapshotId:
        try:
            loaded = self._catalog("commit").load_table(table)
            refuse_unlocked(table, self._properties, loaded.metadata.properties)
            prepared = commit(loaded)
        except UNREAD_OR_UNOPENED as error:
            raise not_read(table, self.name, error) from error
        requirements, updates = prepared.written()
        try:
            self._catalog("commit").commit_table(loaded, requirements, updates)
        except CouldNotLook:
            prepared.take_back()
            raise
        except COMMIT_TROUBLE as error:
            told, now = judged(table, requirements, error, lambda: self._now(table))
            if now is None:
                raise told from error
            if now.snapshot_by_id(prepared.snapshot_id) is None:
                prepared.take_back()
                raise told from error
        return SnapshotId(prepared.snapshot_id)

    def _now(self, table: TableName) -> TableMetadata:
        return self._catalog("commit").load_table(table).metadata

    def tables(self) -> tuple[TableName, ...]:
        """Every table in every namespace, by name: one catalog call a namespace. Raises CouldNotLook."""
        try:
            return tuple(sorted(self._under(())))
        except UNREAD as error:
            raise could_not_look("The list of tables", self.name, error) from error

    def _under(self, parent: tuple[str, ...]) -> list[TableName]:
        found: list[TableName] = []
        for namespace in self._catalog("read").list_namespaces(parent):
            if len(namespace) <= len(parent):
                continue
            found += [TableName(".".join(each)) for each in self._catalog("read").list_tables(namespace)]
            found += self._under(tuple(namespace))
        return found

    def _without_its_file(self, table: TableName, error: Exception) -> TableState | None:
        """The newest state that can be read, if `error` says that the newest one cannot."""
        lost = self._lost(table, error)
        found = newest_readable(lost, self._properties) if lost is not None else None
        if found is None:
            return None
        state = table_state(table, *found, self._clock.now())
        return state.model_copy(update={"lost_metadata": lost})

    def _lost(self, table: TableName, error: Exception) -> str | None:
        """Where the catalog points, if `error` comes from that file; None if the catalog itself is the trouble."""
        try:
            return lost_location(error, self._properties, lambda: self.pointer(table))
        except WaterlineError:
            return None

    def _catalog(self, purpose: Literal["read", "point", "commit"]) -> Catalog:
        with self._lock:
            if purpose not in self._made:
                must_be_installed(self.name, self._properties)
                properties = lean(self._properties) if purpose == "read" else self._properties
                if purpose == "point":
                    properties = {**properties, PY_IO_IMPL: f"{OnlyPoints.__module__}.{OnlyPoints.__name__}"}
                limits = limited(properties, self._answer_within_s, commits=purpose == "commit")
                try:
                    made = load_catalog(self.name, **limits)
                    self._made[purpose] = guarded(writing_format_3(made))
                except UNOPENED as error:
                    raise CouldNotLook(
                        f"The catalog {self.name} could not be opened.",
                        f"Expected it to accept its properties; found {type(error).__name__}: {error}.",
                        remedy_for(error, "Check `catalog` in the configuration file, and that the catalog runs."),
                    ) from error
            return self._made[purpose]
