"""Each requirement of a proposal as one sentence, for whoever approves it and for the record."""

from typing import assert_never

from bot.domain.ids import short, short_job
from bot.domain.requirements import (
    HeadDescends,
    NobodyWrites,
    PlanCounts,
    RefIs,
    Requirement,
    RestorePointIntact,
    RunIsCurrent,
    RunsAlive,
    SavepointNameFree,
    SiblingSpared,
    SnapshotPresent,
    StartPossible,
    TableIs,
)


def requirement_sentence(requirement: Requirement) -> str:  # noqa: C901 - one case a kind, nothing nested
    """What must hold when proposed, when approved and at execution; otherwise nothing is changed."""
    match requirement:
        case TableIs():
            return f"The table is still the same one (uuid {requirement.uuid})."
        case HeadDescends():
            return _head(requirement)
        case SnapshotPresent():
            return f"The table still lists snapshot {short(requirement.snapshot_id)}."
        case RefIs(snapshot_id=None):
            return f"No branch or tag {requirement.ref} exists yet."
        case RefIs():
            return f"{requirement.ref} is on snapshot {short(requirement.snapshot_id)}."
        case RunsAlive():
            alive = " and ".join(short_job(each) for each in requirement.job_ids)
            return f"Only runs {alive} of {requirement.job} are alive."
        case NobodyWrites():
            return f"No run of {requirement.job} is alive."
        case RunIsCurrent():
            scale = ", and nobody has rescaled it" if requirement.parallelism else ""
            return f"Run {short_job(requirement.job_id)} is the only run of {requirement.job} that is alive{scale}."
        case StartPossible():
            declared = f" Declaration unchanged ({requirement.declaration[:12]})." if requirement.declaration else ""
            return f"Waterline can reach what starts {requirement.job}, and knows no reason for a refusal.{declared}"
        case RestorePointIntact():
            return (
                f"Checkpoint {requirement.checkpoint_id} at {requirement.path} is readable and has digest "
                f"{requirement.digest[:12]}."
            )
        case SiblingSpared():
            point = requirement.path or f"the state that run {short_job(requirement.job_id)} leaves"
            return f"{requirement.job} also writes {requirement.table} and has not committed there after {point}."
        case PlanCounts():
            return f"It is before {requirement.until:%Y-%m-%d %H:%M} UTC, when the planned savepoint expires."
        case SavepointNameFree():
            return f"No tag savepoint-<checkpoint>-{requirement.tagged} exists yet."
        case _:
            assert_never(requirement)


def _head(requirement: HeadDescends) -> str:
    run = f"commits of run {short_job(requirement.job_id)} with increasing checkpoints"
    compactions = "" if requirement.files_are_named else "compactions and "
    others = f"{compactions}commits of other Flink jobs that wrote concurrently with {requirement.starts}"
    may = [*([run] if requirement.job_id else []), *([others] if requirement.starts else [])]
    if not may:
        return f"The head is exactly {short(requirement.head)}."
    return f"The head is {short(requirement.head)}, or follows it only by {' and by '.join(may)}."
