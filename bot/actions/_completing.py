"""What every proposal has, whatever its action: here, so that no action can forget it.

Whether a proposal takes away what no undo brings back: then its action has to be declared destructive.
"""

from bot.actions._maintenance import stays_frozen_for
from bot.actions._siblings import with_siblings
from bot.domain.action import Action, Plan
from bot.domain.effects import (
    DropBranch,
    Effect,
    FreezeMaintenance,
    MoveTable,
    StartFromStop,
    StartJob,
    StopFork,
    StopJob,
)
from bot.domain.errors import Refused
from bot.domain.ids import short_job
from bot.domain.paths import may_be_same
from bot.domain.proposal import FINAL, Proposal
from bot.domain.requirements import HeadDescends, Requirement, RestorePointIntact, SnapshotPresent, StartPossible

FREEZES = (
    "Stop expiry and orphan removal of the table (gc.enabled=false) until the incident is closed. Closing it "
    "restores the earlier setting."
)
STAYS_FROZEN = (
    "Expiry and orphan removal of the table stay stopped (gc.enabled=false) until the incident is closed. If "
    "somebody has allowed them since, they are stopped again first."
)
NOT_STOPPED = "This does not stop compaction."


def completed(proposal: Proposal, plan: Plan) -> Proposal:
    """The freeze as its first effect, also where the table is frozen now: nothing else holds it until then. Where it
    starts a job, that it can be started, and as it is declared now, is asked before anything is stopped, the sink keeps
    the uid under which its state was written, and no other table of the job is doubled. A move of main holds the head
    that was looked at. Raises Refused (also for a start from a state that nothing holds), CouldNotLook."""
    proposal = proposal.model_copy(update={"effects": tuple(_under_its_uid(e, plan) for e in proposal.effects)})
    starts = {e.job for e in proposal.effects if isinstance(e, StartJob | StartFromStop)}
    asked = (
        *_head_held(proposal, plan),
        *(StartPossible(job=job, declaration=plan.declaration(job)) for job in sorted(starts)),
    )
    _must_hold_its_state(proposal)
    whole = with_siblings(proposal.model_copy(update={"requirements": (*proposal.requirements, *asked)}), plan)
    table = plan.case.observation.table
    freezes = STAYS_FROZEN if stays_frozen_for(table, plan.incident) else FREEZES
    freeze = FreezeMaintenance(table=table.name, incident=plan.incident)
    compactions = f"Pause {' and '.join(plan.compactions)} until then." if plan.compactions else NOT_STOPPED
    sentences = (f"{freezes} {compactions}", *whole.preview.sentences)
    preview = whole.preview.model_copy(update={"sentences": sentences})
    return whole.model_copy(update={"effects": (freeze, *whole.effects), "preview": preview})


def _head_held(proposal: Proposal, plan: Plan) -> tuple[Requirement, ...]:
    """What a move of main needs and its action does not say: that nobody but the run which it stops has committed, and
    that the target is still listed. Else the move would compare with whatever head it finds."""
    targets = [effect.to for effect in proposal.effects if isinstance(effect, MoveTable)]
    head = plan.case.observation.table.head
    if not targets or head is None:
        return ()
    stopped = next((effect.job_id for effect in proposal.effects if isinstance(effect, StopJob)), None)
    listed = tuple(SnapshotPresent(snapshot_id=to) for to in targets)
    is_held = any(isinstance(each, HeadDescends) for each in proposal.requirements)
    held: tuple[Requirement, ...] = () if is_held else (HeadDescends(head=head, job_id=stopped),)
    return (*held, *(each for each in listed if each not in proposal.requirements))


def _must_hold_its_state(proposal: Proposal) -> None:
    held = [each.path for each in proposal.requirements if isinstance(each, RestorePointIntact)]
    for effect in proposal.effects:
        if isinstance(effect, StartJob) and not any(may_be_same(effect.path, each) for each in held):
            raise Refused(
                f"“{proposal.title}” cannot be proposed: it does not check the state from which it starts "
                f"{effect.job}.",
                f"Expected a requirement RestorePointIntact for {effect.path}; found none.",
                f"Add it to the action {proposal.action}.",
            )


def _under_its_uid(effect: Effect, plan: Plan) -> Effect:
    if isinstance(effect, StartFromStop):
        return effect.model_copy(update={"uid_suffix": plan.uid_suffixes.get(effect.job_id)})
    if not isinstance(effect, StartJob) or effect.uid_suffix is not None:
        return effect
    stored = plan.case.observation.checkpoints.values
    wrote = next((each.job_id for each in stored if may_be_same(each.path, effect.path)), None)
    return effect.model_copy(update={"uid_suffix": plan.uid_suffixes.get(wrote) if wrote is not None else None})


def must_be_destructive(proposal: Proposal, action: Action) -> None:
    """Raises Refused where it takes something away for good, or says so, and its action is not declared destructive:
    people would approve it as if it could be taken back."""
    if action.is_destructive:
        return
    taken = [said for effect in proposal.effects if (said := _takes_away(effect))]
    if proposal.is_final:
        taken.append(f"its undo says “{FINAL}”")
    if taken:
        raise Refused(
            f"“{proposal.title}” cannot be proposed: it needs the approval of two teams, and its action does not "
            "say so.",
            f"Expected is_destructive=True of {action.name}; found that {'; '.join(taken)}.",
            "Set is_destructive=True in its ACTION.",
        )


def _takes_away(effect: Effect) -> str:
    """One clause; empty where an undo brings back what it does."""
    match effect:
        case DropBranch(branch=branch):
            return f"it removes branch {branch}, which cannot be created again"
        case StopFork(job_id=run):
            return f"it stops run {short_job(run)}, one of two writers, and Waterline starts no second writer"
    return ""
