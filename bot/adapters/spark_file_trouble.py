"""Which file it is where Spark fails for one that the table names: Iceberg names most of them in its trace."""

import re

from bot.domain.errors import FileDamaged, FileNotOpened

_PATH = r"((?:[a-z0-9]+:)?/[^\s)]+)"
_LOST = re.compile(rf"iceberg\.exceptions\.NotFoundException: [^\n]*?{_PATH}")
"""`Failed to open input stream for file: …`."""
_DAMAGED = re.compile(
    rf"iceberg\.exceptions\.RuntimeIOException: Failed to (?:open|fetch|read)[^\n:]*: {_PATH}"
    rf"|{_PATH} is not a Parquet file"
)
"""Avro and ORC files, short Parquet files, and Parquet files without their end."""
_READERS = re.compile(
    r"\tat org\.apache\.iceberg\.(?:parquet|orc|avro|arrow|deletes|shaded\.org\.apache\.(?:parquet|orc)|"
    r"data\.BaseDeleteLoader)\."
)
_ELSEWHERE = re.compile(
    r"java\.net\.|javax\.net\.|Timeout|Denied|AccessControl|Forbidden|\b(?:401|403|429|5\d\d)\b[^\n]*(?:Status|status)|"
    r"(?:Status|status)[^\n]*\b(?:401|403|429|5\d\d)\b|SlowDown|OutOfMemory|Interrupted|Killed|cancel"
)
"""The way to the storage, its rights, or Spark itself: that says nothing of the file."""


def file_trouble(error: Exception, what: str) -> FileNotOpened | None:
    """What failed, if the trace names the file for which it did; None for any other trouble."""
    lost = _LOST.search(str(error))
    if lost is not None:
        return FileNotOpened(
            lost[1],
            f"A file that the table names is not on storage, so {what} could not be finished.",
            f"Expected {lost[1]}; storage has no such file.",
            "Ask whether it can be brought back, and what ran on storage lately: expiry, orphan cleanup, a person.",
        )
    found = _DAMAGED.search(str(error)) if not _ELSEWHERE.search(str(error)) else None
    return damaged(found[1] or found[2], what) if found is not None else None


def is_reading(error: Exception) -> bool:
    """Whether Spark failed while it decoded a file that the trace does not name."""
    return _READERS.search(str(error)) is not None and _ELSEWHERE.search(str(error)) is None


def damaged(path: str, what: str) -> FileDamaged:
    """A file that is there and cannot be read to its end."""
    return FileDamaged(
        path,
        f"A file that the table names is damaged, so {what} could not be finished.",
        f"Expected to read {path}; it is on storage, and Spark cannot read it to its end.",
        "Ask whether the storage keeps an older version of it. Then diagnose: F9 says what can be done.",
    )
