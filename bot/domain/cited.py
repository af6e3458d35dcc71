"""Which evidence a proposal cites, for whoever approves it."""

from collections.abc import Mapping

from bot.domain.ids import EvidenceId
from bot.domain.incident import EvidenceRun
from bot.domain.proposal import Proposal


def cited(proposal: Proposal, runs: Mapping[EvidenceId, EvidenceRun]) -> tuple[str, ...]:
    """`ledger (confirmed)`, one an evidence, in the order in which it is cited; its id where it is not known."""
    return tuple(_one(each, runs.get(each)) for each in proposal.evidence)


def _one(evidence: EvidenceId, run: EvidenceRun | None) -> str:
    if run is None or run.evidence is None:
        return evidence
    return f"{run.task} ({run.evidence.verdict.value.replace('-', ' ')})"
