"""Which of several copies of a row is the right one, where its owners have said so.

Whether a table is written by key, so that a newer row of a key is meant to replace the older one, and how many
deletes a commit carries that brought no row in place of the one they took.
"""

from collections.abc import Iterable, Mapping
from typing import Literal

from pydantic import Field

from bot.domain.record import Record
from bot.domain.table import Snapshot


class CopyRule(Record):
    """Without a word of the owners all copies must be equal, and the oldest stays."""

    keep: Literal["oldest", "newest"] = Field(
        default="oldest", description="Which copy of a key stays when duplicates are removed.", examples=["newest"]
    )
    ignore: tuple[str, ...] = Field(
        default=(),
        description="Columns that each write sets, such as the ingestion time. Copies that differ only in these "
        "are the same row.",
        examples=[["ingested_at"]],
    )

    @property
    def but(self) -> str:
        """` but a and b`; empty where copies are equal in every column."""
        return f" but {' and '.join(self.ignore)}" if self.ignore else ""


_PROPERTY = "write.upsert.enabled"


def is_upsert(properties: Mapping[str, str]) -> bool:
    """Whether every row that Flink writes is to replace the one of its key."""
    return properties.get(_PROPERTY, "").lower() == "true"


def why_by_key(properties: Mapping[str, str], commits: Iterable[Snapshot]) -> str | None:
    """One sentence that shows it, from the table's properties or from the deletes of these commits, as far as they are
    Flink's; None: only appends."""
    if is_upsert(properties):
        return f"The table is written by key ({_PROPERTY} is true)."
    of_flink = [commit for commit in commits if commit.job_id]
    if deletes := sum(commit.counted("added-equality-deletes") for commit in of_flink):
        return f"The job writes by key: its commits in the window carry {deletes} equality deletes."
    if files := sum(commit.counted("added-delete-files") for commit in of_flink):
        return f"The job writes by key: its commits in the window carry {files} delete files."
    return None


def bare_deletes(properties: Mapping[str, str], commits: Iterable[Snapshot]) -> int | None:
    """Deletes of these commits that brought no row; None: nobody can tell how many. An upsert writes a delete of the
    key with every row, by which commits with as many deletes as rows hold no deletion of a key alone; elsewhere a
    delete may be one that takes a row away, or the first half of an update."""
    bare = 0
    for commit in commits:
        deletes = commit.counted("added-equality-deletes") + commit.counted("added-position-deletes")
        if not deletes and commit.counted("added-delete-files"):
            return None
        rows = commit.counted("added-records") if is_upsert(properties) else 0
        if deletes and deletes < rows:
            return None
        bare += max(0, deletes - rows)
    return bare
