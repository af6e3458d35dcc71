"""Checks a proposal's requirements against the world: when proposed, when approved, and at execution."""

from collections.abc import Sequence
from typing import assert_never

from bot.actions._support.current_state import CurrentState as CurrentState
from bot.actions._support.foreseen import unforeseen
from bot.actions._support.staged import not_spared
from bot.incident.proposal import (
    HeadDescends,
    NobodyWrites,
    PlanCounts,
    RefIs,
    Requirement,
    RestorePointIntact,
    RunIsCurrent,
    RunsAlive,
    SiblingSpared,
    SnapshotPresent,
    StartPossible,
    TableIs,
)
from bot.incident.savepoints import HOW_TO_PLAN
from bot.observation.errors import NotThere, Superseded
from bot.observation.flink import JobRun
from bot.observation.ids import JobId, short, short_job
from bot.observation.table import TableState


def check_all(requirements: Sequence[Requirement], world: CurrentState, *, is_begun: bool = False) -> None:
    """Raises Superseded with the first requirement that no longer holds; CouldNotLook passes through.

    `is_begun`: earlier effects of the proposal have been carried out.
    """
    for requirement in requirements:
        problem = problem_with(requirement, world)
        if problem is not None:
            undone = "This step was not done" if is_begun else "Nothing was changed"
            happened, remedy = _consequence(requirement, world.table)
            raise Superseded(happened, problem, f"{undone}. {remedy}")


def _consequence(requirement: Requirement, table: TableState) -> tuple[str, str]:
    """What a requirement that no longer holds means, and what to do then."""
    if isinstance(requirement, PlanCounts):
        return "The day of the planned savepoint has passed.", f"To plan it again, {HOW_TO_PLAN}."
    if isinstance(requirement, SiblingSpared):
        return (
            f"A start of {requirement.job} would duplicate rows of {requirement.table}.",
            "Collect evidence about both tables, and propose again.",
        )
    if isinstance(requirement, RestorePointIntact):
        return (
            f"The restore point of {requirement.job} is no longer as it was approved.",
            "Collect evidence again and propose again: there may be another restore point.",
        )
    return (
        f"Table {table.name} or its job has changed since this was proposed.",
        "Collect evidence again and propose again.",
    )


def problem_with(requirement: Requirement, world: CurrentState) -> str | None:  # noqa: C901 - one case a kind, nothing nested
    """A sentence with expected and found, or None when it holds. CouldNotLook passes through."""
    table = world.table
    match requirement:
        case TableIs():
            return None if table.uuid == requirement.uuid else (
                f"Expected the table with uuid {requirement.uuid}, found {table.uuid}: it was created again."
            )  # fmt: skip
        case SnapshotPresent():
            return None if requirement.snapshot_id in table.by_id else (
                f"Expected snapshot {requirement.snapshot_id} to be listed; it was expired."
            )  # fmt: skip
        case RefIs():
            return _other_ref(requirement, table)
        case HeadDescends():
            return unforeseen(requirement, world)
        case RunIsCurrent():
            live = world.live_runs(requirement.job)
            return _others_alive(requirement.job, [requirement.job_id], live) or _rescaled(requirement, live[0])
        case RunsAlive():
            return _others_alive(requirement.job, requirement.job_ids, world.live_runs(requirement.job))
        case NobodyWrites():
            return _others_alive(requirement.job, (), world.live_runs(requirement.job))
        case StartPossible():
            return _start_problem(requirement, world)
        case RestorePointIntact():
            return _restore_point_problem(requirement, world)
        case SiblingSpared():
            return not_spared(requirement, world)
        case PlanCounts():
            return _day_passed(requirement, table)
        case _:
            assert_never(requirement)


def _start_problem(requirement: StartPossible, world: CurrentState) -> str | None:
    job, flink = requirement.job, world.jobs[requirement.job].flink
    obstacle = flink.obstacle(job)
    if obstacle is not None:
        return f"Expected that {job} can be started; found: {obstacle}."
    declared = flink.declaration(job) if requirement.declaration is not None else None
    if declared == requirement.declaration:
        return None
    return (
        f"Expected the declaration of {job} as it was when this was proposed ({str(requirement.declaration)[:12]}). "
        f"Its jar, statements, arguments or settings have changed ({str(declared)[:12]})."
    )


def _other_ref(requirement: RefIs, table: TableState) -> str | None:
    found = table.ref(requirement.ref)
    if found == requirement.snapshot_id:
        return None
    expected = "not to exist" if requirement.snapshot_id is None else f"on snapshot {short(requirement.snapshot_id)}"
    there = "it does not exist" if found is None else f"it is on {short(found)}"
    return f"Expected {requirement.ref} {expected}; {there}."


def _others_alive(job: str, expected: Sequence[JobId], live: Sequence[JobRun]) -> str | None:
    ids = [run.job_id for run in live]
    if sorted(ids) == sorted(expected):
        return None
    found = ", ".join(map(short_job, ids)) or "no run"
    if not expected:
        return f"Expected no run of {job} to be alive; found {found}. Stop that run first."
    wanted = f"run{'s' if len(expected) > 1 else ''} {' and '.join(map(short_job, expected))}"
    return f"Expected only {wanted} of {job} to be alive; found {found}."


def _rescaled(requirement: RunIsCurrent, run: JobRun) -> str | None:
    """By Flink's adaptive scheduler, whoever has asked it. A run that is not settled has no scale to compare."""
    names = {vertex.vertex_id: vertex.name for vertex in run.vertices}
    changed = [
        f"{names.get(vertex, vertex)} from {was} to {now}"
        for vertex, was in requirement.parallelism.items()
        if (now := run.parallelism.get(vertex, was)) != was
    ]
    if not changed:
        return None
    return (
        f"Expected run {short_job(run.job_id)} at the approved parallelism; somebody has rescaled it: "
        f"{', '.join(changed)}."
    )


def _day_passed(requirement: PlanCounts, table: TableState) -> str | None:
    """By the time at which the table was read, which is just now."""
    if table.read_at < requirement.until:
        return None
    return (
        f"The plan ended at {requirement.until:%Y-%m-%d %H:%M:%S} UTC; it is now {table.read_at:%Y-%m-%d %H:%M:%S} "
        "UTC. Nobody would rely on a savepoint that is taken now."
    )


def _restore_point_problem(requirement: RestorePointIntact, world: CurrentState) -> str | None:
    try:
        stored = world.jobs[requirement.job].checkpoints.read(requirement.path)
    except NotThere as error:
        return f"Expected restore point {requirement.path} to be readable; {error.happened} {error.found}"
    if stored.problem is not None:
        return f"Expected restore point {requirement.path} to be readable; found: {stored.problem}"
    if stored.digest != requirement.digest or stored.checkpoint_id != requirement.checkpoint_id:
        return (
            f"Expected restore point {requirement.path} to be checkpoint {requirement.checkpoint_id} with digest "
            f"{requirement.digest[:12]}; found checkpoint {stored.checkpoint_id}, digest {(stored.digest or '')[:12]}."
        )
    return None
