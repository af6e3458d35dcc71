"""What is known of a table beside one incident: a later one that speaks for it, and who else has it in doubt. Pure.

Which consumers are due for a correction: what they were last notified of does not hold any more. A person sends it,
or says why not. Pure.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from bot.domain.delivery_status import NoticeView
from bot.domain.entries import WaterlineMoved
from bot.domain.errors import Refused
from bot.domain.incident import Incident
from bot.domain.notice import PLANNED, Notice
from bot.domain.trust import TrustState
from bot.domain.trust_claims import Claim, newest_claim
from bot.domain.watch import Sighted
from bot.domain.waterline import last_taken_back

ALL_CLEAR = frozenset({"recovered", "no_action_needed"})
"""Kinds after which consumers read the table as usual."""


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
    incident: Incident, incidents: Sequence[Incident], findings: Sequence[Sighted]
) -> ConcurrentDoubts:
    """`incidents`: those of its table, oldest first. `findings`: what the watch has found there that nobody has looked
    into."""
    claim = newest_claim(incidents)
    later = claim if claim is not None and claim.incident.opened_at > incident.opened_at else None
    if claim is not None and claim.incident.id != incident.id and claim.state is not TrustState.TRUSTED:
        who = f"incident {claim.shown_id}" if claim.shown_id is not None else "another incident"
        return ConcurrentDoubts(later, f"{who} questions the table")
    return ConcurrentDoubts(later, f"the monitor found {findings[0].sign.code} in the table" if findings else None)


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
        if view.notice.kind != PLANNED and not view.was_overtaken:
            last[view.notice.consumer] = view
    found = []
    for consumer, view in last.items():
        why, since = _why(incident, view) or (None, 0)
        if why is None and consumer in incident.late_runs:
            found.append(CorrectionDue(consumer, "late-run"))
        elif why is not None and incident.declined_at.get(consumer, 0) < since:
            found.append(CorrectionDue(consumer, why))
    return tuple(found)


def _why(incident: Incident, view: NoticeView) -> tuple[Why, int] | None:
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
