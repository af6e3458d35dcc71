"""What the watch saw of a table without an incident, and what it remembers of it: notes that are only ever added.

What the watch has found that nobody has looked into: as long as it lasts, its table is not called trusted. Pure.

Whether damage is new though it looks like what was told before: the same fault of the same run. Pure.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import takewhile
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from bot.incident.diagnosis import LastGoodRows
from bot.incident.doubt import was_in_doubt_since
from bot.incident.entries import Diagnosed, Verified, WaterlineMoved
from bot.incident.incident import Incident
from bot.observation.ids import Severity, SnapshotId, TableName
from bot.observation.record import Record, Utc
from bot.observation.table import TableState

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


def taken_over_by(sighted: Sighted, incidents: Iterable[Incident]) -> Incident | None:
    """The first incident that looks into it: one that put its table in doubt at that time or later, or has proven it
    anew since. None: none does."""
    return next(
        (
            incident
            for incident in incidents
            if incident.opened.table == sighted.table
            and (incident.closed_at is None or incident.closed_at > sighted.at)
            and (was_in_doubt_since(incident, sighted.at) or _has_proven_since(incident, sighted.at))
        ),
        None,
    )


def _has_proven_since(incident: Incident, at: datetime) -> bool:
    """Whether its table passed a proof of which every part was asked for after that moment."""
    proofs = (entry.body for entry in incident.entries if entry.at > at and isinstance(entry.body, Verified))
    return any(
        proof.makes_trusted and all(incident.runs[each].requested_at > at for each in proof.evidence)
        for proof in proofs
    )


def open_findings(memory: Memory, incidents: Sequence[Incident]) -> tuple[Sighted, ...]:
    """The urgent ones of the watch itself that last and that no incident took over, the first first.

    `incidents`: those of this table. A mute changes nothing here: it says that nobody wants to hear of it, not that it
    is not so. A silence is none, nor is what only the job is to be mended for: what the table holds is right though
    nobody writes on, and its age is told by its freshness. What others told (alerts, messages) is theirs, and counts
    only once the watch sees it, or an incident is opened.
    """
    return tuple(
        sighted
        for sighted in memory.lasting
        if sighted.sign.is_urgent
        and sighted.sign.is_of_watch
        and sighted.sign.code not in SILENT
        and not sighted.sign.rows_are_right
        and taken_over_by(sighted, incidents) is None
    )


def goes_on(sign: Sign, memory: Memory, incidents: Sequence[Incident], table: TableState | None) -> bool:
    """Whether this very thing was told, or an incident has named and left it, and it has not come again since, though
    what it concerns may have changed. `incidents`: those of this table. `table`: None where it was never read."""
    known = memory.known(sign)
    if table is None:
        return known is not None
    if any(_was_left(sign, incident, table) for incident in incidents):
        return True
    if known is not None:
        return not came_again(sign, known, taken_over_by(known, incidents), table)
    alike = (each for each in memory.lasting if each.sign.code == sign.code)
    return any(is_all_told(sign, each, taken_over_by(each, incidents), table) for each in alike)


def came_again(sign: Sign, sighted: Sighted, incident: Incident | None, table: TableState) -> bool:
    """`sighted`: a sighting of the same code. `incident`: what took it over.

    True where that is closed, and the newest commit that belongs to the fault came to main after what was told of it,
    and after the commit that the incident proved (where it proved none: the head at its close); or where main has lost
    that very commit. What an incident left as it was is not told a second time, however the run goes on. Of a mode that
    names no such commit: where the sign rests on one that the incident did not look at.
    """
    if incident is None or incident.closed_at is None:
        return False
    if sign.newest_wrong is None:
        return _rests_on_newer(sign, sighted, _looked_until(incident, incident.closed_at, table), table)
    told = {*_told_by(sighted), *_named_by(incident, sign.code)}
    return _is_newer(sign.newest_wrong, told, incident, incident.closed_at, table)


def is_all_told(sign: Sign, sighted: Sighted, incident: Incident | None, table: TableState) -> bool:
    """Whether a sighting of the same code that concerned something else has told this fault: its newest commit is none
    that came later. A run that ends, or a window that begins elsewhere, changes what a fault concerns."""
    if sign.newest_wrong is None or sighted.sign.newest_wrong is None:
        return False
    if incident is not None and incident.closed_at is not None:
        return not came_again(sign, sighted, incident, table)
    log = _log(table)
    return _place(sign.newest_wrong, log, table) <= _place(sighted.sign.newest_wrong, log, table)


def _was_left(sign: Sign, incident: Incident, table: TableState) -> bool:
    """Whether a diagnosis of this incident named the fault, and it was closed with nothing newer of it."""
    named = _named_by(incident, sign.code)
    if sign.newest_wrong is None or incident.closed_at is None or not named:
        return False
    return not _is_newer(sign.newest_wrong, set(named), incident, incident.closed_at, table)


def _is_newer(
    newest: SnapshotId, told: set[SnapshotId], incident: Incident, closed_at: datetime, table: TableState
) -> bool:
    log, head = _log(table), _proven(incident)
    left = max(_place(each, log, table) for each in (*told, incident.opened.window.until, head))
    if head is None:
        before = [move.snapshot_id for move in table.head_moves if move.at <= closed_at]
        left, head = max(left, len(before) - 1), next((each for each in before[-1:] if each not in told), None)
    is_lost = head is not None and head not in table.chain_ids
    return _place(newest, log, table) > left or (is_lost and newest == head)


def _log(table: TableState) -> Mapping[SnapshotId, int]:
    """Snapshot -> the line of the snapshot log with which it first became the head of main."""
    first: dict[SnapshotId, int] = {}
    for line, move in enumerate(table.head_moves):
        first.setdefault(move.snapshot_id, line)
    return first


def _place(snapshot: SnapshotId | None, log: Mapping[SnapshotId, int], table: TableState) -> int:
    """When it came to main: by its own line of the log, else by that of the commit with which a branch was published.
    -1: before all that the log still tells."""
    if snapshot in log or snapshot not in table.chain_ids:
        return log.get(snapshot, -1) if snapshot is not None else -1
    above = takewhile(lambda commit: commit.snapshot_id != snapshot, table.chain)
    return min((log[commit.snapshot_id] for commit in above if commit.snapshot_id in log), default=-1)


def _told_by(sighted: Sighted) -> tuple[SnapshotId, ...]:
    told = sighted.sign
    return told.rows if told.newest_wrong is None else (told.newest_wrong,)


def _named_by(incident: Incident, code: str) -> tuple[SnapshotId, ...]:
    """The newest commits of this fault, as the incident's own diagnoses named them."""
    diagnoses = (entry.body.diagnosis for entry in incident.entries if isinstance(entry.body, Diagnosed))
    matches = (match for diagnosis in diagnoses for mode, match in diagnosis.matches if mode.code == code)
    return tuple(match.newest_wrong for match in matches if match.newest_wrong is not None)


def _proven(incident: Incident) -> SnapshotId | None:
    moved = (entry.body for entry in reversed(incident.entries) if isinstance(entry.body, WaterlineMoved))
    return next((body.snapshot for body in moved if body.status == "trusted"), None)


def _rests_on_newer(sign: Sign, sighted: Sighted, looked_until: datetime, table: TableState) -> bool:
    resting_on = {*sign.rows, sign.last_good} - {*sighted.sign.rows, sighted.sign.last_good}
    commits = (table.by_id.get(each) for each in resting_on if each is not None)
    return any(commit.committed_at > looked_until for commit in commits if commit is not None)


def _looked_until(incident: Incident, closed_at: datetime, table: TableState) -> datetime:
    """When the newest commit was made that it proved, by the clock of who commits; else when it was closed."""
    proven = _proven(incident)
    commit = table.by_id.get(proven) if proven is not None else None
    return closed_at if commit is None else commit.committed_at
