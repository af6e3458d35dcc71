"""What every proposal has, whatever its action: here, so that no action can forget it."""

from bot.actions._maintenance import stays_frozen_for
from bot.actions._siblings import with_siblings
from bot.domain.action import Plan
from bot.domain.effects import Effect, FreezeMaintenance, StartFromStop, StartJob
from bot.domain.paths import may_be_same
from bot.domain.proposal import Proposal
from bot.domain.requirements import StartPossible

FREEZES = (
    "Stop expiry and orphan removal of the table (gc.enabled=false) until the incident is closed; then what was set "
    "before is set again."
)
NOT_STOPPED = "Compaction is not stopped by this."


def completed(proposal: Proposal, plan: Plan) -> Proposal:
    """The freeze as its first effect, unless the table stays frozen without it; and where it starts a job, that it
    can be started, and as it is declared now, is asked before anything is stopped, the sink keeps the uid under which
    its state was written, and no other table of the job is doubled. Raises Refused, CouldNotLook."""
    proposal = proposal.model_copy(update={"effects": tuple(_under_its_uid(e, plan) for e in proposal.effects)})
    starts = {e.job for e in proposal.effects if isinstance(e, StartJob | StartFromStop)}
    asked = tuple(StartPossible(job=job, declaration=plan.declaration(job)) for job in sorted(starts))
    whole = with_siblings(proposal.model_copy(update={"requirements": (*proposal.requirements, *asked)}), plan)
    table = plan.case.observation.table
    if stays_frozen_for(table, plan.incident):
        return whole
    freeze = FreezeMaintenance(table=table.name, incident=plan.incident)
    compactions = f"Pause {' and '.join(plan.compactions)} for so long." if plan.compactions else NOT_STOPPED
    sentences = (f"{FREEZES} {compactions}", *whole.preview.sentences)
    preview = whole.preview.model_copy(update={"sentences": sentences})
    return whole.model_copy(update={"effects": (freeze, *whole.effects), "preview": preview})


def _under_its_uid(effect: Effect, plan: Plan) -> Effect:
    if isinstance(effect, StartFromStop):
        return effect.model_copy(update={"uid_suffix": plan.uid_suffixes.get(effect.job_id)})
    if not isinstance(effect, StartJob) or effect.uid_suffix is not None:
        return effect
    stored = plan.case.observation.checkpoints.values
    wrote = next((each.job_id for each in stored if may_be_same(each.path, effect.path)), None)
    return effect.model_copy(update={"uid_suffix": plan.uid_suffixes.get(wrote) if wrote is not None else None})
