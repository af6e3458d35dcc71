"""A diagnosis and all that it rests on, as one value that can be put to the modes again anywhere."""

from typing import Literal

from bot.domain.diagnosis import Case, Diagnosis
from bot.domain.record import Record, Utc


class SavedCase(Record):
    """What `waterline case save` writes beside the raw sources."""

    format: Literal[1] = 1
    saved_at: Utc
    version: str
    """Of Waterline, when it was saved."""
    case: Case
    diagnosis: Diagnosis
    """The answer as it was given then."""
    left_out: tuple[str, ...]
    """Raw sources that are not in the file, each with the reason."""
    cut: tuple[str, ...] = ()
    """Raw sources of which values of rows were cut out."""
