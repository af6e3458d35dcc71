"""Which rehearsed repair of an incident is open, and whether its job stands still for it. Pure.

A repair is rehearsed on a branch; the job that it stopped waits until the branch is published or given up, and longer
where no state of it pairs with main then.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Literal, NamedTuple

from bot.domain.diagnosis import HEALTHY
from bot.domain.effects import DropBranch, Effect, PublishBranch, StartFromStop, StartJob, StopJob
from bot.domain.entries import Body, Diagnosed, EffectEnded, ExecutionEnded, ProposalMade
from bot.domain.execution import ProposalState, ProposalView
from bot.domain.incident import Incident
from bot.domain.proposal import Proposal
from bot.domain.requirements import NobodyWrites, RunIsCurrent

AGAIN = timedelta(hours=1)
"""So long after a rehearsal has ended responders are asked how it goes on, and so long after the last time."""
_ENDED = {ProposalState.APPLIED, ProposalState.REFUSED}


Settled = Literal["published", "given up"]


class StandingJob(NamedTuple):
    """A job that stands still for a repair."""

    job: str
    since: datetime
    asked_from: datetime
    """When the rehearsal had come to its end, or its branch to another."""
    rehearsal: ProposalView
    settled: Settled | None = None
    """What became of its branch; None: it is neither published nor given up."""

    @property
    def is_proven(self) -> bool:
        """Whether the repair can be published."""
        return is_proven(self.rehearsal)


def begun(incident: Incident) -> Iterator[tuple[ProposalView, bool]]:
    """(a rehearsal that made its branch, whether it is neither published nor given up), newest first."""
    settled: set[str] = set()
    for view in reversed(incident.proposals.values()):
        for index, effect in enumerate(view.proposal.effects):
            if index in done_of(view) and effect.kind in {"publish-branch", "drop-branch"}:
                settled.add(effect.branch)
            if index in done_of(view) and effect.kind == "make-branch" and view.state in _ENDED:
                yield view, effect.branch not in settled


def rehearsal_of(incident: Incident) -> ProposalView | None:
    """The newest rehearsal that made its branch and was neither published nor given up since; None without any."""
    view, is_open = next(begun(incident), (None, False))
    return view if is_open else None


def is_proven(rehearsal: ProposalView) -> bool:
    """Whether it was carried out and is proven on its branch."""
    proof = rehearsal.verified
    return rehearsal.state is ProposalState.APPLIED and proof is not None and proof.passed


def done_of(view: ProposalView) -> dict[int, dict[str, str]]:
    """Effect -> its result, of those that were done."""
    return {index: dict(ended.result) for index, ended in view.done.items() if ended.how == "done"}


def standing_job(incident: Incident) -> StandingJob | None:
    """The job that a rehearsal has stopped and nothing of the incident has started since; None: none, or the incident
    has ended. Once the repair is published or given up, it stands still where Flink showed no run of it then, until a
    proposal names one that is alive, or a diagnosis has seen one: then people have started it. What is wrong with the
    table has no part in that: a repair of its rows leaves the fault in main's history."""
    rehearsals = {view.proposal.id: view for view, _ in begun(incident)} if incident.is_open else {}
    stands: StandingJob | None = None
    for entry in incident.entries:
        body = entry.body
        if isinstance(body, EffectEnded) and body.how == "done":
            by = incident.proposals[body.proposal].proposal
            effect = by.effects[body.index]
            if isinstance(effect, StopJob) and body.proposal in rehearsals:
                stands = StandingJob(effect.job, entry.at, entry.at, rehearsals[body.proposal])
            elif stands is not None:
                stands = _after(stands, by, effect, entry.at)
        elif stands is None:
            continue
        elif isinstance(body, ExecutionEnded) and body.proposal == stands.rehearsal.proposal.id:
            stands = stands._replace(asked_from=entry.at)
        elif stands.settled is not None and _is_started_by_hand(stands.job, body):
            stands = None
    return stands


def is_left_down(incident: Incident) -> bool:
    """Whether its job stands still for a repair that is published or given up."""
    stands = standing_job(incident)
    return stands is not None and stands.settled is not None


def _after(stands: StandingJob, by: Proposal, effect: Effect, at: datetime) -> StandingJob | None:
    """What is left of it once this effect of proposal `by` was done."""
    if isinstance(effect, StartJob | StartFromStop):
        return None if effect.job == stands.job else stands
    if not isinstance(effect, PublishBranch | DropBranch) or effect.branch != stands.rehearsal.proposal.rehearses_on:
        return stands
    is_down = any(isinstance(each, NobodyWrites) and each.job == stands.job for each in by.requirements)
    settled: Settled = "published" if isinstance(effect, PublishBranch) else "given up"
    return stands._replace(settled=settled, asked_from=at) if is_down else None


def _is_started_by_hand(job: str, body: Body) -> bool:
    if isinstance(body, ProposalMade):
        return any(isinstance(each, RunIsCurrent) and each.job == job for each in body.proposal.requirements)
    if not isinstance(body, Diagnosed):
        return False
    return body.sees_job_run or any(mode.code == HEALTHY for mode, _ in body.diagnosis.matches)
