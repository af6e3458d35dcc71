"""Whether a run whose engine ended under it is begun again by itself: once a run, however often the bot restarts."""

from bot.domain.entries import Body, EvidenceRunAgain
from bot.domain.errors import EngineEnded
from bot.domain.ids import EvidenceId, IncidentId
from bot.domain.incident import Incident
from bot.domain.journal import WATERLINE
from bot.service.incident_store import IncidentStore


def may_run_again(store: IncidentStore, incident_id: IncidentId, run: EvidenceId, ended: EngineEnded) -> bool:
    """True the first time, which is noted before anything is begun; False for a run that has ended meanwhile, too."""
    again = EvidenceRunAgain(run=run, message=str(ended))
    is_first = False

    def decide(incident: Incident) -> list[Body]:
        nonlocal is_first
        is_first = incident.runs[run].is_running and not incident.runs[run].is_again
        return [again] if is_first else []

    store.write(incident_id, by=WATERLINE, decide=decide)
    return is_first
