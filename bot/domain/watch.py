"""What the watch saw of a table without an incident, and what it remembers of it: notes that are only ever added."""

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from bot.domain.ids import Severity, SnapshotId, TableName
from bot.domain.last_good import LastGoodRows
from bot.domain.record import Record, Utc

BY_WATCH = "Waterline's watch"
"""Who saw it, where no alert told."""
SILENT = frozenset({"no-advance", "no-commit", "stale"})
"""Codes of what a planned stop looks like."""
ALERT = "alert"
"""Code of all alerts of other systems; what they are about is said by their words."""


class Sign(Record):
    """One thing that is wrong, as one look saw it. Two signs of one code and subject are the same thing."""

    code: str
    """Of the failure mode, or a word: `blind`, `no-commit`, `alert`."""
    subject: str
    """What it concerns: a run, a snapshot, the fingerprint of an alert."""
    headline: str
    """One sentence."""
    reasons: tuple[str, ...]
    """Each a full sentence, with the ids that show it."""
    advice: str
    """What to do, a clause."""
    severity: Severity
    runbook: str | None
    """The symptom that an incident would be opened with; None: none fits for sure."""
    is_urgent: bool
    """Whether it may wake somebody: rows are wrong, or are being lost, or nobody writes the table."""
    rows_are_right: bool = False
    """Whether what it asks for leaves the table's rows alone, as a restore of the job does."""
    rows: tuple[SnapshotId, ...] = ()
    last_good: SnapshotId | None = None
    """The newest snapshot before it, where that is known."""
    last_good_rows: LastGoodRows | None = Field(default=None, exclude_if=lambda told: told is None)
    """What evidence says of the rows up to it; None where none is named."""
    newest_wrong: SnapshotId | None = Field(default=None, exclude_if=lambda told: told is None)
    """The newest commit that belongs to the fault; None where the mode does not say."""
    also: tuple[str, ...] = ()
    """What else holds at the same time: code and headline of each."""
    source: str = BY_WATCH
    link: str | None = None
    """Where an alert can be looked at."""
    started_at: Utc | None = Field(default=None, exclude_if=lambda told: told is None)
    """When an alert began, as its sender says; None for what the watch saw itself."""

    @property
    def is_of_watch(self) -> bool:
        """Whether the watch saw it itself. Others may call themselves what they like."""
        return self.code != ALERT

    def veiled(self, veil: Callable[[str], str]) -> "Sign":
        """The same; nothing that people read in it shows what `veil` takes away."""
        said = {"headline": veil(self.headline), "advice": veil(self.advice)}
        lists = {"reasons": tuple(map(veil, self.reasons)), "also": tuple(map(veil, self.also))}
        return self.model_copy(update={**said, **lists})


class Sighted(Record):
    """A sign that held at two looks, or that somebody else's alert told. One message each."""

    kind: Literal["sighted"] = "sighted"
    id: str
    table: TableName
    channel: str
    sign: Sign
    at: Utc


class Ended(Record):
    """It is seen no more."""

    kind: Literal["ended"] = "ended"
    sighting: str
    table: TableName
    at: Utc
    why: str


class Looked(Record):
    """What the watch saw after an alert came: kept once, and shown with the alert."""

    kind: Literal["looked"] = "looked"
    sighting: str
    table: TableName
    at: Utc
    facts: tuple[str, ...]
    """Each a full sentence."""


class Muted(Record):
    """Somebody wants no messages about a table for a while. The newest counts; `until` in the past ends it."""

    kind: Literal["muted"] = "muted"
    id: str
    table: TableName
    until: Utc
    by: str
    at: Utc


WatchNote = Annotated[Sighted | Ended | Looked | Muted, Field(discriminator="kind")]
NOTE: TypeAdapter[WatchNote] = TypeAdapter(WatchNote)


def note_key(note: WatchNote) -> str:
    """A note of one key is kept once, whoever writes it."""
    match note:
        case Sighted():
            return f"sighted/{note.id}"
        case Ended():
            return f"ended/{note.sighting}"
        case Looked():
            return f"looked/{note.sighting}"
        case Muted():
            return f"muted/{note.id}"


def sighting_id(table: TableName, sign: Sign, occasion: int | str) -> str:
    """The same for replicas that see the same thing at the same occasion."""
    text = "\n".join((table, sign.code, sign.subject, str(occasion)))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


@dataclass
class Memory:
    """What is remembered of one table; built only by `recall`."""

    sighted: dict[str, Sighted] = field(default_factory=dict)
    """By id, in the order in which they were seen."""
    ended: dict[str, Ended] = field(default_factory=dict)
    looked: dict[str, Looked] = field(default_factory=dict)
    """By sighting."""
    muted: Muted | None = None
    """The newest mute of the table, whether it holds still or not."""

    @property
    def lasting(self) -> tuple[Sighted, ...]:
        """What has not ended, the first first."""
        return tuple(each for each in self.sighted.values() if each.id not in self.ended)

    def known(self, sign: Sign) -> Sighted | None:
        """The newest sighting of this very thing that goes on."""
        return next((s for s in reversed(self.lasting) if _same(s.sign, sign)), None)

    def occasions(self, sign: Sign) -> int:
        """How often this very thing has been seen before."""
        return sum(_same(each.sign, sign) for each in self.sighted.values())

    def mute_at(self, at: Utc) -> Muted | None:
        """The mute that holds at this moment."""
        return self.muted if self.muted is not None and self.muted.until > at else None


def recall(notes: Iterable[WatchNote]) -> Memory:
    """The memory that these notes make, oldest first."""
    memory = Memory()
    for note in notes:
        match note:
            case Sighted():
                memory.sighted[note.id] = note
            case Ended():
                memory.ended[note.sighting] = note
            case Looked():
                memory.looked[note.sighting] = note
            case Muted():
                memory.muted = note
    return memory


def _same(one: Sign, other: Sign) -> bool:
    return (one.code, one.subject) == (other.code, other.subject)
