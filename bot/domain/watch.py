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
ALERT, MESSAGE = "alert", "message"
"""Codes of all alerts, and of what was written in a channel; what they are about is said by their words."""


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
    runbook: str
    """The symptom that an incident would be opened with."""
    is_urgent: bool
    """Whether it may wake somebody: rows are wrong, or are being lost, or nobody writes the table."""
    rows_are_right: bool = False
    """Whether what it asks for leaves the table's rows alone, as a restore of the job does; False in old notes."""
    rows: tuple[SnapshotId, ...] = ()
    last_good: SnapshotId | None = None
    """The newest snapshot before it, where that is known."""
    last_good_rows: LastGoodRows | None = Field(default=None, exclude_if=lambda told: told is None)
    """What evidence says of the rows up to it; None where none is named, and in old notes."""
    newest_wrong: SnapshotId | None = Field(default=None, exclude_if=lambda told: told is None)
    """The newest commit that belongs to the fault; None where the mode does not say, and in old notes."""
    also: tuple[str, ...] = ()
    """What else holds at the same time: code and headline of each."""
    source: str = BY_WATCH
    link: str | None = None
    """Where an alert can be looked at."""
    name: str = ""
    """What an alert or a message is called, the same each time it comes; empty for what the watch saw itself."""
    room: str | None = None
    """The channel in which it was written, for a message."""
    started_at: Utc | None = Field(default=None, exclude_if=lambda told: told is None)
    """When an alert began, as its sender says; None for what the watch saw itself, and in old notes."""

    @property
    def is_of_watch(self) -> bool:
        """Whether the watch saw it itself. Others may call themselves what they like."""
        return self.code not in {ALERT, MESSAGE}

    @property
    def muted_as(self) -> str:
        """What a mute of it names: other alerts of the same table are told on; no two messages are alike."""
        return self.code if self.code == MESSAGE else self.name or self.code

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
    follows: str | None = None
    """In old notes: an earlier sighting about the same subject, in whose thread this one was to be told."""


class Ended(Record):
    """It is seen no more."""

    kind: Literal["ended"] = "ended"
    sighting: str
    table: TableName
    at: Utc
    why: str
    written_at: Utc | None = None
    """When the message was written that told of it; None where the watch saw it, or an alert said it."""


class Looked(Record):
    """What the watch saw when somebody else had told of something: kept once, beside their words."""

    kind: Literal["looked"] = "looked"
    sighting: str
    table: TableName
    at: Utc
    facts: tuple[str, ...]
    """Each a full sentence."""


class Muted(Record):
    """Somebody wants to hear no more of it for a while. `until` in the past takes an earlier one back."""

    kind: Literal["muted"] = "muted"
    id: str
    table: TableName
    code: str | None
    """A finding's code or an alert's name (`Sign.muted_as`); None: of the table as a whole."""
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
    mutes: list[Muted] = field(default_factory=list)

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

    def mute_of(self, sign: Sign, at: Utc) -> Muted | None:
        """What silences it now: the newest word about its name, its code, or the table, if that still holds."""
        return next((m for named in (sign.muted_as, sign.code, None) if (m := self._newest(named, at))), None)

    def muted_at(self, at: Utc) -> tuple[Muted, ...]:
        """Every mute that holds, of the table as a whole first."""
        named = {_folded(mute.code): mute.code for mute in self.mutes}
        held = (self._newest(code, at) for code in sorted(named.values(), key=lambda code: code or ""))
        return tuple(mute for mute in held if mute is not None)

    def _newest(self, code: str | None, at: Utc) -> Muted | None:
        mute = next((mute for mute in reversed(self.mutes) if _folded(mute.code) == _folded(code)), None)
        return mute if mute is not None and mute.until > at else None


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
                memory.mutes.append(note)
    return memory


def _same(one: Sign, other: Sign) -> bool:
    return (one.code, one.subject) == (other.code, other.subject)


def _folded(code: str | None) -> str | None:
    """As somebody types it: `f13` is F13."""
    return None if code is None else code.casefold()
