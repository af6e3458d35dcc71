"""Which rehearsed repair of an incident is open, and whether its job stands still for it. Pure.

A repair is rehearsed on a branch; the job that it stopped waits until the branch is published or given up.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import NamedTuple

from bot.domain.effects import StartFromStop, StartJob, StopJob
from bot.domain.entries import EffectEnded, ExecutionEnded
from bot.domain.execution import ProposalState, ProposalView
from bot.domain.incident import Incident

AGAIN = timedelta(hours=1)
"""So long after a rehearsal has ended responders are asked how it goes on, and so long after the last time."""
_ENDED = {ProposalState.APPLIED, ProposalState.REFUSED}


class StandingJob(NamedTuple):
    """A job that stands still for a repair."""

    job: str
    since: datetime
    rehearsed_at: datetime
    """When the rehearsal had come to its end."""
    rehearsal: ProposalView

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
    """The job that the open rehearsal has stopped and nothing of the incident has started since; None: none, or the
    incident has ended."""
    view = rehearsal_of(incident) if incident.is_open else None
    if view is None:
        return None
    stopped: StandingJob | None = None
    for entry in incident.entries:
        body = entry.body
        if isinstance(body, ExecutionEnded) and stopped is not None and body.proposal == view.proposal.id:
            stopped = stopped._replace(rehearsed_at=entry.at)
        if not isinstance(body, EffectEnded) or body.how != "done":
            continue
        effect = incident.proposals[body.proposal].proposal.effects[body.index]
        if isinstance(effect, StopJob) and body.proposal == view.proposal.id:
            stopped = StandingJob(effect.job, entry.at, entry.at, view)
        elif isinstance(effect, StartJob | StartFromStop) and stopped is not None and effect.job == stopped.job:
            stopped = None
    return stopped
