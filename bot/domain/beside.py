"""What is known of a table beside one incident: a later one that speaks for it, and who else has it in doubt. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from bot.domain.errors import Refused
from bot.domain.incident import Incident
from bot.domain.notice import PLANNED, Notice
from bot.domain.trust import TrustState
from bot.domain.trust_claims import Claim, newest_claim
from bot.domain.watch import Sighted

ALL_CLEAR = frozenset({"recovered", "no_action_needed"})
"""Kinds after which consumers read the table as usual."""


@dataclass(frozen=True)
class Beside:
    later: Claim | None = None
    """What the newest incident says that was opened later and put the table in doubt; None: the incident itself is the
    newest that did."""
    doubt: str | None = None
    """Who else has the table in doubt, a clause; beside planned work also an earlier incident that ended without a
    proof. None: nobody."""


ALONE = Beside()


def beside(incident: Incident, incidents: Sequence[Incident], findings: Sequence[Sighted]) -> Beside:
    """`incidents`: those of its table, oldest first. `findings`: what the watch has found there that nobody has looked
    into."""
    claim = newest_claim(incidents)
    later = claim if claim is not None and claim.incident.opened_at > incident.opened_at else None
    if claim is not None and claim.incident.id != incident.id and claim.state is not TrustState.TRUSTED:
        who = f"incident {claim.shown_id}" if claim.shown_id is not None else "another incident"
        return Beside(later, f"{who} questions the table")
    return Beside(later, f"the monitor found {findings[0].sign.code} in the table" if findings else None)


def is_proven(incident: Incident, around: Beside) -> bool:
    """Whether the incident has proven the table, and nobody else has it in doubt."""
    is_trusted = incident.waterline is not None and incident.waterline.status == "trusted"
    return is_trusted and around.doubt is None


def refuse_other_trust(incident: Incident, notices: Sequence[Notice], around: Beside) -> None:
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


def refuse_comfort_in_doubt(notice: Notice, around: Beside) -> None:
    """Raises Refused for an all-clear, or that nothing is wrong in planned work, while somebody else has the table in
    doubt, whether it was sent before or not."""
    if notice.kind in ALL_CLEAR | {PLANNED} and around.doubt is not None:
        raise Refused(
            "You cannot send an all-clear.",
            f"Another problem is open: {around.doubt}.",
            "Diagnose again first. If nothing is wrong, verify the table with /waterline propose "
            "trust_present_state. Nothing was sent.",
        )


def _what_is_other_now(incident: Incident, notice: Notice, around: Beside) -> str | None:
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
