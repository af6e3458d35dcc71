"""What the watch has found that nobody has looked into: as long as it lasts, its table is not called trusted. Pure."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from bot.domain.doubt import was_in_doubt_since
from bot.domain.entries import Verified
from bot.domain.incident import Incident
from bot.domain.watch import SILENT, Memory, Sighted


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
