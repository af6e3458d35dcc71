"""What the record says of a table's trust, and what the table says of itself: the two sides that must agree."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from bot.domain.doubt import doubted_since, is_unplaced, rows_up_to
from bot.domain.entries import WaterlineMoved
from bot.domain.ids import IncidentId, SnapshotId, short
from bot.domain.incident import Incident
from bot.domain.last_good import LastGoodRows
from bot.domain.pins import TAG
from bot.domain.table import TableState
from bot.domain.trust import TrustState, Turn
from bot.domain.waterline import taken_back

_HIDDEN = "a private incident"
_TAKEN_BACK = "what was proven is being changed, or was taken back,"


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
        """Whether nothing marks the table."""
        return self.status is None and self.tag is None


def mark_of(table: TableState) -> Mark:
    """What the table carries."""
    return Mark(
        status=table.properties.get("waterline.status"),
        incident=table.properties.get("waterline.incident"),
        since=_moment(table.properties.get("waterline.since", "")),
        tag=table.ref(TAG),
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
    unknown = " Nobody knows yet which snapshot is right." if incident.trusted is None else ""
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
            f"The record knows no incident on this table, and the table is marked `{mark.status or 'nothing'}`"
            f"{f' with the tag {TAG} on {short(mark.tag)}' if mark.tag is not None else ''}.",
        )
    if claim.snapshot is None and mark.status is None:
        return ()
    found: list[str] = []
    if mark.status != claim.state.value:
        found.append(f"The record says `{claim.state.value}`; the table's property says `{mark.status or 'nothing'}`.")
    elif mark.incident != claim.incident.id:
        found.append(f"The record speaks of {_named(claim.incident)}; the table's property names another one or none.")
    if mark.tag != claim.snapshot:
        stands = f"stands on {short(mark.tag)}" if mark.tag is not None else "does not exist"
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
    is_planned = incident.opened.runbook.is_planned
    why = f"something was found in the planned work of {name}." if is_planned else f"{name} was opened."
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
                sentence=f"Left under review: {name} was closed without proof.",
            )
        )
    return found


def _said(moved: WaterlineMoved, before: WaterlineMoved, name: str) -> str:
    if moved.status == "trusted":
        return f"Verified after {name}."
    if before.status == "trusted":
        return f"Questioned again: {_TAKEN_BACK} in {name}."
    if moved.snapshot is None:
        return f"Questioned further down: nobody knows how far what was found in {name} reaches."
    how = "Told more precisely" if before.snapshot is None else "Questioned further down"
    return f"{how}: what was found in {name} lies above this snapshot."


def _named(incident: Incident) -> str:
    return _HIDDEN if incident.is_private else f"incident {incident.id}"


def _standing(incident: Incident, *, was_trusted: bool) -> str:
    if not incident.is_open:
        return "was closed without proof that the table is right."
    if incident.is_private:
        return "is open on it."
    if was_trusted:
        return f"is open on it: {_TAKEN_BACK} and nothing was proven since."
    matches = incident.diagnosis.matches if incident.diagnosis is not None else ()
    cause = f"{matches[0][1].headline.rstrip('.')}." if matches else "What happened is not named yet."
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
