"""Carries out one effect at a time, and finds out afterwards whether an interrupted one happened.

`prepare` reads the world and decides; what it returns is journalled as the intent before `perform` acts.
Whatever cannot be known is OutcomeUnknown; `verify` then asks the world and never repeats blindly.
Each file of this package is about one thing that effects change; `HANDLERS` names all effects.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from bot.actions._effects.branch import (
    ChangingFiles,
    DeletingRows,
    DroppingBranch,
    MakingBranch,
    ReplayingRows,
)
from bot.actions._effects.handler import Clients, EffectHandler, EffectResult, Pending, Verification
from bot.actions._effects.job import KeepingSavepoint, StartingFromStop, StartingJob, StoppingFork, StoppingJob
from bot.actions._effects.table import FreezingMaintenance, MarkingTable, MovingTable, PublishingBranch
from bot.actions._support.current_state import looked_at
from bot.actions._support.requirements import check_all
from bot.incident.effects import (
    ChangeFiles,
    DeleteRows,
    DropBranch,
    Effect,
    FreezeMaintenance,
    KeepSavepoint,
    MakeBranch,
    MarkTable,
    MoveTable,
    PublishBranch,
    ReplayRows,
    StartFromStop,
    StartJob,
    StopFork,
    StopJob,
)
from bot.incident.entries import Check, EffectStarted
from bot.incident.execution import ProposalView
from bot.incident.proposal import HeadDescends, Proposal, Requirement
from bot.observation.errors import CouldNotLook

HANDLERS: Mapping[type, EffectHandler[Any]] = {
    StopJob: StoppingJob(),
    StopFork: StoppingFork(),
    MoveTable: MovingTable(),
    StartJob: StartingJob(),
    StartFromStop: StartingFromStop(),
    KeepSavepoint: KeepingSavepoint(),
    FreezeMaintenance: FreezingMaintenance(),
    MarkTable: MarkingTable(),
    MakeBranch: MakingBranch(),
    PublishBranch: PublishingBranch(),
    ChangeFiles: ChangingFiles(),
    DeleteRows: DeletingRows(),
    ReplayRows: ReplayingRows(),
    DropBranch: DroppingBranch(),
}
"""How each effect is done."""


def kind_of(effect: Effect) -> EffectHandler[Any]:
    return HANDLERS[type(effect)]


def describe(effect: Effect) -> str:
    return kind_of(effect).describe(effect)


def standing(proposal: Proposal, index: int) -> tuple[Requirement, ...]:
    """What must hold right before effect `index`, as it relies on it: the proposal's requirements, without those that
    the effects before it have used up, and with what those leave behind."""
    held = list(proposal.requirements)
    for effect in proposal.effects[:index]:
        kind = kind_of(effect)
        held = [each for each in held if each.kind not in kind.uses_up]
        held += kind.leaves(effect)
    if not kind_of(proposal.effects[index]).finds_its_point:
        return tuple(held)
    by_anybody = {"by_anybody": True}
    return tuple(each.model_copy(update=by_anybody) if isinstance(each, HeadDescends) else each for each in held)


def prepare(clients: Clients, proposal: Proposal, index: int, *, earlier: EffectStarted | None = None) -> EffectStarted:
    """Check everything that this effect relies on and fix its intent.

    `earlier` is an intent that surely did not come to be so far.
    Raises Superseded (the world has moved; nothing was done by this effect) or CouldNotLook.
    """
    effect = proposal.effects[index]
    world = clients.world(proposal.table)
    check_all(standing(proposal, index), world, is_begun=index > 0)
    intent = EffectStarted(proposal=proposal.id, index=index)
    return kind_of(effect).prepare(effect, intent, world, earlier)


def perform(clients: Clients, proposal: Proposal, intent: EffectStarted) -> EffectResult:
    """Do it, at most once. Raises CommitRefused, Superseded, CouldNotLook (surely not done; also where the table is
    gone), OutcomeUnknown."""
    effect = proposal.effects[intent.index]
    with looked_at():
        return kind_of(effect).perform(effect, intent, clients)


def verify(clients: Clients, proposal: Proposal, intent: EffectStarted) -> Verification:
    """Whether an effect whose end nobody saw did happen, from the world alone; where nobody knows, what can be seen."""
    effect = proposal.effects[intent.index]
    kind = kind_of(effect)
    try:
        with looked_at():
            looked = kind.verify(effect, intent, clients)
    except CouldNotLook as error:
        return Verification(happened="unknown", sentence=f"{error.happened} {error.found}")
    if looked.happened != "unknown":
        return looked
    try:
        seen = kind.on_table(effect, clients.world(proposal.table).table)
    except CouldNotLook as error:
        seen = f"{error.happened} {error.found}"
    return looked.model_copy(update={"sentence": f"{looked.sentence} {seen}".rstrip()})


def may_still_complete(clients: Clients, effect: Effect) -> str | None:
    """By what an effect that is not there so far may yet come to be, a sentence; None: by nothing that is known."""
    try:
        with looked_at():
            return kind_of(effect).may_still_complete(effect, clients)
    except CouldNotLook as error:
        return f"{error.happened} {error.found}"


def awaited(clients: Clients, view: ProposalView) -> tuple[Pending, ...]:
    """What a carried-out proposal has to bring yet before `checks` can tell. Raises CouldNotLook where the table cannot
    be read."""
    world = clients.world(view.proposal.table)
    found = (kind_of(effect).awaits(effect, view.started[i], world) for i, effect in enumerate(view.proposal.effects))
    return tuple(each for each in found if each is not None)


def checks(clients: Clients, view: ProposalView) -> Sequence[Check]:
    """Whether the world is as each effect of a carried-out proposal promised. Waits for nothing. Raises CouldNotLook
    where the table cannot be read."""
    world = clients.world(view.proposal.table)
    found: list[Check] = []
    for index, effect in enumerate(view.proposal.effects):
        found += kind_of(effect).checks(effect, view.started[index], world)
    return found
