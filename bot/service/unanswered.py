"""Evidence that was asked for and gave no answer: what is known of it, so that it is not asked again for the same."""

from collections.abc import Collection
from itertools import takewhile

from bot.domain.evidence import Evidence, Verdict
from bot.domain.incident import EvidenceRun, Incident


def unanswered(incident: Incident, tasks: Collection[str]) -> tuple[Evidence, ...]:
    """Of those of `tasks` whose newest run on main has ended without an answer, an answer that says why.

    It is pinned to what the evidence before it had seen, so that it goes stale with that: when somebody else commits,
    the table is rolled back, or the window is begun further down. Where nothing had been seen before, nothing is said.
    """
    newest = {run.task: run for run in incident.runs.values() if run.branch is None and not run.is_running}
    return tuple(
        told
        for task, run in newest.items()
        if task in tasks and run.evidence is None and (told := _why(run, incident)) is not None
    )


def _why(run: EvidenceRun, incident: Incident) -> Evidence | None:
    before = takewhile(lambda each: each.run != run.run, incident.runs.values())
    seen = [each.evidence for each in before if each.evidence is not None and each.branch is None]
    if not seen or run.ended is None:
        return None
    return Evidence(
        verdict=Verdict.INCONCLUSIVE,
        headline=run.ended.message or f"It was {run.ended.how}.",
        id=run.run,
        task=run.task,
        task_version=0,
        question=run.task,
        metadata_location=seen[-1].metadata_location,
        head=seen[-1].head,
        window=seen[-1].window,
        at=run.requested_at,
        took_ms=0,
        bytes_read=0,
    )
