"""Resolve a fork: two runs write the table, and the one that should not is stopped.

Which one that is, people may say; else it is the one that the diagnosis takes for the fork. Both may be runs of one
job, or of two that the table declares (`job` and `other_jobs`). Only the stop is proposed, for it is quick, and each
commit of the fork makes the rest harder. Once it stands still, the diagnosis asks for its rows to be taken back: by a
rewind to before its first commit, or by key.
"""

from bot.actions._support.draft import drafted, job_and_head, living, living_others, state_at_risk, stop_sentences
from bot.incident.action import Action, Plan
from bot.incident.effects import StopFork
from bot.incident.proposal import Proposal, Requirement, RunIsCurrent, RunsAlive
from bot.observation.errors import Refused
from bot.observation.flink import JobRun
from bot.observation.ids import JobId, SnapshotId, short_job

ACTION = Action(
    name="resolve_fork",
    title="Resolve the fork",
    promise="One run writes the table. The next proposal removes the rows of the other.",
    needs=("ledger",),
    is_destructive=True,
    keeps_a_run=True,
    on_request=True,
    proofs=(),
    moves_waterline="no",
)


def propose(plan: Plan) -> Proposal:
    """Raises Refused when it is not one of two living runs, CouldNotLook when Flink was not seen."""
    live = (*living(plan), *living_others(plan))
    job, _head = job_and_head(plan, ACTION)
    fork, keep = _pair(plan, job, live)
    of, kept_of = fork.name, keep.name
    one, other = short_job(fork.job_id), short_job(keep.job_id)
    chosen = keep.job_id == plan.case.keeps or bool(plan.keeps)
    its_job = f" of {kept_of}" if of != kept_of else ""
    sentences = (
        *stop_sentences(fork),
        f"Run {other}{its_job} keeps the table: "
        f"{'a person chose it' if chosen else 'by the diagnosis it was first'}. To keep run {one} instead, propose "
        f"resolve_fork keep={one}.",
        f"The rows of run {one} stay in the table for now. When it has stopped, diagnose again. The next proposal "
        "removes them, by key or by rolling back table and job.",
        *_to_be_configured(plan, job, keep),
        f"Verify: only run {other}{its_job} is alive{f', and none of {of}' if its_job else ''}.",
    )
    return drafted(
        plan,
        ACTION,
        title=f"Stop the fork: run {one}{f' of {of}' if its_job else ''}",
        effects=(StopFork(job=of, job_id=fork.job_id, keeps=keep.job_id, keeps_of=kept_of if its_job else None),),
        requirements=_both_alive(keep, fork),
        sentences=sentences,
        sure=f"Run {one} is stopped; run {other} continues. No rows are removed yet." + state_at_risk(fork),
        undo=f"It cannot be undone here, because Waterline starts no second writer. If you need run {one}, start it "
        "by hand from the state that its stop left.",
    )


def _pair(plan: Plan, job: str, live: tuple[JobRun, ...]) -> tuple[JobRun, JobRun]:
    """The run that is to be stopped, and the one that goes on. Raises Refused unless it is clear."""
    fork = _fork(plan, live)
    kept = [run for run in live if run is not fork]
    if fork is not None and len(kept) == 1:
        return fork, kept[0]
    alive = ", ".join(_named(run, job) for run in live) or "none"
    raise Refused(
        "It is not clear which run to stop.",
        f"Expected {_expected(plan)}; found {alive}.{_unseen(plan)}",
        "If two are alive, name the one to keep: propose resolve_fork keep=RUN. If fewer are alive, diagnose "
        "again: a stopped fork has left rows. If more are alive, stop the others by hand first.",
    )


def _fork(plan: Plan, live: tuple[JobRun, ...]) -> JobRun | None:
    """The run that is to end: the other one than people chose, now or before, else the one that the diagnosis names."""
    chosen = plan.keeps or plan.case.keeps
    stays = [run for run in live if chosen and run.job_id.startswith(chosen)]
    if len(stays) == 1:
        return next((run for run in live if run is not stays[0]), None)
    return None if plan.keeps else next((run for run in live if run.job_id == plan.match.wrong_run), None)


def _both_alive(keep: JobRun, fork: JobRun) -> tuple[Requirement, ...]:
    if keep.name == fork.name:
        return (RunsAlive(job=fork.name, job_ids=(keep.job_id, fork.job_id)),)
    return tuple(RunIsCurrent(job=run.name, job_id=run.job_id) for run in (keep, fork))


def _to_be_configured(plan: Plan, job: str, keep: JobRun) -> tuple[str, ...]:
    """What people change afterwards where the table's own job is not the one that goes on."""
    if keep.name == job:
        return ()
    table = plan.case.observation.table.name
    return (
        f"The configuration still names {job} as the job of {table}. When this is done, set `tables.{table}.job` to "
        f"{keep.name}, name {job} in its `other_jobs`, and restart Waterline. Until then it looks for the table's "
        f"writer under {job}.",
    )


def _unseen(plan: Plan) -> str:
    """The runs that wrote in the window and that no configured Flink knows, a sentence; empty: none is."""
    seen, table = plan.case.observation, plan.case.observation.table
    known = {run.job_id for looked in (seen.jobs, seen.others) if looked is not None for run in looked.values}
    found: dict[JobId, list[SnapshotId]] = {}
    for commit in plan.case.window.of(table):
        if commit.job_id is not None and commit.job_id not in known and commit.snapshot_id in table.chain_ids:
            found.setdefault(commit.job_id, []).append(commit.snapshot_id)
    told = (f"run {run} (last as {commits[-1]})" for run, commits in found.items())
    if not found:
        return ""
    return (
        f" No configured Flink cluster knows {' and '.join(told)}. If it still writes, stop it where it runs, or name "
        "its job under `jobs` and in the table's `other_jobs`."
    )


def _named(run: JobRun, job: str) -> str:
    return short_job(run.job_id) if run.name == job else f"{short_job(run.job_id)} of {run.name}"


def _expected(plan: Plan) -> str:
    if plan.keeps:
        return f"run {plan.keeps} and one other run alive"
    if plan.match.wrong_run is None:
        return "two runs alive, and one of them named to keep"
    return f"the fork {short_job(plan.match.wrong_run)} and one other run alive"
