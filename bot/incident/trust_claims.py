"""What the record says of a table's trust, and what the table says of itself: the two sides that must agree. Pure.

The rule: a doubt beats not knowing, and not knowing beats trust. Beside one incident a later one may speak for the
table, or another may have it in doubt; consumers whose last notice does not hold any more are due for a correction,
which a person sends or says why not.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from bot.incident.delivery import NoticeView
from bot.incident.diagnosis import LastGoodRows
from bot.incident.doubt import doubted_since, is_unplaced, rows_up_to
from bot.incident.entries import WaterlineMoved
from bot.incident.incident import Incident
from bot.incident.notice import ALL_CLEAR, BESIDE, PLANNED, Notice
from bot.incident.trust import TAG, Basis, Trust, TrustState, Turn, pins_for
from bot.incident.watch import ReportedFinding
from bot.incident.waterline import last_taken_back, taken_back
from bot.observation.errors import Refused
from bot.observation.ids import IncidentId, SnapshotId, TableName, short
from bot.observation.looked import NotSeen
from bot.observation.sentences import clock_time, full_stop
from bot.observation.table import TableState

_HIDDEN = "a private incident"


_TAKEN_BACK = "the verified state is changing or was rolled back"


@dataclass(frozen=True)
class Claim:
    """The record's side: what the newest incident on the table left behind."""

    state: TrustState
    snapshot: SnapshotId | None
    since: datetime
    incident: Incident
    why: str
    is_unseen: bool = False
    """Whether nobody looked at the rows up to the snapshot, which a diagnosis names as the newest before a fault."""
    is_unplaced: bool = False
    """Whether rows were found wrong of which nobody knows yet whether they lie above the snapshot."""

    @property
    def shown_id(self) -> IncidentId | None:
        """None where only invited people may know of it."""
        return None if self.incident.is_private else self.incident.id


@dataclass(frozen=True)
class Mark:
    """The table's side: its properties and its tag."""

    status: str | None
    incident: str | None
    since: datetime | None
    tag: SnapshotId | None

    @property
    def is_bare(self) -> bool:
        return self.status is None and self.tag is None


def mark_of(table: TableState) -> Mark:
    return Mark(
        status=table.properties.get("waterline.status"),
        incident=table.properties.get("waterline.incident"),
        since=_moment(table.properties.get("waterline.since", "")),
        tag=table.waterline,
    )


def newest_claim(incidents: Sequence[Incident]) -> Claim | None:
    """What the newest incident that put the table in doubt says of it; `incidents`: oldest first, all of one table.
    None: none did."""
    for incident in reversed(incidents):
        doubted = doubted_since(incident)
        if doubted is not None:
            return _claim_of(incident, doubted)
    return None


def _claim_of(incident: Incident, doubted: datetime) -> Claim:
    name = _named(incident)
    moved = incident.waterline
    if moved is not None and moved.status == "trusted":
        return Claim(
            state=TrustState.TRUSTED,
            snapshot=moved.snapshot,
            since=_moved_at(incident, moved),
            incident=incident,
            why=f"The table was verified after {name}.",
        )
    again = taken_back(incident)
    unknown = " The last good snapshot is unknown." if incident.trusted is None else ""
    return Claim(
        state=TrustState.UNDER_REVIEW,
        snapshot=incident.trusted,
        since=doubted if again is None else again.at,
        incident=incident,
        why=f"{name[0].upper()}{name[1:]} {_standing(incident, was_trusted=again is not None)}{unknown}",
        is_unseen=rows_up_to(incident, incident.trusted) is LastGoodRows.NOT_LOOKED_AT,
        is_unplaced=is_unplaced(incident),
    )


def disagreements(claim: Claim | None, table: TableState) -> tuple[str, ...]:
    """Where the table's own marks are not what the record says; empty when both say the same."""
    mark = mark_of(table)
    if claim is None:
        if mark.is_bare:
            return ()
        return (
            f"The record has no incident on this table, but the table is marked `{mark.status or 'nothing'}`"
            f"{f' with the tag {TAG} on {short(mark.tag)}' if mark.tag is not None else ''}.",
        )
    if claim.snapshot is None and mark.status is None:
        return ()
    found: list[str] = []
    if mark.status != claim.state.value:
        found.append(f"The record says `{claim.state.value}`; the table's property says `{mark.status or 'nothing'}`.")
    elif mark.incident != claim.incident.id:
        found.append(f"The record names {_named(claim.incident)}; the table's property names another one or none.")
    if mark.tag != claim.snapshot:
        stands = f"is on {short(mark.tag)}" if mark.tag is not None else "does not exist"
        found.append(f"The record's trusted snapshot is {short(claim.snapshot)}; the tag {TAG} {stands}.")
    return tuple(found)


def history_of(incidents: tuple[Incident, ...]) -> tuple[Turn, ...]:
    """Every change of trust that the record tells of one table's incidents, newest first."""
    turns = [turn for incident in incidents for turn in _turns(incident)]
    return tuple(sorted(turns, key=lambda turn: turn.at, reverse=True))


def _turns(incident: Incident) -> list[Turn]:
    doubted = doubted_since(incident)
    if doubted is None:
        return []
    shown = None if incident.is_private else incident.id
    name = _named(incident)
    is_planned = incident.runbook.is_planned
    why = f"a problem was found in the planned work of {name}." if is_planned else f"{name} was opened."
    found = [
        Turn(
            at=doubted,
            state=TrustState.UNDER_REVIEW,
            snapshot=incident.opened.trusted,
            incident=shown,
            sentence=f"Questioned: {why}",
        )
    ]
    before = WaterlineMoved(snapshot=incident.opened.trusted, status="under-review")
    for entry in incident.entries:
        if isinstance(entry.body, WaterlineMoved) and entry.body != before:
            state, snapshot = TrustState(entry.body.status), entry.body.snapshot
            said = _said(entry.body, before, name)
            found.append(Turn(at=entry.at, state=state, snapshot=snapshot, incident=shown, sentence=said))
            before = entry.body
    unproven = incident.waterline is None or incident.waterline.status != "trusted"
    if incident.closed_at is not None and unproven:
        found.append(
            Turn(
                at=incident.closed_at,
                state=TrustState.UNDER_REVIEW,
                snapshot=incident.trusted,
                incident=shown,
                sentence=f"Left under review: {name} was closed without verification.",
            )
        )
    return found


def _said(moved: WaterlineMoved, before: WaterlineMoved, name: str) -> str:
    if moved.status == "trusted":
        return f"Verified after {name}."
    if before.status == "trusted":
        return f"Questioned again: {_TAKEN_BACK} in {name}."
    if moved.snapshot is None:
        return f"Questioned further back: it is unknown how far the problem of {name} reaches."
    how = "Located" if before.snapshot is None else "Questioned further back"
    return f"{how}: the problem of {name} is above this snapshot."


def _named(incident: Incident) -> str:
    return _HIDDEN if incident.is_private else f"incident {incident.id}"


def _standing(incident: Incident, *, was_trusted: bool) -> str:
    if not incident.is_open:
        return "was closed without verification of the table."
    if incident.is_private:
        return "is open on it."
    if was_trusted:
        return f"is open on it: {_TAKEN_BACK}, and nothing was verified since."
    matches = incident.diagnosis.matches if incident.diagnosis is not None else ()
    cause = f"{matches[0][1].headline.rstrip('.')}." if matches else "There is no diagnosis yet."
    return f"is open on it. {cause[0].upper()}{cause[1:]}"


def _moved_at(incident: Incident, moved: WaterlineMoved) -> datetime:
    """When the waterline came to where it stands."""
    return next(entry.at for entry in reversed(incident.entries) if entry.body == moved)


def _moment(text: str) -> datetime | None:
    """Anyone can write a property: what is no moment with its zone tells nothing."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo is not None else None


def judge(
    name: TableName,
    table: TableState | NotSeen,
    incidents: Sequence[Incident] | NotSeen,
    findings: Sequence[ReportedFinding] = (),
    *,
    at: datetime,
    is_marked: bool = True,
) -> Trust:
    """The table's trust. `incidents` are those of this table, oldest first; NotSeen: the source could not be asked.
    `findings`: what the watch has found and nobody has looked into (`open_findings`), the first first. `is_marked`
    False: the table need carry no mark.

    Trusted only if table and record were both read, say the same, the head still stands on what was proven, and the
    watch has found nothing since.
    """
    seen = table if isinstance(table, TableState) else None
    claim = None if isinstance(incidents, NotSeen) else newest_claim(incidents)
    unclear = _doubts(table, incidents, claim, is_marked=is_marked)
    doubts = (*unclear, *(_found(each, at) for each in findings))
    state = _state(seen, claim, doubts)
    snapshot, basis = _snapshot(seen, incidents, claim)
    if findings and snapshot is not None and state is TrustState.UNKNOWN:
        snapshot, basis = _below(findings, seen, snapshot, basis)
    listed = seen.by_id.get(snapshot) if seen is not None and snapshot is not None else None
    is_certain = seen is not None and seen.lost_metadata is None and listed is not None
    above = _above(seen, snapshot)
    return Trust(
        table=name,
        state=state,
        snapshot=snapshot,
        committed_at=listed.committed_at if listed is not None else None,
        basis=basis,
        head=seen.head if seen is not None and seen.lost_metadata is None else None,
        above=above,
        why=_why(state, claim, seen, doubts, is_unclear=bool(unclear)),
        advice=_advice(state, claim, is_certain=is_certain, basis=basis),
        since=findings[0].at if state is TrustState.UNKNOWN and doubts != unclear else _since(state, claim, seen),
        incident=claim.shown_id if claim is not None else None,
        doubts=doubts,
        pins=pins_for(seen, snapshot) if is_certain and seen is not None and snapshot is not None else (),
        checked_at=at,
    )


def _doubts(
    table: TableState | NotSeen, incidents: Sequence[Incident] | NotSeen, claim: Claim | None, *, is_marked: bool
) -> tuple[str, ...]:
    found = [
        f"Could not check {each.source}: {each.reason}" for each in (table, incidents) if isinstance(each, NotSeen)
    ]
    if isinstance(table, NotSeen):
        return tuple(found)
    if table.lost_metadata is not None:
        found.append("The catalog points to an unreadable metadata file; this answer is older.")
    if not isinstance(incidents, NotSeen) and (is_marked or not mark_of(table).is_bare):
        found += disagreements(claim, table)
    if claim is not None and claim.state is TrustState.TRUSTED and not _stands_on(table, claim.snapshot):
        found.append("The table's head does not descend from the verified snapshot.")
    return tuple(found)


def _found(finding: ReportedFinding, at: datetime) -> str:
    found = finding.finding
    headline = full_stop(found.headline[:1].upper() + found.headline[1:])
    return f"The monitor found {found.code} at {clock_time(finding.at, at)}, and no incident covers it: {headline}"


def _state(table: TableState | None, claim: Claim | None, doubts: tuple[str, ...]) -> TrustState:
    is_marked = table is not None and mark_of(table).status == TrustState.UNDER_REVIEW.value
    if is_marked or (claim is not None and claim.state is TrustState.UNDER_REVIEW):
        return TrustState.UNDER_REVIEW
    return TrustState.UNKNOWN if doubts else TrustState.TRUSTED


def _snapshot(
    table: TableState | None, incidents: Sequence[Incident] | NotSeen, claim: Claim | None
) -> tuple[SnapshotId | None, Basis]:
    """Where both sides name one, they must name the same."""
    if claim is not None:
        if claim.snapshot is None or (table is not None and mark_of(table).tag not in (None, claim.snapshot)):
            return None, Basis.NONE
        is_proven = claim.state is TrustState.TRUSTED
        return claim.snapshot, Basis.VERIFIED if is_proven else Basis.BEFORE_THE_FAULT
    if table is None or isinstance(incidents, NotSeen) or not mark_of(table).is_bare or table.head is None:
        return None, Basis.NONE
    return table.head, Basis.NEVER_QUESTIONED


def _below(
    findings: Sequence[ReportedFinding], table: TableState | None, snapshot: SnapshotId, basis: Basis
) -> tuple[SnapshotId | None, Basis]:
    """What is named while the watch's findings stand: nothing above any of them. A proof stands where it is not above;
    a head that nobody proved is not named where a finding does not tell how far down it goes."""
    chain = [each.snapshot_id for each in table.chain] if table is not None else []
    known = [each.finding.good_until for each in findings]
    good = [chain.index(each) for each in known if each is not None and each in chain]
    is_proven = basis is Basis.VERIFIED
    if is_proven and (not good or snapshot not in chain or chain.index(snapshot) >= max(good)):
        return snapshot, basis
    if len(good) < len(known) and not is_proven:
        return None, Basis.NONE
    return chain[max(good)], Basis.BEFORE_THE_FAULT


def _above(table: TableState | None, snapshot: SnapshotId | None) -> int | None:
    if table is None or snapshot is None or snapshot not in table.chain_ids:
        return None
    return next(n for n, each in enumerate(table.chain) if each.snapshot_id == snapshot)


def _stands_on(table: TableState, snapshot: SnapshotId | None) -> bool:
    """False only where it is certain: expiry cuts the chain, and what lies below the cut may well be its ancestor."""
    if snapshot in table.chain_ids:
        return True
    proven = table.by_id.get(snapshot) if snapshot is not None else None
    if proven is None or not table.chain or not table.chain[-1].has_commit_below:
        return False
    oldest = table.chain[-1]
    return table.place_of(proven.snapshot_id) < table.place_of(oldest.snapshot_id)


def _since(state: TrustState, claim: Claim | None, table: TableState | None) -> datetime | None:
    if claim is not None and state is claim.state:
        return claim.since
    mark = mark_of(table) if table is not None else None
    return mark.since if mark is not None and state.value == mark.status else None


def _why(
    state: TrustState, claim: Claim | None, table: TableState | None, doubts: tuple[str, ...], *, is_unclear: bool
) -> str:
    match state:
        case TrustState.UNDER_REVIEW:
            marked = "The table itself is marked as under review."
            return claim.why if claim is not None and claim.state is state else marked
        case TrustState.UNKNOWN:
            return f"Unknown. {doubts[0]}" if is_unclear else doubts[0]
        case TrustState.TRUSTED:
            if claim is not None:
                return claim.why
            empty = " It has no snapshot yet." if table is not None and table.head is None else ""
            return f"No incident was ever opened on it. It has no known problem, but it was never verified.{empty}"


def _advice(state: TrustState, claim: Claim | None, *, is_certain: bool, basis: Basis) -> str:
    if state is TrustState.TRUSTED:
        return "Read the table as usual."
    if not is_certain:
        return "Do not rely on it until this is answered. Wait, then ask again."
    if basis is Basis.BEFORE_THE_FAULT and claim is not None and claim.is_unplaced:
        return (
            "Do not read the head. Some rows are wrong, and it is unknown where. The snapshot named here is not "
            "verified and may contain some."
        )
    if basis is Basis.BEFORE_THE_FAULT and claim is not None and claim.is_unseen:
        return "Do not read the head. The snapshot named here is the newest before the fault. It is not verified."
    if basis is Basis.BEFORE_THE_FAULT:
        return "Read the snapshot named here, not the head. It is the newest with no known problem."
    return "Read the snapshot named here, not the head, until this is answered."


@dataclass(frozen=True)
class ConcurrentDoubts:
    later: Claim | None = None
    """What the newest incident says that was opened later and put the table in doubt; None: the incident itself is the
    newest that did."""
    doubt: str | None = None
    """Who else has the table in doubt, a clause; beside planned work also an earlier incident that ended without a
    proof. None: nobody."""


ALONE = ConcurrentDoubts()


def concurrent_doubts(
    incident: Incident, incidents: Sequence[Incident], findings: Sequence[ReportedFinding]
) -> ConcurrentDoubts:
    """`incidents`: those of its table, oldest first. `findings`: what the watch has found there that nobody has looked
    into."""
    claim = newest_claim(incidents)
    later = claim if claim is not None and claim.incident.opened_at > incident.opened_at else None
    if claim is not None and claim.incident.id != incident.id and claim.state is not TrustState.TRUSTED:
        who = f"incident {claim.shown_id}" if claim.shown_id is not None else "another incident"
        return ConcurrentDoubts(later, f"{who} questions the table")
    return ConcurrentDoubts(later, f"the monitor found {findings[0].finding.code} in the table" if findings else None)


def is_proven(incident: Incident, around: ConcurrentDoubts) -> bool:
    """Whether the incident has proven the table, and nobody else has it in doubt."""
    is_trusted = incident.waterline is not None and incident.waterline.status == "trusted"
    return is_trusted and around.doubt is None


def refuse_other_trust(incident: Incident, notices: Sequence[Notice], around: ConcurrentDoubts) -> None:
    """Raises Refused for an all-clear, or that nothing is wrong in planned work, while somebody else has the table in
    doubt; and for what was previewed while the table was proven and is not any more, in doubt and is proven by now,
    before a later proof, or before the mark moved. What was sent before is left alone."""
    for notice in notices:
        if notice.key(incident.id) in incident.notices:
            continue
        refuse_comfort_in_doubt(notice, around)
        found = _what_is_other_now(incident, notice, around)
        if found is not None:
            raise Refused("This preview is out of date.", found, "Preview it again. Nothing was sent.")


def refuse_comfort_in_doubt(notice: Notice, around: ConcurrentDoubts) -> None:
    """Raises Refused for an all-clear, or that nothing is wrong in planned work, while somebody else has the table in
    doubt, whether it was sent before or not."""
    if notice.kind in ALL_CLEAR | {PLANNED} and around.doubt is not None:
        raise Refused(
            "You cannot send an all-clear.",
            f"Another problem is open: {around.doubt}.",
            "Diagnose again first. If nothing is wrong, verify the table with /waterline propose "
            "verify_current_state. Nothing was sent.",
        )


def _what_is_other_now(incident: Incident, notice: Notice, around: ConcurrentDoubts) -> str | None:
    """A sentence; None: it says of the table's trust what is so."""
    data = notice.data
    if data is None:
        return None
    said, holds = data.stage == "proven", is_proven(incident, around)
    if said and not holds:
        return f"It says that the table is verified, but {around.doubt or 'it is under review again'}."
    if notice.kind != "correction":
        return None
    if holds and not said:
        return "It says that the table is under review, but it is verified now."
    present = around.later.snapshot if around.later is not None else incident.trusted
    if data.trusted_snapshot in (None, present):
        return None
    now = f"it is now {present}" if present is not None else "the trusted snapshot is now unknown"
    return f"It names snapshot {data.trusted_snapshot} as trusted; {now}."


Why = Literal["taken-back", "proven-again", "moved", "late-run"]


WORDS: dict[Why, str] = {
    "taken-back": "the table is under review again, because it is changing or something in it is wrong. Read only "
    "the snapshot below until we say otherwise.",
    "moved": "the snapshot that we named may contain wrong rows, too. Stop reading it, and treat results from it as "
    "provisional.",
    "late-run": "lineage now shows that one of your runs, listed below, read wrong rows. Runs that you repeated "
    "since our last message are fine.",
}
"""The words of the correction. There are none for `proven-again`: `recovered` is sent again."""


@dataclass(frozen=True)
class CorrectionDue:
    consumer: str
    why: Why


def corrections_due(incident: Incident) -> tuple[CorrectionDue, ...]:
    """In the order in which they were first notified, each consumer once.

    `taken-back`: the last notice calls the table trusted, and the table is under review again. `proven-again`: the
    same, and another state was proven since. `moved`: the last notice names a snapshot that is not the trusted one any
    more. `late-run`: lineage showed a run late that has read wrong rows.
    """
    last: dict[str, NoticeView] = {}
    for view in incident.notices.values():
        if view.notice.kind not in BESIDE and not view.was_overtaken:
            last[view.notice.consumer] = view
    found = []
    for consumer, view in last.items():
        why, since = _why_due(incident, view) or (None, 0)
        if why is None and consumer in incident.late_runs:
            found.append(CorrectionDue(consumer, "late-run"))
        elif why is not None and incident.declined_at.get(consumer, 0) < since:
            found.append(CorrectionDue(consumer, why))
    return tuple(found)


def _why_due(incident: Incident, view: NoticeView) -> tuple[Why, int] | None:
    """(Reason, number of the entry that gave it); None: what the notice says holds."""
    mark, back = incident.waterline, last_taken_back(incident)
    data = view.notice.data
    is_comfort = view.notice.kind in ALL_CLEAR or (data is not None and data.stage == "proven")
    if is_comfort and back is not None and view.seq < back.seq:
        is_trusted = mark is not None and mark.status == "trusted"
        return "proven-again" if is_trusted else "taken-back", back.seq
    moves = [entry for entry in incident.entries if isinstance(entry.body, WaterlineMoved)]
    if not moves or mark is None or mark.status == "trusted" or data is None or data.trusted_snapshot is None:
        return None
    # A text is rendered before it is queued: it may name where the mark was before, also after the move. Another
    # snapshot than those is what another incident says of the table.
    left = {incident.opened.trusted, *(e.body.snapshot for e in moves if isinstance(e.body, WaterlineMoved))}
    is_old = view.seq < moves[-1].seq or data.trusted_snapshot in left
    if data.trusted_snapshot != mark.snapshot and is_old:
        return "moved", max(moves[-1].seq, view.seq)
    return None
