"""What every proposal has, whatever its action: here, so that no action can forget it."""

import importlib
import pkgutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType, ModuleType

import spark_tasks
from bot.actions._support.maintenance import stays_frozen_for
from bot.actions._support.staged import with_siblings
from bot.incident.action import Action, Plan
from bot.incident.diagnosis import Remedy
from bot.incident.doubt import OF_ROWS
from bot.incident.effects import (
    DropBranch,
    Effect,
    FreezeMaintenance,
    MoveTable,
    PublishBranch,
    StartFromStop,
    StartJob,
    StopFork,
    StopJob,
)
from bot.incident.proposal import (
    FINAL,
    HeadDescends,
    Proposal,
    Requirement,
    RestorePointIntact,
    SnapshotPresent,
    StartPossible,
)
from bot.observation.errors import BadConfiguration, Refused
from bot.observation.evidence import COMPARED
from bot.observation.ids import short_job
from bot.observation.paths import may_be_same
from bot.observation.record import Record

FREEZES = "Stop expiry and orphan removal of the table (gc.enabled=false) until the incident is closed."
STAYS_FROZEN = (
    "Expiry and orphan removal of the table stay stopped (gc.enabled=false) until the incident is closed. If "
    "somebody has allowed them since, they are stopped again first."
)
NOT_STOPPED = "Compaction goes on: pause yours by hand until this has ended."


def completed(proposal: Proposal, plan: Plan) -> Proposal:
    """The freeze as its first effect, also where the table is frozen now: nothing else holds it until then. Where it
    starts a job, that it can be started, and as it is declared now, is asked before anything is stopped, and that no
    other table of the job is doubled. A move of main holds the head
    that was looked at. Raises Refused (also for a start from a state that nothing holds), CouldNotLook."""
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
    sentences = (f"{freezes} {NOT_STOPPED}", *whole.preview.sentences, *_of_streams(proposal))
    preview = whole.preview.model_copy(update={"sentences": sentences})
    return whole.model_copy(update={"effects": (freeze, *whole.effects), "preview": preview})


def _of_streams(proposal: Proposal) -> Iterator[str]:
    """What stops downstream: lineage does not show who reads a table as a stream. The errors are in the notices."""
    if proposal.preview.commits and any(isinstance(effect, MoveTable) for effect in proposal.effects):
        yield "Streaming readers that are past that snapshot will stop. Their owners must start them with new state."
    if any(isinstance(effect, PublishBranch) for effect in proposal.effects):
        yield "Spark streams of the table stop at this commit if it deletes or overwrites rows."


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


TASKS = tuple(sorted(each.name for each in pkgutil.iter_modules(spark_tasks.__path__) if each.name[0] != "_"))
"""Names of the evidence tasks: each is named after its module."""


def must_be_whole(action: Action) -> None:
    """Raises BadConfiguration for an action that nobody could propose, that rests on evidence which does not exist, or
    that calls the table trusted without looking at its rows."""
    for happened, found, remedy in _faults(action):
        raise BadConfiguration(f"The action {action.name} {happened}", found, remedy)


def _faults(action: Action) -> Iterator[tuple[str, str, str]]:
    asked_for = {remedy.value.replace("-", "_") for remedy in Remedy}
    if not action.on_request and action.name not in asked_for:
        yield (
            "could never be proposed.",
            "Expected a diagnosis that asks for it, or on_request=True; found neither.",
            "Set on_request=True in its ACTION. `/waterline propose` then offers it.",
        )
    proofs = {task for task, _ in action.proofs}
    starts = {task for task, _ in action.proofs_of_start}
    named = {"needs": action.needs, "proofs": proofs, "proofs_of_start": starts, "repairs": action.repairs}
    for where, tasks in named.items():
        if unknown := sorted({*tasks} - {*TASKS}):
            yield (
                "names evidence that does not exist.",
                f"Expected evidence tasks in its {where}; found {', '.join(unknown)}.",
                f"Use one of these: {', '.join(TASKS)}.",
            )
    if others := sorted({*action.no_more_than_before} - (proofs & COMPARED)):
        yield (
            "allows earlier faults that cannot be compared.",
            f"Expected in its no_more_than_before only proofs of it that are among {', '.join(sorted(COMPARED))}; "
            f"found {', '.join(others)}.",
            "Name only such tasks there, and name them in proofs as well.",
        )
    if action.moves_waterline == "trusted" and not proofs & OF_ROWS:
        yield (
            "calls the table trusted, but no proof of it checks the rows.",
            f"Expected {' or '.join(sorted(OF_ROWS))} among its proofs; found {', '.join(sorted(proofs)) or 'none'}.",
            'Name them in proofs, or leave moves_waterline at "no".',
        )


class ActionModule(Record):
    action: Action
    propose: Callable[[Plan], Proposal]
    """Raises Refused when nothing right can be proposed, with the reason."""


def scan(package: ModuleType, own: Sequence[str] = ()) -> Mapping[str, ActionModule]:
    """Action name -> module, frozen: every module of the package that does not begin with `_`, and the modules `own`
    by their full names. Raises BadConfiguration with what to write."""
    names = [f"{package.__name__}.{info.name}" for info in pkgutil.iter_modules(package.__path__)]
    found: dict[str, ActionModule] = {}
    for name in (*(each for each in names if not each.rpartition(".")[2].startswith("_")), *own):
        made = _loaded(name)
        if made.action.name in found:
            raise BadConfiguration(
                f"There are two actions {made.action.name}.",
                f"Expected each name once; {name} uses a name that is taken.",
                "Rename the module, and its ACTION with it.",
            )
        must_be_whole(made.action)
        found[made.action.name] = made
    return MappingProxyType(found)


def _loaded(name: str) -> ActionModule:
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise BadConfiguration(
            f"The action module {name} cannot be loaded.",
            f"Expected a module that this Python can import; found: {error}.",
            "Install the package that holds it beside Waterline, or correct `actions` in the configuration file.",
        ) from error
    action, propose = getattr(module, "ACTION", None), getattr(module, "propose", None)
    if not isinstance(action, Action) or not callable(propose) or action.name != name.rpartition(".")[2]:
        raise BadConfiguration(
            f"The action module {name} is not complete.",
            "Expected ACTION = Action(name=<the module's name>, …) and propose(plan) -> Proposal; "
            f"found ACTION={type(action).__name__}, propose={'a function' if callable(propose) else 'none'}.",
            "Write both; CONTRIBUTING.md shows an example.",
        )
    return ActionModule(action=action, propose=propose)
