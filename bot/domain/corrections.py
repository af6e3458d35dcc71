"""Which consumers are due for a correction: what they were last notified of does not hold any more. A person sends it,
or says why not. Pure."""

from dataclasses import dataclass
from typing import Literal

from bot.domain.beside import ALL_CLEAR
from bot.domain.entries import WaterlineMoved
from bot.domain.incident import Incident
from bot.domain.notice import PLANNED
from bot.domain.told import NoticeView
from bot.domain.waterline import last_taken_back

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
