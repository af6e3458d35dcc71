"""Carries out one effect at a time, and finds out afterwards whether an interrupted one happened.

`prepare` reads the world and decides; what it returns is journalled as the intent before `perform` acts.
Whatever cannot be known is OutcomeUnknown; `verify` then asks the world and never repeats blindly.
"""

import uuid
from dataclasses import dataclass
from typing import Literal, assert_never

from bot.actions._requirements import World, check_all, unforeseen
from bot.domain.entries import EffectStarted
from bot.domain.errors import CouldNotLook, Superseded
from bot.domain.ids import JobId, short, short_job
from bot.domain.proposal import (
    Effect,
    MoveTable,
    Proposal,
    RestorePointIntact,
    RunIsCurrent,
    StartJob,
    StopJob,
)
from bot.ports import CheckpointStore, FlinkJobs, TableCatalog, TableChange

Happened = Literal["yes", "no", "unknown"]


@dataclass(frozen=True)
class Hands:
    """The three systems that effects act on."""

    catalog: TableCatalog
    jobs: FlinkJobs
    checkpoints: CheckpointStore

    def world(self, proposal: Proposal, job: str) -> World:
        """Table and runs, read now. Raises CouldNotLook."""
        return World(table=self.catalog.load(proposal.table), runs=self.jobs.runs(job), checkpoints=self.checkpoints)

    def prepare(self, proposal: Proposal, index: int, *, earlier: EffectStarted | None = None) -> EffectStarted:
        """Check everything that this effect relies on and fix its intent.

        `earlier` is an intent that surely did not come to be so far. Its job id is used again: should that request
        still arrive, Flink takes only one of the two.
        Raises Superseded (the world has moved; nothing was done by this effect) or CouldNotLook.
        """
        effect = proposal.effects[index]
        intent = EffectStarted(proposal=proposal.id, index=index)
        match effect:
            case StopJob():
                check_all(proposal.requirements, self.world(proposal, effect.job))
                return intent
            case MoveTable():
                world = self.world(proposal, _job_of(proposal))
                stopped = [r for r in proposal.requirements if not isinstance(r, RunIsCurrent)]
                check_all(stopped, world)
                _nobody_writes(world, _job_of(proposal))
                return intent.model_copy(update={"expected_head": world.table.head})
            case StartJob():
                world = self.world(proposal, effect.job)
                check_all([r for r in proposal.requirements if isinstance(r, RestorePointIntact)], world)
                _nobody_writes(world, effect.job)
                _still_at(world, _target_of(proposal))
                job_id = earlier.job_id if earlier else None
                return intent.model_copy(update={"job_id": job_id or JobId(uuid.uuid4().hex)})
            case _:
                assert_never(effect)

    def perform(self, proposal: Proposal, intent: EffectStarted) -> str:
        """Do it; returns what happened, a sentence. Raises CommitRefused, CouldNotLook, OutcomeUnknown."""
        effect = proposal.effects[intent.index]
        match effect:
            case StopJob():
                return self.jobs.stop(effect.job, effect.job_id)
            case MoveTable():
                head = intent.expected_head
                assert head is not None
                table = self.catalog.load(effect.table)
                if table.head == effect.to:
                    return f"main is at {short(effect.to)} already."
                after = self.catalog.commit(
                    effect.table,
                    TableChange(
                        expected_uuid=table.uuid,
                        expected_head=head,
                        move_main_to=effect.to,
                        new_tags={effect.keep_head_as: head},
                    ),
                )
                return (
                    f"main moved from {short(head)} to {short(after.head)}; the state left behind is tag "
                    f"{effect.keep_head_as}."
                )
            case StartJob():
                assert intent.job_id is not None
                self.jobs.start(effect.job, effect.path, intent.job_id)
                return f"Run {short_job(intent.job_id)} started from checkpoint {effect.checkpoint_id}."
            case _:
                assert_never(effect)

    def verify(self, proposal: Proposal, intent: EffectStarted) -> tuple[Happened, str]:
        """Whether an effect whose end nobody saw did happen, from the world alone."""
        effect = proposal.effects[intent.index]
        try:
            match effect:
                case StopJob():
                    return self._stopped(effect)
                case MoveTable():
                    return self._moved(effect, intent)
                case StartJob():
                    return self._started(intent)
                case _:
                    assert_never(effect)
        except CouldNotLook as error:
            return "unknown", f"{error.happened} {error.found}"

    def _stopped(self, effect: StopJob) -> tuple[Happened, str]:
        run = self.jobs.run(effect.job_id)
        if run is None:
            return "unknown", f"Flink does not know run {short_job(effect.job_id)} any more."
        if run.is_terminal:
            return "yes", f"Run {short_job(effect.job_id)} is {run.state}."
        return "no", f"Run {short_job(effect.job_id)} is {run.state}."

    def _moved(self, effect: MoveTable, intent: EffectStarted) -> tuple[Happened, str]:
        table = self.catalog.load(effect.table)
        if table.ref(effect.keep_head_as) == intent.expected_head and effect.to in table.chain_ids:
            return "yes", f"main is at {short(table.head)} and tag {effect.keep_head_as} is there."
        return "no", f"main is at {short(table.head)} and tag {effect.keep_head_as} is not there."

    def _started(self, intent: EffectStarted) -> tuple[Happened, str]:
        assert intent.job_id is not None
        run = self.jobs.run(intent.job_id)
        if run is None:
            return "no", f"Flink does not know run {short_job(intent.job_id)}."
        return "yes", f"Run {short_job(intent.job_id)} is {run.state}."


def _job_of(proposal: Proposal) -> str:
    return next(effect.job for effect in proposal.effects if isinstance(effect, StartJob))


def _target_of(proposal: Proposal) -> MoveTable:
    return next(effect for effect in proposal.effects if isinstance(effect, MoveTable))


def _nobody_writes(world: World, job: str) -> None:
    live = [run for run in world.runs if not run.is_terminal]
    if live:
        raise Superseded(
            f"Job {job} is running.",
            f"Expected no live run before this effect; found {', '.join(short_job(r.job_id) for r in live)}.",
            "This effect was not carried out. Stop that run, collect evidence again and propose anew.",
        )


def _still_at(world: World, target: MoveTable) -> None:
    problem = unforeseen(world.table, target.to, None)
    if problem is not None:
        raise Superseded(
            f"Table {world.table.name} moved after it was rewound.",
            problem,
            "The job was not started. Collect evidence again and propose anew.",
        )


def describe(effect: Effect) -> str:
    """A few words for a progress line."""
    match effect:
        case StopJob():
            return f"Stop run {short_job(effect.job_id)}"
        case MoveTable():
            return f"Move main to {short(effect.to)}"
        case StartJob():
            return f"Start from checkpoint {effect.checkpoint_id}"
        case _:
            assert_never(effect)
