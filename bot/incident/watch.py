"""What the watch saw of a table without an incident, and what it remembers of it: notes that are only ever added.

What the watch has found that nobody has looked into: as long as it lasts, its table is not called trusted. Pure.

Whether damage is new though it looks like what was told before: the same fault of the same run. Pure.
"""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from bot.incident.diagnosis import LastGoodRows, Matches
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


class WatchFinding(Record):
    """One thing that is wrong, as one look saw it. Two findings of one code and subject are the same thing."""

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
    def good_until(self) -> SnapshotId | None:
        """The newest snapshot that counts as good beside it; None where that is not known, or rows below are wrong."""
        return None if self.last_good_rows is LastGoodRows.WRONG else self.last_good

    @property
    def is_of_watch(self) -> bool:
        """Whether the watch saw it itself. Others may call themselves what they like."""
        return self.code != ALERT

    def veiled(self, veil: Callable[[str], str]) -> "WatchFinding":
        """The same; nothing that people read in it shows what `veil` takes away."""
        said = {"headline": veil(self.headline), "advice": veil(self.advice)}
        lists = {"reasons": tuple(map(veil, self.reasons)), "also": tuple(map(veil, self.also))}
        return self.model_copy(update={**said, **lists})


class ReportedFinding(Record):
    """A finding that held at two looks, or that somebody else's alert told. One message each."""

    kind: Literal["sighted"] = "sighted"
    id: str
    table: TableName
    channel: str
    finding: WatchFinding
    at: Utc


class Ended(Record):
    kind: Literal["ended"] = "ended"
    finding: str
    table: TableName
    at: Utc
    why: str


class Muted(Record):
    """Somebody wants no messages about a table for a while. The newest counts; `until` in the past ends it."""

    kind: Literal["muted"] = "muted"
    id: str
    table: TableName
    until: Utc
    by: str
    at: Utc


WatchNote = Annotated[ReportedFinding | Ended | Muted, Field(discriminator="kind")]


NOTE: TypeAdapter[WatchNote] = TypeAdapter(WatchNote)


def note_key(note: WatchNote) -> str:
    """A note of one key is kept once, whoever writes it."""
    match note:
        case ReportedFinding():
            return f"sighted/{note.id}"
        case Ended():
            return f"ended/{note.finding}"
        case Muted():
            return f"muted/{note.id}"


def finding_id(table: TableName, finding: WatchFinding, occasion: int | str) -> str:
    """The same for replicas that see the same thing at the same occasion."""
    text = "\n".join((table, finding.code, finding.subject, str(occasion)))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


@dataclass
class Memory:
    """What is remembered of one table; built only by `recall`."""

    reported: dict[str, ReportedFinding] = field(default_factory=dict)
    """By id, in the order in which they were seen."""
    ended: dict[str, Ended] = field(default_factory=dict)
    muted: Muted | None = None
    """The newest mute of the table, whether it holds still or not."""

    @property
    def lasting(self) -> tuple[ReportedFinding, ...]:
        """What has not ended, the first first."""
        return tuple(each for each in self.reported.values() if each.id not in self.ended)

    def known(self, finding: WatchFinding) -> ReportedFinding | None:
        """The newest finding of this very thing that goes on."""
        return next((s for s in reversed(self.lasting) if _same(s.finding, finding)), None)

    def occasions(self, finding: WatchFinding) -> int:
        """How often this very thing has been seen before."""
        return sum(_same(each.finding, finding) for each in self.reported.values())

    def mute_at(self, at: Utc) -> Muted | None:
        return self.muted if self.muted is not None and self.muted.until > at else None


def recall(notes: Iterable[WatchNote]) -> Memory:
    """The memory that these notes make, oldest first."""
    memory = Memory()
    for note in notes:
        match note:
            case ReportedFinding():
                memory.reported[note.id] = note
            case Ended():
                memory.ended[note.finding] = note
            case Muted():
                memory.muted = note
    return memory


def _same(one: WatchFinding, other: WatchFinding) -> bool:
    return (one.code, one.subject) == (other.code, other.subject)


def taken_over_by(reported: ReportedFinding, incidents: Iterable[Incident]) -> Incident | None:
    """The first incident that looks into it: one that put its table in doubt at that time or later, or has proven it
    anew since. None: none does."""
    return next(
        (
            incident
            for incident in incidents
            if incident.opened.table == reported.table
            and (incident.closed_at is None or incident.closed_at > reported.at)
            and (was_in_doubt_since(incident, reported.at) or _has_proven_since(incident, reported.at))
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


def open_findings(memory: Memory, incidents: Sequence[Incident]) -> tuple[ReportedFinding, ...]:
    """The urgent ones of the watch itself that last and that no incident took over, the first first.

    `incidents`: those of this table. A mute changes nothing here: it says that nobody wants to hear of it, not that it
    is not so. A silence is none, nor is what only the job is to be mended for: what the table holds is right though
    nobody writes on, and its age is told by its freshness. What others told (alerts, messages) is theirs, and counts
    only once the watch sees it, or an incident is opened.
    """
    return tuple(
        reported
        for reported in memory.lasting
        if reported.finding.is_urgent
        and reported.finding.is_of_watch
        and reported.finding.code not in SILENT
        and not reported.finding.rows_are_right
        and taken_over_by(reported, incidents) is None
    )


def goes_on(finding: WatchFinding, memory: Memory, incidents: Sequence[Incident], table: TableState | None) -> bool:
    """Whether this very thing was told, or an incident has named and left it, and it has not grown since, though what
    it concerns may have changed. `incidents`: those of this table. `table`: None where it was never read.

    Once an incident that looked into the fault is closed, the fault has grown when it rests on a commit that nobody was
    told of, that no diagnosis named, and that the incident did not leave on main.
    """
    known, marks = memory.known(finding), _marks(finding)
    if table is None or not marks:
        return known is not None
    taken = {each.id: taken_over_by(each, incidents) for each in memory.lasting if each.finding.code == finding.code}
    if known is not None and ((by := taken[known.id]) is None or by.is_open):
        return True
    left: set[SnapshotId] = set()
    for each in memory.lasting:
        if each.id in taken:
            left |= _marks(each.finding) | _up_to(each.finding.newest_wrong, table)
    for incident in incidents:
        named = _named_by(incident, finding.code)
        if not incident.is_open and (named or any(by is not None and by.id == incident.id for by in taken.values())):
            left |= named | _up_to(_head_left(incident, table), table)
    return marks <= left


def _marks(told: WatchFinding | Matches) -> set[SnapshotId]:
    """The newest commit that belongs to the fault; where the mode does not say, all on which it rests."""
    found = (*told.rows, told.last_good) if told.newest_wrong is None else (told.newest_wrong,)
    return {each for each in found if each is not None}


def _named_by(incident: Incident, code: str) -> set[SnapshotId]:
    """What the incident's own diagnoses say of the fault."""
    diagnoses = (entry.body.diagnosis for entry in incident.entries if isinstance(entry.body, Diagnosed))
    matches = (match for diagnosis in diagnoses for mode, match in diagnosis.matches if mode.code == code)
    return set[SnapshotId]().union(*map(_marks, matches))


def _up_to(snapshot: SnapshotId | None, table: TableState) -> set[SnapshotId]:
    """It and what lies below, while main holds it."""
    return {s.snapshot_id for s in table.ancestors(snapshot)} if snapshot in table.chain_ids else set()


def _head_left(incident: Incident, table: TableState) -> SnapshotId | None:
    """The head that it proved last; where it proved none, that at its close."""
    moved = (entry.body for entry in reversed(incident.entries) if isinstance(entry.body, WaterlineMoved))
    proven = next((body.snapshot for body in moved if body.status == "trusted"), None)
    before = [m.snapshot_id for m in table.head_moves if incident.closed_at is not None and m.at <= incident.closed_at]
    return proven if proven is not None or not before else before[-1]
