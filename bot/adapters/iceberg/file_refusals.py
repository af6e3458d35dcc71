"""Why a change of files is not committed: they are not what was approved, or cannot be read as the table's."""

from collections.abc import Sequence

from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.refs import SnapshotRefType

from bot.domain.errors import CommitRefused
from bot.domain.file_changes import FORMATS_WRITTEN, FileList
from bot.domain.ids import TableName, short
from bot.ports import FileChange


def must_fit(name: TableName, unfit: Sequence[str]) -> None:
    """Raises CommitRefused for a Flink manifest whose files were not written for the table."""
    if unfit:
        raise CommitRefused(
            f"Table {name} was not changed: files of a Flink manifest were not written for it as it is.",
            f"Expected a schema and a partition spec that the table has or had; found {unfit[0]}.",
            "Replay their source range instead.",
        )


def must_be(name: TableName, what: str, found: FileList | None, approved: FileList | None) -> None:
    """Raises CommitRefused unless it is the very list that was approved."""
    if (found.digest if found else None) == (approved.digest if approved else None):
        return
    said = [f"{each.files} files with {each.rows} rows" if each else "no file" for each in (approved, found)]
    raise CommitRefused(
        f"Table {name} was not changed: the files to be {what} are not those that were approved.",
        f"Expected {said[0]}; found {said[1]}, or others of that number.",
        "Collect evidence again and propose anew.",
    )


def must_be_there(name: TableName, unreadable: Sequence[str]) -> None:
    """Raises CommitRefused for files that storage does not give whole any more."""
    if unreadable:
        raise CommitRefused(
            f"Table {name} was not changed: files to be added are no longer on storage.",
            f"Expected every file whole; {len(unreadable)} are not, the first is {unreadable[0]}.",
            "Keep maintenance away from the table, collect evidence again and propose anew.",
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
            f"Table {name} was not changed: its branch {change.ref} is not where it was.",
            f"Expected it on {short(change.expected_head)}; {found}.",
            "Look at who moved it, then propose the repair anew.",
        )
