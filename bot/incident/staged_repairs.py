"""Which rehearsed repair of an incident is open, and whether its job stands still. Pure.

A repair is rehearsed on a branch; the job that it stopped waits until the branch is published or given up, and longer
where no state of it pairs with main then. A proposal that is refused after its stop leaves the job standing still, too.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Literal, NamedTuple

from bot.incident.action import StoodStill
from bot.incident.diagnosis import HEALTHY
from bot.incident.effects import DropBranch, MakeBranch, PublishBranch, StartFromStop, StartJob, StopJob
from bot.incident.entries import Body, Diagnosed, EffectEnded, ExecutionEnded, OutcomeSettled, ProposalMade
from bot.incident.execution import ProposalState, ProposalView
from bot.incident.incident import Incident
from bot.incident.proposal import NobodyWrites, RunIsCurrent

AGAIN = timedelta(hours=1)
"""So long after what stopped the job has ended responders are asked how it goes on, and so long after the last time."""


_ENDED = {ProposalState.APPLIED, ProposalState.REFUSED}


Settled = Literal["published", "given up", "refused"]


class StandingJob(NamedTuple):
    """A job that stands still since a proposal of the incident has stopped it."""

    job: str
    since: datetime
    asked_from: datetime
    """When the rehearsal had come to its end, or its branch to another."""
    stopped_by: ProposalView
    left: StoodStill
    """The run that was stopped, and what its stop left."""
    waits_for: ProposalView | None = None
    """The newest rehearsal for which it stands still; None where what stopped it has begun no branch."""
    settled: Settled | None = None
    """What became of its branch; None: it is neither published nor given up. `refused`: none was ever begun."""

    @property
    def is_proven(self) -> bool:
        return self.waits_for is not None and is_proven(self.waits_for)


def begun(incident: Incident) -> Iterator[tuple[ProposalView, bool]]:
    """(a rehearsal that made its branch, whether it is neither published nor given up), newest first."""
    settled: set[str] = set()
    for view in reversed(incident.proposals.values()):
        for index, effect in enumerate(view.proposal.effects):
            if index in view.applied and effect.kind in {"publish-branch", "drop-branch"}:
                settled.add(effect.branch)
            if index in view.applied and effect.kind == "make-branch" and view.state in _ENDED:
                yield view, effect.branch not in settled


def rehearsal_of(incident: Incident) -> ProposalView | None:
    """The newest rehearsal that made its branch and was neither published nor given up since; None without any."""
    view, is_open = next(begun(incident), (None, False))
    return view if is_open else None


def is_proven(rehearsal: ProposalView) -> bool:
    proof = rehearsal.verified
    return rehearsal.state is ProposalState.APPLIED and proof is not None and proof.passed


def standing_job(incident: Incident) -> StandingJob | None:
    """The job that a rehearsal, or a proposal that was refused after its stop, has stopped and nothing of the incident
    has started since; None: none, or the incident has ended. A later rehearsal that finds no run alive takes it over.
    Once the repair is published or given up, and after a refusal, it stands still where Flink showed no run of it then,
    until a proposal names one that is alive, or a diagnosis has seen one: then people have started it. What is wrong
    with the table has no part in that: a repair of its rows leaves the fault in main's history. What was approved to
    stop the job and to start none, as a savepoint for people, leaves no such job."""
    return [None, *_course(incident)][-1] if incident.is_open else None


def left_by_stop(incident: Incident, job: str | None) -> StoodStill | None:
    """The run of this job that the incident has stopped, while the job stands still since."""
    stands = standing_job(incident)
    return stands.left if stands is not None and stands.job == job else None


def stood_still(incident: Incident, rehearsal: ProposalView) -> StoodStill | None:
    """The run whose stop left the job standing still when the rehearsal made its branch: its own stop, or that of an
    earlier proposal of the incident; None: the job did not stand still for it."""
    for stands in _course(incident):
        waits_for = stands.waits_for if stands is not None else None
        if stands is not None and waits_for is not None and waits_for.proposal.id == rehearsal.proposal.id:
            return stands.left
    return None


def is_left_down(incident: Incident) -> bool:
    """Whether its job stands still though no branch waits any more: nobody is about to start it."""
    stands = standing_job(incident)
    return stands is not None and stands.settled is not None


def _course(incident: Incident) -> Iterator[StandingJob | None]:
    stands: StandingJob | None = None
    for entry in incident.entries:
        body = entry.body
        match body:
            case EffectEnded(how="done"):
                stands = _after(stands, incident.proposals[body.proposal], body.index, body.result, entry.at)
            case OutcomeSettled(happened=True):
                stands = _after(stands, incident.proposals[body.proposal], body.index, {}, entry.at)
            case ExecutionEnded(outcome="applied" | "refused"):
                stands = _ended(stands, incident.proposals[body.proposal], entry.at)
            case _ if stands is not None and stands.settled is not None and _is_started_by_hand(stands.job, body):
                stands = None
            case _:
                pass
        yield stands


def _after(
    stands: StandingJob | None, by: ProposalView, index: int, result: Mapping[str, str], at: datetime
) -> StandingJob | None:
    """What stands still once this effect of proposal `by` was done."""
    effect, needs = by.proposal.effects[index], by.proposal.requirements
    if isinstance(effect, StopJob):
        left = StoodStill(run=effect.job_id, savepoint=result.get("savepoint"))
        return StandingJob(effect.job, at, at, by, left) if by.state in _ENDED else stands
    if stands is None:
        return None
    if isinstance(effect, StartJob | StartFromStop):
        return None if effect.job == stands.job else stands
    is_down = any(isinstance(each, NobodyWrites) and each.job == stands.job for each in needs)
    if isinstance(effect, MakeBranch) and by.state in _ENDED and (is_down or by is stands.stopped_by):
        return stands._replace(waits_for=by, settled=None, asked_from=at)
    waits_on = stands.waits_for.proposal.rehearses_on if stands.waits_for is not None else None
    if not isinstance(effect, PublishBranch | DropBranch) or effect.branch != waits_on:
        return stands
    settled: Settled = "published" if isinstance(effect, PublishBranch) else "given up"
    return stands._replace(settled=settled, asked_from=at) if is_down else None


def _ended(stands: StandingJob | None, by: ProposalView, at: datetime) -> StandingJob | None:
    """What stands still once the execution of proposal `by` has come to its end."""
    if stands is None or not (by is stands.waits_for or by is stands.stopped_by):
        return stands
    if stands.waits_for is None and by.state is ProposalState.APPLIED:
        return None
    settled: Settled | None = "refused" if stands.waits_for is None else stands.settled
    return stands._replace(settled=settled, asked_from=at)


def _is_started_by_hand(job: str, body: Body) -> bool:
    if isinstance(body, ProposalMade):
        return any(isinstance(each, RunIsCurrent) and each.job == job for each in body.proposal.requirements)
    if not isinstance(body, Diagnosed):
        return False
    return body.sees_job_run or any(mode.code == HEALTHY for mode, _ in body.diagnosis.matches)
