"""What stands in the way of believing a table good up to where its metadata shows nothing wrong: an earlier incident
that was closed without a proof, the table's own mark, and what the watch has found. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from bot.domain.ids import SnapshotId, short
from bot.domain.incident import Incident
from bot.domain.last_good import LastGoodRows
from bot.domain.lowering import lower_of
from bot.domain.sentences import full_stop
from bot.domain.suspicion import Suspicion
from bot.domain.table import TableState
from bot.domain.trust import TrustState
from bot.domain.trust_claims import mark_of, newest_claim
from bot.domain.watch import Sighted, Sign


@dataclass(frozen=True)
class Limit:
    """Nothing above the snapshot is to be believed good before it is proven; None: nothing at all."""

    snapshot: SnapshotId | None
    why: str
    """A sentence or two, which may be told to anybody."""


def limited(suspicion: Suspicion, limits: Sequence[Limit], table: TableState) -> Suspicion:
    """The same with the trusted snapshot no higher than any limit, and the window from there on at least. The reasons
    are said of those that count."""
    for limit in limits:
        trusted = lower_of(table, suspicion.trusted, limit.snapshot)
        if trusted == suspicion.trusted:
            continue
        least = f"Nothing above {short(trusted)} is" if trusted is not None else "No snapshot is"
        since = suspicion.window.since
        if trusted is not None and since is not None:
            since = lower_of(table, since, trusted) if trusted in table.by_id else None
        suspicion = Suspicion(
            window=suspicion.window.model_copy(update={"since": since}),
            trusted=trusted,
            because=f"{suspicion.because} {limit.why} {least} trusted until that is proven.",
        )
    return suspicion


def limits_of(table: TableState, incidents: Sequence[Incident], findings: Sequence[Sighted]) -> tuple[Limit, ...]:
    """`incidents`: those of this table, oldest first. `findings`: what the watch has found and nobody has looked into
    (`open_findings`)."""
    found: list[Limit] = []
    claim, mark = newest_claim(incidents), mark_of(table)
    is_claimed = claim is not None and claim.state is TrustState.UNDER_REVIEW
    if claim is not None and is_claimed:
        found.append(Limit(claim.snapshot, claim.why))
    is_same = claim is not None and is_claimed and mark.tag in (None, claim.snapshot)
    if mark.status == TrustState.UNDER_REVIEW.value and not is_same:
        found.append(Limit(mark.tag, "The table itself is marked as under review."))
    proven = mark.tag if mark.status == TrustState.TRUSTED.value and mark.tag in table.chain_ids else None
    found += (_of_finding(each.sign, proven) for each in findings)
    return tuple(found)


def _of_finding(sign: Sign, proven: SnapshotId | None) -> Limit:
    """Where a finding does not tell how far down it goes, what was proven stands, and nothing above it."""
    is_known = sign.last_good is not None and sign.last_good_rows is not LastGoodRows.WRONG
    headline = full_stop(sign.headline[:1].upper() + sign.headline[1:])
    return Limit(sign.last_good if is_known else proven, f"The watch found {sign.code}: {headline}")
