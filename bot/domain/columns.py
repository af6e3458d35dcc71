"""What is asked of every snapshot of a long list, kept as numbers."""

from array import array
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
NONE = -(1 << 63)
"""No parent, no checkpoint."""
LOOK = NONE + 1
"""In the column of checkpoints: only the summary can tell."""


class Columns(NamedTuple):
    """One number of each snapshot."""

    ids: "array[int]"
    parents: "array[int]"
    sequence_numbers: "array[int]"
    moments: "array[int]"
    """Milliseconds since 1970."""
    checkpoints: "array[int]"
    writers: "array[int]"
    """Places in the list of writers."""


def moment_of(milliseconds: int) -> datetime:
    """As the format tells moments. Raises OverflowError outside of the calendar."""
    return _EPOCH + timedelta(milliseconds=milliseconds)
