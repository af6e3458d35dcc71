"""Which data files a repair adds to a table or takes out of it.

They are named by where they come from, with counts and a digest of the exact list: thousands of files fit into the
journal, and what is executed is still exactly what was approved.
"""

from bot.observation.ids import SnapshotId
from bot.observation.record import Record

FORMATS_WRITTEN = (2, 3)
"""Of Iceberg. The lists of format 1 are read so that they cannot be written again."""


class FileSources(Record):
    """Where data files come from; a file is meant if any of these names it."""

    added_by: tuple[SnapshotId, ...] = ()
    """What these commits added."""
    removed_by: tuple[SnapshotId, ...] = ()
    """What these commits removed: the files that a compaction replaced."""
    manifests: tuple[str, ...] = ()
    """What these Flink manifests list."""
    paths: tuple[str, ...] = ()
    """These very files."""
    only_unreadable: bool = False
    """Of all these only the files that storage does not give whole."""
    damaged: tuple[str, ...] = ()
    """Of `paths` those that have their size and cannot be decoded: they count as not given whole."""
    without_added_by: tuple[SnapshotId, ...] = ()
    """Of all these none that one of these commits added."""
    added_again_by: tuple[SnapshotId, ...] = ()
    """What these commits added although the table has it already: files that another live reference names, or that one
    of `added_first_by` had added. Only to be removed; what else they added is not meant."""
    added_first_by: tuple[SnapshotId, ...] = ()
    """Commits that had added files of `added_again_by` before, wherever the rows of these files are by now."""

    @property
    def taken_out_of(self) -> tuple[SnapshotId, ...]:
        """The commits whose references go where these are removed."""
        return (*self.added_by, *self.added_again_by)


class FileList(Record):
    sources: FileSources
    files: int
    rows: int
    bytes: int
    digest: str
    """sha256 over path, rows and bytes of each file, sorted."""


class Some(Record):
    """How many files, and the first of them."""

    count: int = 0
    first: tuple[str, ...] = ()
    """At most five."""

    def __bool__(self) -> bool:
        return self.count > 0


class RowsOfFile(Record):
    """Rows of one data file, by their places in it."""

    path: str
    spans: tuple[tuple[int, int], ...]
    """(first, last) of each unbroken run of places, both inclusive, rising; the first row of a file is 0."""

    @property
    def rows(self) -> int:
        return sum(last - first + 1 for first, last in self.spans)


class OfCommit(Record):
    """What one commit has added, of the files of a list."""

    snapshot_id: SnapshotId
    files: int
    rows: int


class FileSurvey(Record):
    """What a change of files would meet on a branch as it is now."""

    add: FileList | None
    """What would be added: the files of its sources that are not live; None where that is nothing."""
    remove: FileList | None
    """The references that would go; None where none is live."""
    by_commit: tuple[OfCommit, ...] = ()
    """The references that would go, by the commits that added them, the newest first; all of them."""
    live_already: Some = Some()
    """Of what is to be added: live on the branch."""
    beside: dict[str, Some] = {}
    """Of what Flink manifests would add: branch or tag of commits that main never had -> what is live there."""
    gone: Some = Some()
    """Of what is to be added: storage does not give it whole."""
    not_live: Some = Some()
    """Of what is to be removed: not live on the branch any more."""
    whole_again: Some = Some()
    """Of the files that were named to be removed because storage had lost them: it gives them whole, and they stay."""
    delete_files: int = 0
    """Delete files that the sources themselves bring or list."""
    unfit: tuple[str, ...] = ()
    """Flink manifests that are left out, because their files were not written for this table: name and reason."""
    has_equality_deletes: bool = False
    """Whether rows of the branch are deleted by key: then a file that is added again rises above older deletes."""
    has_position_deletes: bool = False
    """Whether rows of the files that would go are deleted by their places, or may be."""
    partitions: tuple[str, ...] = ()
    """Partitions of the files of both lists, as `day=2026-11-03`, at most ten."""
    span: dict[str, tuple[str, str]] = {}
    """Column -> lowest and highest value in the files of both lists, by their bounds."""
