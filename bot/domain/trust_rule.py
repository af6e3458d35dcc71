"""The rule: a doubt beats not knowing, and not knowing beats trust. Pure."""

from collections.abc import Sequence
from datetime import datetime

from bot.domain.clock_time import clock_time
from bot.domain.ids import SnapshotId, TableName
from bot.domain.incident import Incident
from bot.domain.looked import NotSeen
from bot.domain.pins import pins_for
from bot.domain.sentences import full_stop
from bot.domain.table import TableState
from bot.domain.trust import Basis, Trust, TrustState
from bot.domain.trust_claims import Claim, disagreements, mark_of, newest_claim
from bot.domain.watch import Sighted


def judge(
    name: TableName,
    table: TableState | NotSeen,
    incidents: Sequence[Incident] | NotSeen,
    findings: Sequence[Sighted] = (),
    *,
    at: datetime,
) -> Trust:
    """The table's trust. `incidents` are those of this table, oldest first; NotSeen: the source could not be asked.
    `findings`: what the watch has found and nobody has looked into (`open_findings`), the first first.

    Trusted only if table and record were both read, say the same, the head still stands on what was proven, and the
    watch has found nothing since.
    """
    seen = table if isinstance(table, TableState) else None
    claim = None if isinstance(incidents, NotSeen) else newest_claim(incidents)
    unclear = _doubts(table, incidents, claim)
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
    table: TableState | NotSeen, incidents: Sequence[Incident] | NotSeen, claim: Claim | None
) -> tuple[str, ...]:
    found = [
        f"Could not look at {each.source}: {each.reason}" for each in (table, incidents) if isinstance(each, NotSeen)
    ]
    if isinstance(table, NotSeen):
        return tuple(found)
    if table.lost_metadata is not None:
        found.append("The catalog points to a metadata file that cannot be read; what is known is older.")
    if not isinstance(incidents, NotSeen):
        found += disagreements(claim, table)
    if claim is not None and claim.state is TrustState.TRUSTED and not _stands_on(table, claim.snapshot):
        found.append("The table's head does not descend from the snapshot that was verified.")
    return tuple(found)


def _found(finding: Sighted, at: datetime) -> str:
    """A finding as a doubt."""
    sign = finding.sign
    headline = full_stop(sign.headline[:1].upper() + sign.headline[1:])
    return (
        f"The watch found {sign.code} at {clock_time(finding.at, at)}, and no incident has looked into it: {headline}"
    )


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
    findings: Sequence[Sighted], table: TableState | None, snapshot: SnapshotId, basis: Basis
) -> tuple[SnapshotId | None, Basis]:
    """What is named while the watch's findings stand: nothing above any of them. A proof stands where it is not above;
    a head that nobody proved is not named where a finding does not tell how far down it goes."""
    chain = [each.snapshot_id for each in table.chain] if table is not None else []
    known = [each.sign.last_good for each in findings]
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
            return f"It could not be told. {doubts[0]}" if is_unclear else doubts[0]
        case TrustState.TRUSTED:
            if claim is not None:
                return claim.why
            empty = " It has no snapshot yet." if table is not None and table.head is None else ""
            return f"No incident was ever opened on it: nobody has a doubt, and nothing was proven either.{empty}"


def _advice(state: TrustState, claim: Claim | None, *, is_certain: bool, basis: Basis) -> str:
    if state is TrustState.TRUSTED:
        return "Read the table as usual."
    if not is_certain:
        return "Do not rely on it until this is answered: wait, and ask again."
    if basis is Basis.BEFORE_THE_FAULT and claim is not None and claim.is_unplaced:
        return (
            "Do not read the head. Rows were found wrong, and where they lie is not known yet: the snapshot that is "
            "named here is not proven, and may hold some of them."
        )
    if basis is Basis.BEFORE_THE_FAULT and claim is not None and claim.is_unseen:
        return (
            "Do not read the head. The snapshot that is named here is the newest before what was found; whether its "
            "rows are right is not proven."
        )
    if basis is Basis.BEFORE_THE_FAULT:
        return "Read the snapshot that is named here, not the head. It is the newest that nobody doubts."
    return "Read the snapshot that is named here, not the head, until this is answered."
