"""Why a change of files is not committed: they are not what was approved, or cannot be read as the table's."""

from collections.abc import Sequence

from bot.domain.errors import CommitRefused
from bot.domain.file_changes import FileList
from bot.domain.ids import TableName


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
