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
            return f"The table is still the one that was looked at (uuid {requirement.uuid})."
        case HeadDescends():
            return _head(requirement)
        case SnapshotPresent():
            return f"Snapshot {short(requirement.snapshot_id)} is still listed by the table."
        case RefIs(snapshot_id=None):
            return f"There is no branch or tag {requirement.ref} yet."
        case RefIs():
            return f"{requirement.ref} is on snapshot {short(requirement.snapshot_id)}."
        case RunsAlive():
            alive = " and ".join(short_job(each) for each in requirement.job_ids)
            return f"Runs {alive} of {requirement.job} are alive, and no other."
        case NobodyWrites():
            return f"No run of {requirement.job} is alive."
        case RunIsCurrent():
            scale = ", and nobody has rescaled it" if requirement.parallelism else ""
            return f"Run {short_job(requirement.job_id)} is the only run of {requirement.job} that is alive{scale}."
        case StartPossible():
            declared = f" It is declared as now ({requirement.declaration[:12]})." if requirement.declaration else ""
            return f"What starts {requirement.job} can be reached, and nothing is known that would refuse it.{declared}"
        case RestorePointIntact():
            return (
                f"Checkpoint {requirement.checkpoint_id} at {requirement.path} can be read and has the digest "
                f"{requirement.digest[:12]}."
            )
        case SiblingSpared():
            point = requirement.path or f"the state that run {short_job(requirement.job_id)} leaves"
            return (
                f"{requirement.table}, which {requirement.job} writes as well, has no commit of it from after {point}."
            )
        case PlanCounts():
            return f"It is before {requirement.until:%Y-%m-%d %H:%M} UTC, until which the planned savepoint counts."
        case SavepointNameFree():
            return f"No tag is named savepoint-<checkpoint>-{requirement.tagged} yet."
        case _:
            assert_never(requirement)


def _head(requirement: HeadDescends) -> str:
    run = f"commits of run {short_job(requirement.job_id)} with rising checkpoints"
    compactions = "" if requirement.files_are_named else "compactions and "
    others = f"{compactions}commits of other Flink jobs that wrote beside {requirement.starts}"
    may = [*([run] if requirement.job_id else []), *([others] if requirement.starts else [])]
    if not may:
        return f"The head is exactly {short(requirement.head)}."
    return f"The head is {short(requirement.head)}, or follows it only by {' and by '.join(may)}."
