"""Which evidence a proposal cites, for whoever approves it."""

from collections.abc import Mapping

from bot.domain.evidence import Task
from bot.domain.ids import EvidenceId
from bot.domain.incident import EvidenceRun
from bot.domain.proposal import Proposal


def cited(proposal: Proposal, runs: Mapping[EvidenceId, EvidenceRun], tasks: Mapping[str, Task]) -> tuple[str, ...]:
    """`Restore points (confirmed)`, one an evidence, in the order in which it is cited; its id where it is not known,
    and its task's name where this version has none of that name."""
    return tuple(_one(each, runs.get(each), tasks) for each in proposal.evidence)


def _one(evidence: EvidenceId, run: EvidenceRun | None, tasks: Mapping[str, Task]) -> str:
    if run is None or run.evidence is None:
        return evidence
    title = tasks[run.task].title if run.task in tasks else run.task
    return f"{title} ({run.evidence.verdict.value.replace('-', ' ')})"
