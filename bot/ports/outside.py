"""What the application asks of the outside world: catalog, storage, lineage, Spark. Flink has a file of its own."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Protocol

from bot.observation.contract import CopyRule, TableContract
from bot.observation.evidence import Answer, Ask, Progress, Task
from bot.observation.file_changes import FileList, FileSources, FileSurvey, RowsOfFile
from bot.observation.flink import FlinkManifest
from bot.observation.ids import SnapshotId, TableName
from bot.observation.readers import FarRead, ReadRun
from bot.observation.record import Record
from bot.observation.replay import Replay, ReplayRange, ReplayRecipe, SourceSurvey
from bot.observation.snapshot import Snapshot
from bot.observation.table import TableState, UnnamedCommit
from bot.observation.written import WriterSource, WrittenSchema


class TableChange(Record):
    """One atomic commit of refs and properties. Nothing in it writes data."""

    expected_uuid: str
    expected_head: SnapshotId | None
    """Compare: the commit is refused unless `main` is exactly here; sent to the catalog as requirement.
    None only for a change of tags and properties, which may not care how far the writer has come."""
    move_main_to: SnapshotId | None = None
    set_tags: dict[str, SnapshotId] = {}
    """Tag -> snapshot; a tag that exists is moved."""
    new_tags: dict[str, SnapshotId] = {}
    """Tag -> snapshot; refused if the tag exists on another snapshot; kept if it is on this one."""
    new_branches: dict[str, SnapshotId] = {}
    """Branch -> snapshot; refused if anything of that name exists."""
    expected_refs: dict[str, SnapshotId] = {}
    """Compare: branch or tag -> the snapshot on which it must be."""
    remove_refs: tuple[str, ...] = ()
    """Tags or branches; one that is not there is passed over."""
    set_properties: dict[str, str] = {}
    remove_properties: tuple[str, ...] = ()


class FileChange(Record):
    """One atomic commit on a branch that adds and removes data files; no data is written."""

    expected_uuid: str
    ref: str
    expected_head: SnapshotId
    """Compare: the commit is refused unless the branch is exactly here."""
    add: FileList | None
    remove: FileList | None
    summary: dict[str, str]
    """Goes into the snapshot's summary: the mark by which the commit is found again."""


class RowChange(Record):
    """One atomic commit on a branch that deletes rows by file and place."""

    expected_uuid: str
    ref: str
    expected_head: SnapshotId
    """Compare: the commit is refused unless the branch is exactly here."""
    rows: tuple[RowsOfFile, ...]
    summary: dict[str, str]
    """Goes into the snapshot's summary: the mark by which the commit is found again."""


class RowReplay(Record):
    """One commit on a branch that writes rows which were made once more from their source."""

    ref: str
    expected_head: SnapshotId
    """Compare: nothing is written unless the branch is exactly here."""
    replay: Replay
    summary: dict[str, str]
    """Goes into the snapshot's summary: the mark by which the commit is found again."""


class SourceReplays(Protocol):
    """Reads the source of a declared replay, and writes its rows."""

    def survey(
        self, table: TableState, recipe: ReplayRecipe, bounds: ReplayRange, contract: TableContract, copies: CopyRule
    ) -> SourceSurvey:
        """What the source has within the bounds, beside what the table has of it at its head, which it has. Raises
        CouldNotLook. Cost: the source within the bounds, up to the recipe's `most_rows`; the table's columns."""

    def write(self, table: TableState, change: RowReplay) -> None:
        """Write the rows whose key does not live on the branch, in one commit; at most once a call.

        They are made anew and must be the approved ones, by count and digest. Raises CommitRefused, CouldNotLook
        (surely not written) or OutcomeUnknown (look for the summary's mark). Never retried here.
        """


class TableCatalog(Protocol):
    """Iceberg's catalog: metadata and commits, never data."""

    def load(self, table: TableName) -> TableState:
        """The table now. Raises UnknownTable, CouldNotLook."""

    def pointer(self, table: TableName) -> str:
        """Where its newest metadata file is: while it is the same, nothing has changed. Raises UnknownTable,
        CouldNotLook. Cost: one catalog call; no file is opened, however long the table's history."""

    def expired(self, table: TableState) -> tuple[Snapshot, ...]:
        """The commits just below the oldest one that main still lists, oldest first, as far as older metadata files
        tell and down to the newest commit by Flink at least; empty where none of these files is left.

        Cost: one catalog call and most often one file. Raises UnknownTable, CouldNotLook."""

    def unnamed_commits(self, table: TableState) -> tuple[UnnamedCommit, ...]:
        """Commits that only metadata files hold which the table does not name: of the newest such files, as far as its
        log reaches. Refused commits leave such files, too.

        Cost: one catalog call, one listing of the metadata folder, and these files. Raises UnknownTable, CouldNotLook.
        """

    def commit(self, table: TableName, change: TableChange) -> TableState:
        """Apply `change` as one compare-and-swap, at most once; returns the table after it.

        Raises CommitRefused or CouldNotLook (both surely not applied; the latter for a reason that may pass) or
        OutcomeUnknown (verify with `load`). Never retried here.
        """

    def survey_files(
        self, table: TableName, ref: str, *, add: FileSources | None, remove: FileSources | None, columns: Sequence[str]
    ) -> FileSurvey:
        """What adding and removing these files on branch `ref` would meet, with the span of `columns`.

        Cost: manifests of the sources; those of the branch that may name them; one request of storage for each file
        that is to be added. Raises UnknownTable, CouldNotLook.
        """

    def change_files(self, table: TableName, change: FileChange) -> SnapshotId:
        """Apply `change` as one compare-and-swap, at most once; returns its snapshot.

        The lists are made anew and must have the approved digest. Raises CommitRefused, CouldNotLook (as `commit`) or
        OutcomeUnknown (look for the summary's mark). Never retried here.
        """

    def delete_rows(self, table: TableName, change: RowChange) -> SnapshotId:
        """Apply `change` as one compare-and-swap, at most once; returns its snapshot.

        Each file must be live on the branch by exactly one reference. Raises as `change_files`.
        """

    def tables(self) -> tuple[TableName, ...]:
        """All tables that the catalog lists. Raises CouldNotLook."""


class TableFiles(Protocol):
    """What lies in a table's folders, whether or not the metadata names it."""

    def flink_manifests(self, table: TableState) -> tuple[FlinkManifest, ...]:
        """Every temporary manifest of Flink's sinks, by run and checkpoint id. Cost: one listing of the metadata
        folder (or `flink.manifests.location`). Raises CouldNotLook."""

    def written_under(self, table: TableState, source: WriterSource) -> WrittenSchema:
        """Under which columns the job wrote what this source names. Cost: at most one manifest list, one manifest and
        the footer of one file. Raises CouldNotLook where it is gone or does not tell it."""


class ReadEvents(Protocol):
    """Lineage: which consumer run read which snapshot."""

    def reads(self, table: TableState, since: datetime) -> tuple[ReadRun, ...]:
        """Runs that read the table after `since` (exclusive), oldest first; a `Part` of them where further events could
        not be read. Raises CouldNotLook."""

    def downstream(self, table: TableState, since: datetime) -> tuple[FarRead, ...]:
        """Runs that read what those runs had written, and what came of that, nearest first; a `Part` as of `reads`.
        Raises CouldNotLook."""


class EvidenceRunner(Protocol):
    def run(self, task: Task, ask: Ask, *, tag: str, on_progress: Callable[[Progress], None]) -> tuple[Answer, int]:
        """The task's answer and the bytes that Spark read. Blocks until done; `tag` is unique per run.

        Raises EvidenceFailed (also when Spark died: the next run starts it again), EvidenceCancelled.
        """

    def cancel(self, tag: str) -> bool:
        """Interrupt the run with this tag; False if none runs under it (here)."""

    def probe(self, table: TableState) -> str:
        """Opens one metadata file, one manifest and one data file of the table, as evidence would; says which it read.
        Raises EvidenceFailed."""

    def warm(self) -> None:
        """Start Spark now, so that the first evidence does not wait. Raises EvidenceFailed."""
