"""Which action is meant, why, and what it would undo: before anything is proposed."""

from collections.abc import Collection, Mapping

from bot.actions._effects.job import own_id
from bot.actions._support.completing import ActionModule
from bot.incident.action import Past, StoodStill
from bot.incident.diagnosis import Act, Diagnosis, Matches, Mode, Remedy
from bot.incident.effects import DropBranch, Effect, PublishBranch, StartFromStop, StartJob
from bot.incident.entries import EffectStarted
from bot.incident.execution import ProposalState, ProposalView
from bot.incident.incident import Incident
from bot.incident.proposal import Proposal
from bot.incident.runbook import ASKED_FOR
from bot.incident.staged_repairs import stood_still
from bot.incident.waterline import ASKED, has_changed
from bot.observation.errors import Refused
from bot.observation.ids import JobId, ProposalId
from bot.observation.table import TableState
from bot.ports import JobPorts
from bot.service.proposals.rules import match_for

_ENDED = {ProposalState.APPLIED, ProposalState.REFUSED}


def action_meant(incident: Incident, name: str, actions: Mapping[str, ActionModule]) -> ActionModule:
    """The action of this name; of `diagnosis.remedy` the one that the diagnosis asks for, see `asked_for`. Raises
    Refused with what there is."""
    wanted = name
    if name == ASKED_FOR:
        match = asked_for(incident.diagnosis, actions) if incident.diagnosis else None
        if match is None:
            raise Refused(
                "There is nothing to propose.",
                "No failure mode matches so far.",
                "Collect evidence and diagnose again.",
            )
        wanted = action_of(match.remedy)
    module = actions.get(wanted)
    if module is None:
        raise Refused(
            f"Waterline has no action for “{wanted.replace('_', ' ')}”.",
            f"It has {', '.join(sorted(actions))}.",
            "Do it by hand, or name one of these.",
        )
    return module


def asked_for(diagnosis: Diagnosis, known: Collection[str]) -> Matches | None:
    """The match whose action a runbook's step proposes: the decisive one. Where people contain the damage by hand, as
    none of the actions `known` does it, the next one that has an action: its fault is not to wait behind that. The
    order that is told stays. None where no mode matches."""
    if diagnosis.decisive is None:
        return None
    mode, decisive = diagnosis.decisive
    if mode.act is not Act.CONTAIN or action_of(decisive.remedy) in known:
        return decisive
    return next((match for _, match in diagnosis.to_act_on if action_of(match.remedy) in known), decisive)


def told_what_comes_first(proposal: Proposal, incident: Incident, match: Matches, known: Collection[str]) -> Proposal:
    """The same, made for `match`; what people have to do before it, as it contains the damage and none of the actions
    `known` does it, stands first in its preview."""
    if incident.diagnosis is None or incident.diagnosis.decisive is None:
        return proposal
    mode, decisive = incident.diagnosis.decisive
    if mode.act is not Act.CONTAIN or decisive is match or action_of(decisive.remedy) in known:
        return proposal
    first = (
        f"{mode.code} matches as well. Act on it before this is approved: {decisive.what_to_do}. No commit may come "
        "between."
    )
    preview = proposal.preview.model_copy(update={"sentences": (first, *proposal.preview.sentences)})
    return proposal.model_copy(update={"preview": preview})


def may_say(module: ActionModule, *, keeps: str, bounds: Mapping[str, str], drops_others: bool) -> None:
    """Raises Refused where something is said to an action that asks for nothing of the kind: which of two runs stays,
    within which bounds it works, that commits of other writers may go."""
    action, names = module.action, ", ".join(f"{name}=" for name in bounds)
    for said, asks, what, expected, other in (
        (keeps, action.keeps_a_run, "does not choose between runs", f"no `keep=`; found keep={keeps}", "resolve_fork"),
        (names, action.takes_bounds, "takes no bounds", f"none; found {names}", "replay_rows"),
        (
            drops_others,
            action.drops_others,
            "drops no rows of other writers",
            "no `drop_others=`; found drop_others=yes",
            "roll_back_table_and_restore_job",
        ),
    ):
        if said and not asks:
            raise Refused(f"“{action.title}” {what}.", f"Expected {expected}.", f"Leave it out, or propose {other}.")


def action_of(remedy: Remedy) -> str:
    """The name that an action for this remedy has."""
    return remedy.value.replace("-", "_")


def why_it_is_proposed(
    incident: Incident, module: ActionModule, reason: str, table: TableState
) -> tuple[Mode, Matches]:
    """The match that asks for it. An action that people may ask for without one is proposed for their reason, with the
    oldest last good snapshot on main that a match names, else with what was trusted."""
    if not module.action.on_request:
        return match_for(incident, module.action.name)
    matches = incident.diagnosis.matches if incident.diagnosis else ()
    for mode, match in matches:
        if action_of(match.remedy) == module.action.name:
            return mode, match
    good = [match.last_good for _, match in matches if match.last_good in table.chain_ids]
    asked = Mode(code=ASKED, name=ASKED, title="a responder asked for it", needs=(), false_positives=())
    return asked, Matches(
        headline=reason.strip() or "no reason was given, and no diagnosis asks for it.",
        reasons=(),
        last_good=min(good, key=table.place_of, default=incident.trusted),
        remedy=Remedy.NOTHING,
    )


def newest_that_did_anything(incident: Incident) -> ProposalId:
    """The proposal that an undo means where nobody names one: a freeze alone is none, it ends by itself. Raises Refused
    without any."""
    for view in reversed(incident.proposals.values()):
        if has_changed(view):
            return view.proposal.id
    raise Refused("There is nothing to undo.", f"No proposal of {incident.id} has changed anything.", "")


def past_of(incident: Incident, proposal: ProposalId, jobs: Mapping[str, JobPorts]) -> Past:
    """What it did, as the journal tells, with the ids under which its runs really go. Raises Refused while it has not
    ended, or when it did nothing."""
    view = incident.proposal(proposal)
    done = view.applied
    if view.state not in _ENDED or not done:
        raise Refused(
            f"“{view.proposal.title}” cannot be undone.",
            f"Expected a finished proposal that changed something; it is {view.state.value}, with {len(done)} "
            f"of {len(view.proposal.effects)} steps done.",
            "Wait for its end." if view.state not in _ENDED else "",
        )
    return Past(
        proposal=view.proposal,
        started={
            index: _as_it_goes(view.proposal.effects[index], view.started[index], ended.result, jobs)
            for index, ended in done.items()
        },
        results={index: dict(ended.result) for index, ended in done.items()},
        stood_still=_stood_still(incident, view),
    )


def _stood_still(incident: Incident, later: ProposalView) -> StoodStill | None:
    """The run that had been stopped when the branch was begun which `later` publishes or gives up."""
    branches = {effect.branch for effect in later.proposal.effects if isinstance(effect, PublishBranch | DropBranch)}
    views = (v for v in reversed(incident.proposals.values()) if v.proposal.rehearses_on in branches)
    return next((stood for view in views if (stood := stood_still(incident, view)) is not None), None)


def _as_it_goes(
    effect: Effect, intent: EffectStarted, result: Mapping[str, str], jobs: Mapping[str, JobPorts]
) -> EffectStarted:
    """An operator chooses the job id of a start by itself. It was noted when the run came up: once the operator has
    suspended that run, its cluster is gone and nobody tells it any more."""
    if not isinstance(effect, StartJob | StartFromStop) or intent.job_id is None:
        return intent
    noted = JobId(result.get("run", intent.job_id))
    own = noted if noted != intent.job_id else own_id(jobs[effect.job].flink, intent.job_id)
    return intent.model_copy(update={"job_id": own})
