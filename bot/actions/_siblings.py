"""The other tables that the job writes: who approves a stop or a start is told of them, and none is doubled by it."""

from collections.abc import Sequence

from bot.domain.action import Plan
from bot.domain.effects import KeepSavepoint, StartFromStop, StartJob, StopFork, StopJob
from bot.domain.errors import Refused
from bot.domain.evidence import Observation
from bot.domain.flink import StoredCheckpoint
from bot.domain.guests import guests_in
from bot.domain.ids import JobId, TableName, short
from bot.domain.own_points import in_words, pairs_below, standing, written_after
from bot.domain.paths import may_be_same
from bot.domain.proposal import Proposal
from bot.domain.record import Record
from bot.domain.requirements import SiblingSpared
from bot.domain.run_commits import CommitsByRun
from bot.domain.table import TableState


class Doubled(Record):
    """Another table of the job of which a start would write rows a second time."""

    table: TableName
    happened: str
    """What the start would do, a sentence that begins small."""
    found: str
    back: str
    """What two people do of it while the job stands still, a clause."""


def with_siblings(proposal: Proposal, plan: Plan) -> Proposal:
    """The same, with each other table of the job in its preview and each start bound not to double it. Raises Refused
    where it would, CouldNotLook."""
    own = plan.case.job_name
    stops = [e for e in proposal.effects if isinstance(e, StopJob | StopFork) and e.job == own]
    starts = [e for e in proposal.effects if isinstance(e, StartJob | StartFromStop | KeepSavepoint)]
    siblings = plan.siblings() if stops or starts else ()
    if not siblings:
        return proposal
    job = (*stops, *starts)[0].job
    stands_still = any(isinstance(each, StopJob) for each in stops)
    told, bound = [_named(job, siblings, stands_still=stands_still)], []
    for start in starts:
        if not isinstance(start, StartJob):
            told.append(
                "The state that the run leaves is compared with these tables too. If a start from it would "
                "duplicate rows, the proposal ends as refused."
            )
            run, on = start.job_id, start.stands_on if isinstance(start, StartFromStop) else None
            bound += [SiblingSpared(table=t.name, job=job, path=None, job_id=run, stands_on=on) for t in siblings]
            continue
        stored = _stored(plan, start)
        for table in siblings:
            seen = plan.case.observation.model_copy(update={"table": table})
            doubled = _doubled(plan, stored, seen)
            if doubled is not None:
                raise _refused(doubled)
            there = plan.case.model_copy(update={"observation": seen})
            told.append(f"{table.name}: {standing(stored, there)}.")
            bound.append(SiblingSpared(table=table.name, job=job, path=start.path))
    preview = proposal.preview.model_copy(update={"sentences": (*proposal.preview.sentences, *told)})
    requirements = (*proposal.requirements, *bound)
    return proposal.model_copy(update={"requirements": requirements, "preview": preview})


def _named(job: str, siblings: Sequence[TableState], *, stands_still: bool) -> str:
    names = " and ".join(table.name for table in siblings)
    them = "them" if len(siblings) > 1 else "it"
    still = f" While the job is stopped, nobody writes to {them} either." if stands_still else ""
    return f"{job} writes {names} as well. This does not freeze, move, tag or repair {them}.{still}"


def _stored(plan: Plan, start: StartJob) -> StoredCheckpoint:
    """What was read of the restore point. Raises Refused where it was not read."""
    for each in plan.case.observation.checkpoints.values:
        if may_be_same(each.path, start.path):
            return each
    raise Refused(
        "It is not known what the restore would do to the other tables of the job.",
        f"Expected {start.path} among the restore points that were read; it is missing.",
        "Make sure that Waterline can read its folder (`checkpoint_dir`, `savepoint_dir`), then propose again.",
    )


def doubled_by(plan: Plan, path: str) -> Doubled | None:
    """Of the other tables of the job the first of which a start from the restore point, which was looked at, would
    write rows a second time. Raises CouldNotLook."""
    stored = next(each for each in plan.case.observation.checkpoints.values if may_be_same(each.path, path))
    there = (plan.case.observation.model_copy(update={"table": table}) for table in plan.siblings())
    return next((found for seen in there if (found := _doubled(plan, stored, seen)) is not None), None)


def _doubled(plan: Plan, stored: StoredCheckpoint, seen: Observation) -> Doubled | None:
    """`seen`: as the plan's, with the other table."""
    own, table = plan.case.observation, seen.table
    after = written_after(stored, table, known_runs(own), CommitsByRun(own.table, own.jobs.values))
    if not after:
        return None
    pair = pairs_below(stored, seen)
    return Doubled(
        table=table.name,
        happened=f"a restore from checkpoint {stored.checkpoint_id} would duplicate rows of {table.name}, which the "
        "job writes as well.",
        found=f"Expected no commit of the job there after that checkpoint; found {in_words(after)}.",
        back=f"move main of {table.name} back to {short(pair)} ({pair}), which pairs with that checkpoint"
        if pair is not None
        else f"repair {table.name} by hand, as no snapshot on its main pairs with that checkpoint",
    )


def _refused(doubled: Doubled) -> Refused:
    return Refused(
        f"A{doubled.happened[1:]}",
        doubled.found,
        f"Tell the owners of {doubled.table}, and open an incident for it. Stop the job, then two people "
        f"{doubled.back}. Propose this again while the job is stopped.",
    )


def known_runs(observation: Observation) -> frozenset[JobId]:
    """The runs of the job that Flink or a restore point names; no guest's."""
    named, guests = {each.job_id for each in observation.checkpoints.values}, guests_in(observation)
    stored = {run for run in named if run is not None and not guests.has_run(run)}
    return frozenset({run.job_id for run in observation.jobs.values} | stored)
