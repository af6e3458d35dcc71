"""What the journal says of a diagnosis that somebody asked for."""

from typing import Literal

from bot.domain.record import Record


class DiagnosisRequested(Record):
    """Intent: the world is about to be looked at anew. Without an end after a restart it is looked at then."""

    kind: Literal["diagnosis-requested"] = "diagnosis-requested"


class DiagnosisEnded(Record):
    """The request has its answer; a new diagnosis is an entry of its own, before this one."""

    kind: Literal["diagnosis-ended"] = "diagnosis-ended"
    how: Literal["new", "same", "failed"]
    message: str = ""
    """Why it failed."""


DiagnosisEntry = DiagnosisRequested | DiagnosisEnded
