"""An approved proposal is begun in a terminal, carried on where nobody else does it, and followed to its proof."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from bot.actions._effects import describe
from bot.adapters.journal_sql.presence import Presence
from bot.bootstrap import Built
from bot.cli.proposal_shown import DIGEST_SHOWN, say
from bot.domain.entries import Body, EffectEnded, EffectStarted, ExecutionEnded, NoteAdded, OutcomeSettled, Verified
from bot.domain.errors import Refused
from bot.domain.execution import AT_WORK, ProposalState, ProposalView
from bot.domain.ids import IncidentId, UserId, short
from bot.domain.incident import Incident
from bot.domain.sentences import counted
from bot.domain.settling import HOW_TO_SETTLE
from bot.domain.waterline import is_marked

PROVEN, NOT_DONE, NOT_KNOWN = 0, 1, 2
"""Exit codes: carried out and proven; refused, or carried out and not proven; nobody knows what became of a step."""
_LOOK_EVERY_S = 0.3
_PAUSE_S = 5.0
"""Before something that waits for the world is looked at again."""
_ROUND_S = 20.0
"""As often as the bot looks at what it owes."""
_HERE = (
    "No bot is running, so this command executes it. If it is interrupted, start a bot or run it again: "
    "it then checks the last step, and repeats nothing."
)
_BOT = "The running bot executes it within half a minute. This command only shows it; you may interrupt it."
_GONE = "It does not work on the record any more, so it is carried on from here."

_AGAIN = "Start a bot or run this command again, and it is looked at anew."
_BY_ITSELF = "The Waterline that works on the record looks at it again by itself."


class Place:
    """Whether this process does what is owed, or whoever works on the record already."""

    def __init__(self, presence: Presence) -> None:
        self._presence = presence
        self.is_here = False

    def taken(self) -> bool:
        """Whether it is done here from now on; asked anew each time, for a bot may have ended."""
        self.is_here = self.is_here or self._presence.join_alone()
        return self.is_here

    @contextmanager
    def alone_with(self, work: str) -> Iterator[bool]:
        """As the presence says it; nothing is this process's to do before it has taken its place."""
        if not self.is_here:
            yield False
            return
        with self._presence.alone_with(work) as is_mine:
            yield is_mine


def carried_out(built: Built, place: Place, incident_id: IncidentId, view: ProposalView, by: UserId) -> int:
    """Begin the proposal unless it is begun already, and follow it; the exit code. Raises Refused, Superseded,
    CouldNotLook where it may not be begun."""
    services, incident = built.services, built.services.store.get(incident_id)
    told = _Told(incident, view)
    if _is_owed(incident, view):
        at = f" at {view.execution_started_at:%H:%M:%S} UTC" if view.execution_started_at else ""
        say(f"“{view.proposal.title}” was begun by <@{view.executed_by}>{at}; it is carried on.")
        for line in _proof(view.verified) if view.verified is not None else ():
            say(line)
    else:
        services.approvals.may_begin(incident_id, view.proposal.id, by)
        services.executions.begin(incident_id, view.proposal.id, by=by)
        say(f"“{view.proposal.title}” is begun.")
    say(_HERE if place.taken() else _BOT)
    while True:
        looked = _one_round(built, place, told, incident_id)
        code = told.end(services.store.get(incident_id), is_here=place.is_here, has_looked=looked)
        if code is not None:
            return code
        if looked:
            time.sleep(_PAUSE_S)


def _is_owed(incident: Incident, view: ProposalView) -> bool:
    """Whether something of what was begun is still to be done: a step, the proof, or the mark that follows it."""
    is_proven = view.verified is not None and is_marked(incident)
    return view.state in AT_WORK or (view.state is ProposalState.APPLIED and not is_proven)


def must_be_meant(view: ProposalView, digest: str, incident: str) -> None:
    """Raises Refused unless what was typed is the beginning of the proposal's digest."""
    if len(digest) < DIGEST_SHOWN or not view.proposal.digest.startswith(digest):
        raise Refused(
            "This is not the digest of the newest proposal, so nothing was begun.",
            f"Expected {view.proposal.digest[:DIGEST_SHOWN]}, of “{view.proposal.title}”; found {digest or 'nothing'}.",
            f"Read it again: waterline proposal show {incident}.",
        )


def _one_round(built: Built, place: Place, told: "_Told", incident_id: IncidentId) -> bool:
    """Have it carried on where that is this process's to do, and tell what is new; whether it has looked here."""
    services, looked, was_here = built.services, threading.Event(), place.is_here
    if place.taken():
        if not was_here:
            say(_GONE)
        services.duties.recover(incident_id, looked.set)
    until = time.monotonic() + _ROUND_S
    while not looked.wait(_LOOK_EVERY_S) and time.monotonic() < until:
        incident = services.store.get(incident_id)
        told.tells(incident)
        if not place.is_here and (told.is_over(incident) or told.is_unknown(incident)):
            break
    told.tells(services.store.get(incident_id))
    return looked.is_set()


class _Told:
    """What has been said of one proposal so far."""

    def __init__(self, incident: Incident, view: ProposalView) -> None:
        self._seen = len(incident.entries)
        self._proposal = view.proposal
        self._was = view.state

    def tells(self, incident: Incident) -> None:
        """Every new entry that is about it, one after the other."""
        for entry in incident.entries[self._seen :]:
            for line in self._lines(entry.body):
                say(line)
        self._seen = len(incident.entries)

    def is_unknown(self, incident: Incident) -> bool:
        """Whether nobody can tell what has become of a step."""
        return incident.proposals[self._proposal.id].state is ProposalState.UNKNOWN

    def is_over(self, incident: Incident) -> bool:
        """Whether nothing more comes."""
        view = incident.proposals[self._proposal.id]
        return view.state not in AT_WORK and (view.state is not ProposalState.APPLIED or view.verified is not None)

    def end(self, incident: Incident, *, is_here: bool, has_looked: bool) -> int | None:
        """The exit code, with the last word where a step is unknown; None while more comes."""
        view = incident.proposals[self._proposal.id]
        if self.is_unknown(incident) and (has_looked or not is_here):
            if self._was is ProposalState.UNKNOWN and view.result is not None:
                say(view.result.sentence)
            say(f"{_AGAIN if is_here else _BY_ITSELF} {HOW_TO_SETTLE}")
            return NOT_KNOWN
        if not self.is_over(incident):
            return None
        return PROVEN if view.verified is not None and view.verified.passed else NOT_DONE

    def _lines(self, body: Body) -> list[str]:
        steps = len(self._proposal.effects)
        match body:
            case EffectStarted(proposal=self._proposal.id):
                return [f"Step {body.index + 1} of {steps}: {describe(self._proposal.effects[body.index])}."]
            case EffectEnded(proposal=self._proposal.id):
                return [f"Step {body.index + 1} of {steps}, {body.how}: {body.detail}"]
            case ExecutionEnded(proposal=self._proposal.id):
                return [body.sentence]
            case OutcomeSettled(proposal=self._proposal.id):
                return [f"Settled: step {body.index + 1} {'happened' if body.happened else 'did not happen'}."]
            case NoteAdded():
                return [body.text]
            case Verified(proposal=self._proposal.id):
                return _proof(body)
            case _:
                return []


def _proof(verified: Verified) -> list[str]:
    held = sum(1 for check in verified.checks if check.passed)
    what = "Proven" if verified.passed else "Not proven"
    words = {True: "holds", False: "does not hold", None: "could not be checked"}
    return [
        f"{what} at head {short(verified.head)}: {held} of {counted(len(verified.checks), 'check')} hold.",
        *(f"  {check.name}: {words[check.passed]}. {check.sentence}" for check in verified.checks),
    ]


def ended_with(code: int) -> None:
    """Raises Exit with any code but 0."""
    if code:
        raise typer.Exit(code)
