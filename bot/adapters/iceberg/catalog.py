"""One Iceberg catalog through PyIceberg, whatever serves it: SQL, REST, Hive, Glue."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from threading import Lock
from typing import Literal, TypeVar

from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.io import PY_IO_IMPL
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata

from bot.adapters.iceberg.backends import (
    ANSWER_WITHIN_S,
    following_in_time,
    giving_each_once,
    limited,
    must_be_installed,
    patient,
    refuse_unlocked,
)
from bot.adapters.iceberg.change import commit_of
from bot.adapters.iceberg.dangling_pointer import OnlyPoints, PointsTo, lost_location, newest_readable
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
from bot.adapters.iceberg.reading import table_state
from bot.adapters.iceberg.repairs import FileCommit, RowCommit, refuse_nothing
from bot.adapters.iceberg.streaming_metadata import catching, expired_of_main, history_at, lean
from bot.adapters.storage import TableStorage
from bot.domain.errors import CouldNotLook
from bot.domain.file_changes import FileSources, FileSurvey
from bot.domain.ids import SnapshotId, TableName
from bot.domain.snapshot import Snapshot
from bot.domain.table import TableState
from bot.ports import Clock, FileChange, RowChange, TableChange

T = TypeVar("T")


class PyIcebergCatalog:
    """Loads tables and commits refs and properties. The connections are made at the first use: one for reading,
    which leaves history to us, one that opens no file, and one for commits, through which PyIceberg must see the whole
    metadata.

    Safe to use from several threads: every call works on a table object of its own.
    """

    def __init__(
        self, name: str, properties: Mapping[str, str], clock: Clock, *, answer_within_s: float = ANSWER_WITHIN_S
    ) -> None:
        """`name` and `properties` go to PyIceberg; `answer_within_s`: of one request, but to a SQL catalog."""
        self.name = name
        self._properties = patient(properties)
        self._answer_within_s = answer_within_s
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
        try:
            return self._catalog("point").load_table(table).metadata_location
        except PointsTo as told:
            return told.location
        except MISSING as error:
            raise unknown_table(table, self.name) from error
        except UNREAD as error:
            raise could_not_look(f"Table {table}", self.name, error) from error

    def expired(self, table: TableState) -> tuple[Snapshot, ...]:
        """See the port. Raises UnknownTable, CouldNotLook."""
        try:
            loaded = self._catalog("read").load_table(table.name)
            past = [entry.metadata_file for entry in reversed(loaded.metadata.metadata_log)]
            return expired_of_main(table, past, partial(history_at, loaded.io))
        except MISSING as error:
            raise unknown_table(table.name, self.name) from error
        except UNREAD as error:
            raise could_not_look(f"The older metadata of {table.name}", self.name, error) from error

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
        """See the port. Raises UnknownTable, CouldNotLook."""
        return self._look_through(table, ref, lambda files: survey(files, add, remove, columns))

    def files_named(self, table: TableName, ref: str, paths: Sequence[str]) -> tuple[str, ...]:
        """See the port. Raises UnknownTable, CouldNotLook."""
        return self._look_through(table, ref, lambda files: tuple(files.may_name(paths)))

    def _look_through(self, table: TableName, ref: str, look: Callable[[FilesOfTable], T]) -> T:
        try:
            loaded = self._catalog("commit").load_table(table)
            return look(FilesOfTable(loaded.io, loaded.metadata, ref))
        except MISSING as error:
            raise unknown_table(table, self.name) from error
        except UNREAD as error:
            raise could_not_look(f"The files of {table}", self.name, error) from error

    def change_files(self, table: TableName, change: FileChange) -> SnapshotId:
        """See the port. What was written is deleted again where the table, read after a refusal, does not name it."""
        refuse_nothing(table, change)
        return self._put(table, lambda loaded: FileCommit(table, loaded, change))

    def delete_rows(self, table: TableName, change: RowChange) -> SnapshotId:
        """See the port. What was written is deleted again where the table, read after a refusal, does not name it."""
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
            return lost_location(self.name, limited(self._properties, self._answer_within_s), table, error)
        except UNREAD:
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
                    self._made[purpose] = following_in_time(giving_each_once(writing_format_3(made)))
                except UNOPENED as error:
                    raise CouldNotLook(
                        f"The catalog {self.name} could not be opened.",
                        f"Expected it to accept its properties; found {type(error).__name__}: {error}.",
                        "Check `catalog` in the configuration file, and that the catalog runs.",
                    ) from error
            return self._made[purpose]
