"""What an execution writes down. Each entry only while it is still true: an executor that has lost its turn, to another
one or to a person who settled the outcome, writes nothing and is told so."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from bot.actions._effects import describe
from bot.domain.effects import MakeBranch, StartFromStop, StartJob, StopJob
from bot.domain.entries import Body, EffectEnded, EffectStarted, ExecutionEnded, NoteAdded
from bot.domain.execution import AT_WORK, ProposalState, ProposalView
from bot.domain.ids import IncidentId, short_job
from bot.domain.incident import Incident
from bot.domain.journal import WATERLINE
from bot.service.incident_store import IncidentStore


@dataclass(frozen=True)
class Turn:
    """One executor at one effect, as it has read the record."""

    incident: IncidentId
    view: ProposalView
    index: int
    """Of the effect."""
    intents: int
    """How many intents of this effect there were; one more by anybody else, and the turn is lost."""
    is_ours: bool = False
    """Whether the newest of them is of this process."""
    since: datetime | None = None
    """Since when this process has seen it stand still before the effect, turn after turn; None: it does not."""

    @property
    def what(self) -> str:
        """The effect in a few words."""
        return describe(self.view.proposal.effects[self.index])

    def is_still(self, now: ProposalView) -> bool:
        """Whether the effect still has no end, and nobody else has begun it anew."""
        return self.has_no_end(now) and now.intents.get(self.index, 0) == self.intents

    def has_no_end(self, now: ProposalView) -> bool:
        """Whether the execution still stands at this effect."""
        return now.state in AT_WORK and now.next_effect == self.index


class ExecutionRecord:
    """Appends intents and ends. Every answer says whether it was written."""

    def __init__(self, store: IncidentStore) -> None:
        self._store = store

    def intends(self, turn: Turn, intent: EffectStarted) -> bool:
        """What will be done now."""
        return self._writes(turn, [intent], turn.is_still)

    def done(self, turn: Turn, detail: str, result: Mapping[str, str]) -> bool:
        """It happened, which is true whoever has done it, and is said also where a person has settled otherwise."""
        ended = EffectEnded(
            proposal=turn.view.proposal.id, index=turn.index, how="done", detail=detail, result={**result}
        )
        is_written = self._writes(turn, [ended], turn.has_no_end)
        if not is_written:
            self.contradicts(turn, detail)
        return is_written

    def refused(self, turn: Turn, detail: str, result: Mapping[str, str]) -> bool:
        """It surely did not happen, or only as far as `result` says, and the execution ends with it."""
        proposal = turn.view.proposal.id
        ended = EffectEnded(proposal=proposal, index=turn.index, how="refused", detail=detail, result={**result})
        sentence = f"{detail} {as_far_as(turn.view, turn.index)}"
        return self._writes(
            turn, [ended, ExecutionEnded(proposal=proposal, outcome="refused", sentence=sentence)], turn.is_still
        )

    def unknown(self, turn: Turn, detail: str) -> bool:
        """Nobody knows whether it happened; said once, until something more is known."""
        proposal = turn.view.proposal.id
        sentence = f"{turn.what}: outcome unknown. {detail} Waterline checks again and repeats nothing."
        return self._writes(
            turn,
            [
                EffectEnded(proposal=proposal, index=turn.index, how="unknown", detail=detail),
                ExecutionEnded(proposal=proposal, outcome="unknown", sentence=sentence),
            ],
            lambda now: turn.is_still(now) and now.state is ProposalState.EXECUTING,
        )

    def applied(self, incident_id: IncidentId, view: ProposalView) -> bool:
        """All effects are done."""
        proposal = view.proposal
        sentence = f"{proposal.title}: done. Verification starts now."
        ended = ExecutionEnded(proposal=proposal.id, outcome="applied", sentence=sentence)
        turn = Turn(incident_id, view, len(proposal.effects), 0)
        return self._writes(turn, [ended], lambda now: now.state in AT_WORK and now.next_effect is None)

    def waits(self, turn: Turn, detail: str, patience: str) -> None:
        """Note why the execution stands still before the effect: once, and anew after its outcome was not known."""
        proposal = turn.view.proposal
        began = f"“{proposal.title}” waits before “{turn.what}”: "
        text = (
            f"{began}{detail} Waterline checks every few seconds, for {patience}. The proposal's thread shows the "
            "steps done so far."
        )
        started = turn.view.execution_started_at

        def decide(now: Incident) -> list[Body]:
            is_noted = False
            for entry in now.entries:
                match entry.body:
                    case EffectEnded(proposal=proposal.id, index=turn.index):
                        is_noted = False
                    case NoteAdded(text=noted) if noted.startswith(began) and (started is None or entry.at >= started):
                        is_noted = True
                    case _:
                        pass
            return [] if is_noted else [NoteAdded(text=text)]

        self._store.write(turn.incident, by=WATERLINE, decide=decide)

    def contradicts(self, turn: Turn, detail: str) -> None:
        """People are told, once, that a step happened though they had settled, or were told, that it did not."""
        proposal = turn.view.proposal
        began = f"“{proposal.title}”: “{turn.what}” happened after all, "
        then = "The execution has ended. Check the table and the job before you propose anything else."

        def decide(now: Incident) -> list[Body]:
            view = now.proposals[proposal.id]
            if turn.index not in view.denied | view.refused:
                return []
            why = "settled that it did not" if turn.index in view.denied else "reported that it did not"
            notes = [each.body.text for each in now.entries if isinstance(each.body, NoteAdded)]
            is_noted = any(note.startswith(began) for note in notes)
            return [] if is_noted else [NoteAdded(text=f"{began}though it was {why}. {detail} {then}")]

        self._store.write(turn.incident, by=WATERLINE, decide=decide)

    def _writes(self, turn: Turn, bodies: Sequence[Body], if_so: Callable[[ProposalView], bool]) -> bool:
        is_written = False

        def decide(now: Incident) -> Sequence[Body]:
            nonlocal is_written
            is_written = if_so(now.proposals[turn.view.proposal.id])
            return bodies if is_written else []

        self._store.write(turn.incident, by=WATERLINE, decide=decide)
        return is_written


def as_far_as(view: ProposalView, index: int) -> str:
    """What was carried out before effect `index`, and that it and what follows were not; where a run was stopped, how
    the job is started again."""
    steps = [describe(effect) for effect in view.proposal.effects]
    said = f"Done: {', '.join(steps[:index]) or 'nothing'}. Not done: {', '.join(steps[index:])}."
    return said + _started_again(view, index)


def _started_again(view: ProposalView, index: int) -> str:
    """A sentence that begins with a blank; empty where the job does not stand still for it."""
    before = view.proposal.effects[:index]
    run = next((effect.job_id for effect in before if isinstance(effect, StopJob)), None)
    if run is None or any(isinstance(effect, StartJob | StartFromStop) for effect in before):
        return ""
    stands = f" Run {short_job(run)} and its job are stopped: "
    if any(isinstance(effect, MakeBranch) for effect in before):
        return f"{stands}`/waterline propose drop_repair_branch` starts it again from a state that pairs with main."
    return f"{stands}`/waterline undo` starts it again from the state that the stop left, if that pairs."
