"""What every proposal about a job begins with: its job, its one living run, who has read what, the record itself."""

from collections.abc import Iterable

from bot.incident.action import Action, Plan
from bot.incident.effects import Effect
from bot.incident.proposal import (
    NobodyWrites,
    OtherRows,
    Preview,
    Proposal,
    Requirement,
    RunIsCurrent,
    TableIs,
    Term,
)
from bot.incident.waterline import ASKED
from bot.observation.errors import CouldNotLook, Refused
from bot.observation.flink import JobRun
from bot.observation.ids import CheckpointId, SnapshotId, short_job
from bot.observation.looked import NotSeen, Seen
from bot.observation.readers import ReadRun
from bot.observation.table import Snapshot

_ASKS = "A responder asks for it"


def job_and_head(plan: Plan, action: Action) -> tuple[str, SnapshotId]:
    """The configured job and the head. Raises Refused where one of them is missing."""
    job, head = plan.case.job_name, plan.case.observation.table.head
    if job is None or head is None:
        raise Refused(
            f"“{action.title}” cannot be proposed for this table.",
            f"Expected a configured job and a head; found job {job}, head {head}.",
            "Name the table's job in the configuration file."
            if job is None
            else "Main has no commit, so there is no state to return to. Fix what keeps the job from committing, "
            "then start it by hand.",
        )
    return job, head


def living(plan: Plan) -> tuple[JobRun, ...]:
    """The job's runs that are not at their end. Raises CouldNotLook while Flink cannot be asked."""
    return _living(plan.case.observation.jobs, "the job")


def living_others(plan: Plan) -> tuple[JobRun, ...]:
    """Runs of the other jobs that the table declares, as far as they are not at their end. Raises CouldNotLook while
    one of their clusters cannot be asked."""
    others = plan.case.observation.others
    return _living(others, "another job of the table") if others is not None else ()


def _living(runs: Seen[JobRun] | NotSeen, whose: str) -> tuple[JobRun, ...]:
    if isinstance(runs, NotSeen):
        raise CouldNotLook(
            f"Nothing can be proposed about {whose} while its Flink does not answer.",
            f"Expected an answer from {runs.source}; found: {runs.reason}",
            runs.remedy,
        )
    return tuple(run for run in runs.values if not run.is_terminal)


def others_to_pause(plan: Plan, *, until: str) -> tuple[str, ...]:
    """Of a preview that no commit of theirs may come between: which living runs of the table's other jobs people stop,
    a sentence; none where no such job is alive. `until`: a clause."""
    others = plan.case.observation.others
    if others is None:
        return ()
    if others.state == "not-seen":
        return (
            f"It is not known whether another job of the table runs ({others.source}: {others.reason.rstrip('.')}). "
            f"If one does, stop it before you approve. Start it again when {until}. Any commit of it on main before "
            "that ends this proposal.",
        )
    live = [f"run {short_job(run.job_id)} of {run.name}" for run in others.values if not run.is_terminal]
    if not live:
        return ()
    them, theirs = ("it", "it") if len(live) == 1 else ("them", "theirs")
    return (
        f"Before you approve, stop {' and '.join(live)}, which may write the table as well. Start {them} again when "
        f"{until}. Any commit of {theirs} on main before that ends this proposal.",
    )


def live_run(plan: Plan) -> JobRun | None:
    """The one run that is alive; None where none is. Raises Refused where several are, CouldNotLook."""
    live = living(plan)
    if len(live) > 1:
        raise Refused(
            "This cannot be proposed while several runs of the job are alive.",
            f"Expected at most one; found {', '.join(short_job(run.job_id) for run in live)}.",
            f"{_end_the_fork(live)} Then collect evidence again and diagnose.",
        )
    return live[0] if live else None


def _end_the_fork(live: tuple[JobRun, ...]) -> str:
    stop = "stop the other one: `/waterline propose resolve_fork keep=RUN`"
    which = f"RUN is the run that keeps writing the table, {' or '.join(short_job(run.job_id) for run in live)}"
    if len(live) == 2:
        return f"First {stop}. {which}."
    return f"First stop all but two by hand. Then {stop}. {which}."


def alone(job: str, live: JobRun | None) -> Requirement:
    """That the run which is to be stopped is the only one, or that there is none."""
    return this_run(job, live) if live else NobodyWrites(job=job)


def this_run(job: str, live: JobRun) -> RunIsCurrent:
    """That it is the only one, at the scale that it has now."""
    return RunIsCurrent(job=job, job_id=live.job_id, parallelism=live.parallelism)


def readers_of(plan: Plan, gone: Iterable[Snapshot]) -> tuple[ReadRun, ...]:
    """The observed consumer runs that read one of these commits."""
    ids = {s.snapshot_id for s in gone}
    return tuple(each for each in plan.case.observation.reads.values if each.snapshot_id in ids)


NOTHING_STOPPED = "No run of the job is alive, so nothing is stopped."


def stop_sentences(live: JobRun, *, needs_state: bool = False, keeps_checkpoints: bool = False) -> tuple[str, ...]:
    """Of a preview: how the run is stopped, and then, alone, what that may delete. Flags: as the effect has them."""
    run = f"Stop run {short_job(live.job_id)} of {live.name}"
    if keeps_checkpoints:
        return (
            f"{run} by a cancel, without a savepoint. The job starts from a checkpoint of this run: Flink keeps it "
            "after a cancel and deletes it after a savepoint. If Flink would not keep it, the run goes on and the "
            "proposal ends as refused.",
        )
    if needs_state:
        return (
            f"{run} with a savepoint, without draining it. If the run is recovering, cancel it and keep its "
            "checkpoints. If neither works, the run goes on and the proposal ends as refused.",
        )
    how = f"{run} (with a savepoint if it can still take one, without draining it)."
    if not may_lose_state(live):
        return (how,)
    kept = live.settings.survives_cancel if live.settings is not None else None
    then = "Flink deletes its checkpoints" if kept is False else "Flink may delete its checkpoints"
    return (
        how,
        f"This may delete state for good. If run {short_job(live.job_id)} cannot take a savepoint, it is cancelled "
        f"and {then}. Its newest state is then gone, even if no later step runs.",
    )


def state_at_risk(live: JobRun | None) -> str:
    """For the last question before a yes: a sentence that begins with a blank; empty where a stop deletes nothing."""
    return f" Run {short_job(live.job_id)} may lose its newest state." if live and may_lose_state(live) else ""


def may_lose_state(live: JobRun) -> bool:
    """Whether Flink is not known to keep the checkpoints of that run when it is cancelled."""
    return live.settings is None or live.settings.survives_cancel is not True


def drafted(
    plan: Plan,
    action: Action,
    *,
    title: str,
    effects: Iterable[Effect],
    requirements: Iterable[Requirement] = (),
    sentences: Iterable[str],
    sure: str,
    undo: str,
    because: str | None = None,
    code: str | None = None,
    commits: int = 0,
    files: int = 0,
    rows: int = 0,
    replayed_from: CheckpointId | None = None,
    affected_runs: tuple[ReadRun, ...] | None = None,
    recorded: tuple[Term, ...] = (),
    others: tuple[OtherRows, ...] = (),
    repairs: tuple[str, ...] | None = None,
) -> Proposal:
    """The proposal, which holds the table that was looked at. `sentences` to `others`: see `Preview`, of which nothing
    is changed by default; `affected_runs`: None where no consumer is concerned. `because`: else the diagnosis says."""
    table, reads = plan.case.observation.table, plan.case.observation.reads
    told = f"{_ASKS if plan.mode.code == ASKED else plan.mode.code}: {plan.match.headline}"
    return Proposal(
        id=plan.proposal,
        action=action.name,
        title=title,
        table=table.name,
        because=because or told,
        code=code or plan.mode.code,
        effects=tuple(effects),
        requirements=(TableIs(uuid=table.uuid), *requirements),
        preview=Preview(
            commits=commits,
            files=files,
            rows=rows,
            replayed_from=replayed_from,
            affected_runs=affected_runs or (),
            readers_known=affected_runs is None or reads.state == "seen",
            sure=sure,
            sentences=tuple(sentences),
            recorded=recorded,
            others=others,
        ),
        evidence=plan.evidence,
        undo=undo,
        policy=plan.policy,
        proposed_by=plan.by,
        proposed_at=plan.at,
        repairs=action.repairs if repairs is None else repairs,
        undoes=plan.undoes.proposal.id if plan.undoes is not None else None,
    )
