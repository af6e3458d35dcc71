"""Each proposal that changes table or job begins with a freeze of the table's maintenance, unless it is frozen."""

from bot.actions._maintenance import is_frozen
from bot.domain.action import Plan
from bot.domain.effects import FreezeMaintenance
from bot.domain.proposal import Proposal

SENTENCE = (
    "Stop expiry and orphan removal of the table (gc.enabled=false) until the incident is closed; then what was set "
    "before is set again. Compaction is not stopped by this."
)


def frozen_first(proposal: Proposal, plan: Plan) -> Proposal:
    """The same with the freeze as its first effect. Here, so that no action can forget it."""
    table = plan.case.observation.table
    if is_frozen(table):
        return proposal
    freeze = FreezeMaintenance(table=table.name, incident=plan.incident)
    preview = proposal.preview.model_copy(update={"sentences": (SENTENCE, *proposal.preview.sentences)})
    return proposal.model_copy(update={"effects": (freeze, *proposal.effects), "preview": preview})
